/// A header of a request.
public struct TransferHeader: Sendable, Hashable {
    /// The field's name; compared without case.
    public let name: String
    /// The field's value; empty is allowed.
    public let value: String

    /// A field of that name and value; ``TransferRequest`` checks them.
    public init(_ name: String, _ value: String) {
        self.name = name
        self.value = value
    }
}

extension TransferHeader: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The name only: values hold credentials.
    public var description: String { "\(name): …" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}

/// Why a request could not be made.
public enum TransferRequestError: Error, Hashable, CustomStringConvertible {
    case badURL
    case unsupportedScheme(String)
    case badHeader(name: String)
    case numberNotFinite
    case badDigest(byteCount: Int)
    case badLimit

    public var description: String {
        switch self {
        case .badURL: "the URL cannot be parsed or names no host; give an absolute http or https URL"
        case .unsupportedScheme(let scheme): "the scheme \"\(scheme)\" is not supported; only http and https are"
        case .badHeader(let name):
            "the header \"\(name)\" has an empty or malformed name, a line break or a NUL in it, or is one that the engine sets itself"
        case .numberNotFinite: "the JSON body has a number that is infinite or not a number, which JSON cannot express"
        case .badDigest(let count): "a SHA-256 digest has 32 bytes, not \(count)"
        case .badLimit: "limits and time-outs must be greater than zero"
        }
    }
}

/// What to fetch and how. A value; ``TransferEngine`` does the work.
///
/// Its descriptions (also those of `dump` and the debugger) never show header values, bodies, user names, passwords or query strings.
public struct TransferRequest: Sendable {
    /// The method, with the parameters of a POST.
    ///
    /// A POST is taken to be a fetch by parameters, so it is repeated after failures like a GET; see ``isRepeatable``.
    public enum Method: Sendable, Hashable {
        case get
        case post(RequestBody)
    }

    /// GET, or POST with its parameters.
    public let method: Method
    /// An absolute http or https URL.
    public let url: String
    /// The headers beside those that the engine sets itself.
    public let headers: [TransferHeader]
    /// Who the request is: equal requests fly once.
    public let identity: RequestIdentity
    /// How the transfer reacts to the network.
    public let kind: TransferKind
    /// How urgent it is.
    public let priority: TransferPriority
    /// What the body must look like.
    public let expects: ExpectedBody
    /// How large the body may be.
    public let limits: TransferLimits
    /// How long things may take.
    public let timeouts: TransferTimeouts
    /// The SHA-256 the body must have, when the caller knows it.
    public let digest: [UInt8]?
    /// Whether the request may be sent again when its first copy may have reached the server. False for a POST that changes something.
    public let isRepeatable: Bool
    /// Whether somebody asked for this very body whatever it costs: it then neither pauses on a costly path nor heeds the budget.
    public let isCostAccepted: Bool

    /// - Parameters:
    ///   - stableID: stands in for the URL in the identity, for URLs that change while the resource does not (signed ones).
    ///   - varyingHeaders: names of the headers that belong to the identity. `nil`: all of them, so that what was fetched with
    ///     one user's credentials is never given to another's request.
    /// - Throws: ``TransferRequestError`` when a part is malformed; nothing has been sent then.
    public init(
        _ method: Method = .get, url: String, headers: [TransferHeader] = [], stableID: String? = nil,
        varyingHeaders: [String]? = nil, kind: TransferKind, priority: TransferPriority = .visible,
        expects: ExpectedBody = .anything, limits: TransferLimits = TransferLimits(),
        timeouts: TransferTimeouts = TransferTimeouts(), digest: [UInt8]? = nil, isRepeatable: Bool = true,
        isCostAccepted: Bool = false
    ) throws(TransferRequestError) {
        try Self.check(url: url, headers: headers)
        if case .post(.json(let value)) = method, !value.isRepresentable { throw .numberNotFinite }
        if case .post(.bytes(_, let type)) = method, !TransferHeader("Content-Type", type).isWellFormed {
            throw .badHeader(name: "Content-Type")
        }
        if let digest, digest.count != 32 { throw .badDigest(byteCount: digest.count) }
        guard limits.bytes > 0, (limits.pixels ?? 1) > 0, timeouts.connect > .zero, timeouts.stall > .zero,
            (timeouts.overall ?? .seconds(1)) > .zero
        else { throw .badLimit }
        self.method = method
        self.url = url
        self.headers = headers
        self.kind = kind
        self.priority = priority
        self.expects = expects
        self.limits = limits
        self.timeouts = timeouts
        self.digest = digest
        self.isRepeatable = isRepeatable
        self.isCostAccepted = isCostAccepted
        let varying = varyingHeaders.map { Set($0.map { $0.lowercased() }) }
        self.identity = RequestIdentity(
            method: method.name, url: url, stableID: stableID, body: method.body,
            headers: headers.filter { varying?.contains($0.name.lowercased()) ?? true })
    }

    private static func check(url: String, headers: [TransferHeader]) throws(TransferRequestError) {
        guard let parsed = WebAddress(url) else { throw .badURL }
        guard parsed.isWeb else { throw .unsupportedScheme(parsed.scheme) }
        // These are the engine's own: a caller's copy would break resuming, or the framing of the request.
        let own: Set<String> = [
            "range", "if-range", "accept-encoding", "content-length", "transfer-encoding", "connection", "expect",
            "host",
        ]
        for header in headers where !header.isWellFormed || own.contains(header.name.lowercased()) {
            throw .badHeader(name: header.name)
        }
    }
}

extension TransferRequest.Method {
    /// As it is written in a request.
    package var name: String {
        switch self {
        case .get: "GET"
        case .post: "POST"
        }
    }

    var body: RequestBody? {
        switch self {
        case .get: nil
        case .post(let body): body
        }
    }
}

extension TransferHeader {
    /// Whether the name is a token and the value a field value (RFC 9110, 5.1 and 5.5).
    var isWellFormed: Bool {
        let marks = Set("!#$%&'*+-.^_`|~".utf8)
        let isToken =
            !name.isEmpty
            && name.utf8.allSatisfy { byte in
                (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z"))
                    || (byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")) || marks.contains(byte)
            }
        return isToken && !value.utf8.contains { $0 == 0 || $0 == 10 || $0 == 13 }
    }
}

extension TransferRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "\(method.name) \(WebAddress.redact(url)) (\(kind), \(priority))" }
    public var debugDescription: String { description }
    public var customMirror: Mirror {
        Mirror(self, children: ["request": description, "headers": headers.map(\.name), "identity": identity])
    }
}

extension TransferRequest.Method: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method's name; parameters may be secret.
    public var description: String { name }
    public var debugDescription: String { name }
    public var customMirror: Mirror { Mirror(self, children: ["name": name]) }
}
