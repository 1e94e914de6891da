import DownloadPolicy

/// One rung of a resource's ladder: what it is called in the cache, and how it is fetched.
public struct Rendition: Sendable, Hashable {
    /// What it is called in the cache, and in what is shown.
    public var variant: CacheVariant
    /// GET, or POST with its parameters.
    public var method: TransferRequest.Method
    /// An absolute http or https URL. It may change while the resource stays the same, as signed URLs do.
    public var url: String
    /// Headers beside those that the transfer sets itself.
    public var headers: [TransferHeader]
    /// Names of the headers that make it another body; `nil`: all of them (see ``TransferRequest``).
    public var varyingHeaders: [String]?
    /// Its size in bytes, where a manifest or a guess tells; the policy reads it.
    public var size: Int64?
    /// The SHA-256 it must have, when that is known.
    public var digest: [UInt8]?
    /// What the body must look like.
    public var expects: ExpectedBody
    /// How large it may be. Beyond it the next lower rung is taken.
    public var limits: TransferLimits
    /// How long things may take.
    public var timeouts: TransferTimeouts

    /// A picture that is fetched by GET, unless told otherwise.
    public init(
        _ variant: CacheVariant, _ method: TransferRequest.Method = .get, url: String, headers: [TransferHeader] = [],
        varyingHeaders: [String]? = nil, size: Int64? = nil, digest: [UInt8]? = nil, expects: ExpectedBody = .picture,
        limits: TransferLimits = TransferLimits(), timeouts: TransferTimeouts = TransferTimeouts()
    ) {
        self.variant = variant
        self.method = method
        self.url = url
        self.headers = headers
        self.varyingHeaders = varyingHeaders
        self.size = size
        self.digest = digest
        self.expects = expects
        self.limits = limits
        self.timeouts = timeouts
    }
}

/// Why a resource could not be described.
public enum ResourceError: Error, Hashable, Sendable, CustomStringConvertible {
    /// There is no rendition.
    case noRendition
    /// There are more than 256.
    case tooManyRenditions(Int)
    /// Two renditions have this name.
    case duplicateVariant(CacheVariant)
    /// This rendition cannot be asked for.
    case badRequest(CacheVariant, TransferRequestError)

    public var description: String {
        switch self {
        case .noRendition: "a resource needs at least one rendition"
        case .tooManyRenditions(let count): "a resource has at most 256 renditions, this one has \(count)"
        case .duplicateVariant(let variant): "two renditions are called \(variant); give each a name of its own"
        case .badRequest(let variant, let error): "the \(variant) cannot be asked for: \(error)"
        }
    }
}

/// Something to show that exists in one or more renditions.
///
/// Two resources of one ``identity`` are the same resource: they are equal, share cache entries and transfers, and the URLs of
/// the one that came last count.
public struct Resource: Sendable, Hashable {
    /// The caller's name for it. It stands in for the URLs, which may change.
    public let id: ResourceID
    /// Its name in the cache, in decisions and in budgets: the id, where the id says it all. Where renditions have parameters
    /// (POST) or varying headers, or come from a ``ResourceEndpoint``, a digest of these follows, so that what was fetched with
    /// one user's credentials is never shown to another.
    public let identity: ResourceID
    /// The renditions, the lowest first; at least one.
    public let renditions: [Rendition]

    /// A resource of these renditions, the lowest first.
    ///
    /// - Throws: ``ResourceError`` when one of them could never be asked for.
    public init(_ id: ResourceID, renditions: [Rendition]) throws(ResourceError) {
        try self.init(id, renditions: renditions, scope: nil)
    }

    /// - Parameter scope: within what the id is a name; `nil`: everywhere.
    init(_ id: ResourceID, renditions: [Rendition], scope: String?) throws(ResourceError) {
        guard !renditions.isEmpty else { throw .noRendition }
        guard renditions.count <= 256 else { throw .tooManyRenditions(renditions.count) }
        var variants: Set<CacheVariant> = []
        for rendition in renditions {
            guard variants.insert(rendition.variant).inserted else { throw .duplicateVariant(rendition.variant) }
            do throws(TransferRequestError) {
                _ = try rendition.request(for: id, Demand(kind: .original, priority: .visible))
            } catch {
                throw .badRequest(rendition.variant, error)
            }
        }
        self.id = id
        self.renditions = renditions
        identity = Self.identity(of: id, renditions, scope: scope)
    }

    private static func identity(of id: ResourceID, _ renditions: [Rendition], scope: String?) -> ResourceID {
        let mark = "#sha256-"
        let all = renditions.map { $0.distinction(in: scope) }
        // An id that looks like one with a digest gets another, so that it cannot pass for it.
        if scope == nil, !id.name.contains(mark), all.allSatisfy({ $0 == .none }) { return id }
        // Where it is the same for all of them, a rung more or less makes no other resource.
        let isUniform = all.allSatisfy { $0 == all[0] }
        let digest =
            isUniform
            ? all[0].digest
            : SHA256.digest(
                of: zip(renditions, all).flatMap { rendition, distinction in
                    Array("\(rendition.variant.name.utf8.count) \(rendition.variant.name) \(distinction.digest) ".utf8)
                }
            ).hexadecimal
        return ResourceID(id.name + mark + digest)
    }

    /// The usual two renditions, both fetched by GET.
    ///
    /// - Throws: ``ResourceError`` when one of them could never be asked for.
    public init(_ id: ResourceID, thumbnail: String, original: String) throws(ResourceError) {
        try self.init(
            id, renditions: [Rendition(.thumbnail, url: thumbnail), Rendition(.original, url: original)])
    }

    /// What its bodies are stored under.
    public var cacheKey: CacheKey { CacheKey(identity.name) }

    var variants: [CacheVariant] { renditions.map(\.variant) }

    func rendition(_ quality: Quality) -> Rendition { renditions[min(Int(quality.rung), renditions.count - 1)] }

    func quality(of variant: CacheVariant) -> Quality {
        Quality(rung: UInt8(renditions.firstIndex { $0.variant == variant } ?? 0))
    }

    public static func == (one: Resource, other: Resource) -> Bool { one.identity == other.identity }

    public func hash(into hasher: inout Hasher) { hasher.combine(identity) }
}

/// How urgently a rendition is wanted, and what for.
struct Demand: Hashable {
    var kind: TransferKind
    var priority: TransferPriority
    var isCostAccepted = false

    init(kind: TransferKind, priority: TransferPriority, isCostAccepted: Bool = false) {
        self.kind = kind
        self.priority = priority
        self.isCostAccepted = isCostAccepted
    }

    init(_ quality: Quality, _ trigger: Trigger, top: Quality) {
        switch trigger {
        case .prefetch: (kind, priority) = (.prefetch, .prefetch)
        case .visible: (kind, priority) = (quality == .lowest ? .thumbnail : .original, .visible)
        case .user(let named):
            (kind, priority) = (quality == .lowest ? .thumbnail : .original, .user)
            isCostAccepted = named.map { min($0, top) == quality } ?? false
        }
    }

    /// What several want together: none of them gets less than alone.
    static func joined(_ demands: some Collection<Demand>) -> Demand? {
        guard let first = demands.first else { return nil }
        return demands.dropFirst().reduce(first) { one, other in
            Demand(
                kind: one.kind == .prefetch ? other.kind : one.kind, priority: max(one.priority, other.priority),
                isCostAccepted: one.isCostAccepted || other.isCostAccepted)
        }
    }
}

extension RequestIdentity {
    /// A GET without varying headers, of which the id says it all.
    fileprivate static let none = RequestIdentity(method: "GET", url: "", stableID: "", body: nil, headers: [])
}

extension Rendition {
    /// What makes it another body beside the id, which stands in for the URL.
    fileprivate func distinction(in scope: String?) -> RequestIdentity {
        let varying = varyingHeaders.map { Set($0.map { $0.lowercased() }) }
        return RequestIdentity(
            method: method.name, url: url, stableID: scope ?? "", body: method.body,
            headers: headers.filter { varying?.contains($0.name.lowercased()) ?? true })
    }

    /// The request for it; a conditional one where `entry` is to be asked about.
    func request(
        for identity: ResourceID, _ demand: Demand, revalidating entry: CacheEntry? = nil
    ) throws(TransferRequestError) -> TransferRequest {
        var conditions: [TransferHeader] = []
        if let tag = entry?.metadata.etag { conditions.append(TransferHeader("If-None-Match", tag)) }
        if let date = entry?.metadata.lastModified { conditions.append(TransferHeader("If-Modified-Since", date)) }
        // The lengths keep two pairs of id and variant from spelling the same; the tag keeps a question about one body
        // apart from the question about another.
        let tag = entry?.metadata.etag ?? entry?.metadata.lastModified ?? ""
        return try TransferRequest(
            method, url: url, headers: headers + conditions,
            stableID: "\(identity.name.utf8.count) \(identity.name) \(variant.name.utf8.count) \(variant.name) \(tag)",
            varyingHeaders: varyingHeaders, kind: demand.kind, priority: demand.priority, expects: expects,
            limits: limits, timeouts: timeouts, digest: digest, isCostAccepted: demand.isCostAccepted)
    }
}
