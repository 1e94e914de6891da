import DownloadPolicy

/// A service that gives resources by POST: one URL, and parameters that say which one.
///
/// ```swift
/// let pictures = ResourceEndpoint(url: "https://example.org/picture")     // POST imageId=…
/// let body = try await loader.resource("42", from: pictures)
/// ```
public struct ResourceEndpoint: Sendable {
    /// An absolute http or https URL.
    public var url: String
    /// Headers beside those that the transfer sets itself.
    public var headers: [TransferHeader]
    /// Names of the headers that make it another body; `nil`: all of them (see ``TransferRequest``).
    public var varyingHeaders: [String]?
    /// What the bodies must look like.
    public var expects: ExpectedBody
    /// How large they may be.
    public var limits: TransferLimits
    /// How long things may take.
    public var timeouts: TransferTimeouts
    /// The parameters that ask for a resource.
    public var parameters: @Sendable (ResourceID) -> RequestBody

    /// A service that takes the form field `imageId`, unless told otherwise.
    public init(
        url: String, headers: [TransferHeader] = [], varyingHeaders: [String]? = nil, expects: ExpectedBody = .anything,
        limits: TransferLimits = TransferLimits(), timeouts: TransferTimeouts = TransferTimeouts(),
        parameters: @escaping @Sendable (ResourceID) -> RequestBody = { id in
            .form([RequestBody.FormField("imageId", id.name)])
        }
    ) {
        self.url = url
        self.headers = headers
        self.varyingHeaders = varyingHeaders
        self.expects = expects
        self.limits = limits
        self.timeouts = timeouts
        self.parameters = parameters
    }

    /// The resource of that id, which has one rendition, stored as `original`. The same id of another endpoint is another resource.
    ///
    /// - Throws: ``ResourceError`` when it could never be asked for.
    public func resource(_ id: ResourceID) throws(ResourceError) -> Resource {
        try Resource(
            id,
            renditions: [
                Rendition(
                    .original, .post(parameters(id)), url: url, headers: headers, varyingHeaders: varyingHeaders,
                    expects: expects, limits: limits, timeouts: timeouts)
            ], scope: url)
    }
}

/// Why a resource is not to be had now.
public enum ResourceFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// It could never be asked for.
    case badRequest(ResourceError)
    /// There is no network, and none came back within two seconds.
    case offline
    /// The policy does not allow it until all of these hold.
    case deferred([Condition])
    /// The server has answered that there is no such data.
    case noData
    /// The transfer failed.
    case transfer(FailureClass)
    /// The task was cancelled, or the loader has ended.
    case cancelled

    public var description: String {
        switch self {
        case .badRequest(let error): error.description
        case .offline: "there is no network; try again when there is"
        case .deferred(let conditions):
            "it may be fetched when \(conditions.map(\.words).joined(separator: " and "))"
        case .noData: "there is no such data"
        case .transfer(let failure): "the transfer failed: \(failure)"
        case .cancelled: "nobody waits for it any more"
        }
    }
}

extension ResourceLoader {
    /// The stored copy of a resource if there is one, however old; otherwise fetches it, stores it whole or not at all
    /// under its id, and returns it.
    ///
    /// Calls for one id at the same time share a transfer. Cancelling the task gives up this call's share.
    ///
    /// - Parameters:
    ///   - id: which resource.
    ///   - endpoint: who has it.
    ///   - trigger: why it is wanted. By default a tap: one attempt even where the monitor says offline.
    /// - Throws: ``ResourceFailure``. A later call begins anew.
    public func resource(
        _ id: ResourceID, from endpoint: ResourceEndpoint, trigger: Trigger = .user
    ) async throws(ResourceFailure) -> CachedBody {
        let resource: Resource
        do throws(ResourceError) {
            resource = try endpoint.resource(id)
        } catch {
            throw .badRequest(error)
        }
        // A cache that cannot be asked is no reason not to fetch.
        if let stored = try? cache.body(of: resource.cacheKey, variant: .original) { return stored }
        for await display in load(resource, trigger: trigger) {
            if case .body(let body, _) = display.content { return body }
            if let failure = display.resourceFailure { throw failure }
        }
        throw .cancelled
    }

    /// The best rendition of a resource that can be had now: what is stored, once nothing better will come as long as network,
    /// preferences and cache stay as they are. Its entry tells which variant it is.
    ///
    /// Cancelling the task gives up this call's share.
    ///
    /// - Parameters:
    ///   - resource: which resource.
    ///   - trigger: why it is wanted. By default a tap: one attempt even where the monitor says offline.
    /// - Throws: ``ResourceFailure`` where no rendition is to be had. A later call begins anew.
    public func body(of resource: Resource, trigger: Trigger = .user) async throws(ResourceFailure) -> CachedBody {
        for await display in load(resource, trigger: trigger) where display.isAtRest {
            if case .body(let body, _) = display.content { return body }
            if let failure = display.resourceFailure { throw failure }
        }
        throw .cancelled
    }
}

extension ResourceDisplay {
    /// Why nothing is shown and nothing is under way; `nil` while there is hope.
    var resourceFailure: ResourceFailure? {
        if case .empty = content { return .noData }
        guard isAtRest, let placeholder else { return nil }
        let conditions: [Condition] = if case .comeBack(_, let conditions) = decision.plan { conditions } else { [] }
        switch placeholder {
        case .loading: return nil
        case .offline: return .offline
        case .deferred: return .deferred(conditions)
        case .failed: return failure.map { .transfer($0) } ?? .deferred(conditions)
        }
    }
}
