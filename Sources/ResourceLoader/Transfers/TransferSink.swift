/// Why a sink did not take or keep a body.
public enum SinkFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// It could not be stored: no permission, a broken disk, or, where `isFull` says so, no space, so that making room would help.
    case storage(String, isFull: Bool = false)
    /// It arrived, but is not what was promised or allowed.
    case unfit(FailureEvidence.Verdict)
    /// It is HTML where a picture is due.
    case isHTML
    /// No more bytes of it may come over this path, for they cannot be paid for. The transfer waits, and what has come is kept.
    case unaffordable(String)

    public var description: String {
        switch self {
        case .storage(let reason, _): "the body could not be stored: \(reason)"
        case .unfit(let verdict): "the body is unfit: \(verdict)"
        case .isHTML: "the body is HTML where a picture is due"
        case .unaffordable(let reason): "the body costs too much: \(reason)"
        }
    }
}

/// What a complete body is checked against before it is handed over.
public struct BodyChecks: Sendable, Hashable {
    /// The length the server promised; `nil` when it promised none.
    public var length: Int64?
    /// The SHA-256 the caller expects.
    public var digest: [UInt8]?
    /// What the body must look like.
    public var expects: ExpectedBody
    /// How large the body may be.
    public var limits: TransferLimits

    /// Checks for one body.
    public init(length: Int64?, digest: [UInt8]?, expects: ExpectedBody, limits: TransferLimits) {
        self.length = length
        self.digest = digest
        self.expects = expects
        self.limits = limits
    }
}

/// Where a complete body went.
public enum DeliveredBody: Sendable, Hashable {
    /// To the caller's committer.
    case committed(length: Int64)
    case bytes([UInt8])
    /// Nowhere: the copy that the request asked about still holds (304), and none was sent.
    case notModified
}

/// Takes a body. The engine calls one method at a time, never on its own thread; while a call takes its time, the transfer is held
/// back at the socket, not in memory.
///
/// One attempt is: `stored`, `begin`, any number of `write`, then `complete` or `pause`; `discard` may come at any time.
public protocol TransferSink: Sendable {
    /// What an earlier attempt left; `nil` when there is nothing.
    func stored() async throws(SinkFailure) -> PartialBody?
    /// A body with this total and validator arrives; what was kept from `part.offset` on is replaced.
    func begin(_ part: PartialBody) async throws(SinkFailure)
    /// The next bytes.
    func write(_ bytes: [UInt8]) async throws(SinkFailure)
    /// The attempt ended early; keep what is there, so that a later one can go on.
    func pause() async
    /// Nothing of it may be kept.
    func discard() async
    /// All bytes have come: check them and hand them over. After an error nothing may be visible as a resource.
    func complete(_ checks: BodyChecks, head: ResponseHead) async throws(SinkFailure) -> DeliveredBody
    /// The disk is full: free so many bytes (`nil`: unknown) and say whether trying again makes sense.
    func makeRoom(for bytes: Int64?) async -> Bool
}

/// Checks a body that is fed to it from its first byte to its last.
package struct BodyVerifier: Sendable {
    private let checks: BodyChecks
    private var hash: SHA256?
    private var picture = PictureHeader()
    private var head: [UInt8] = []
    private var length: Int64 = 0

    package init(_ checks: BodyChecks) {
        self.checks = checks
        hash = checks.digest == nil ? nil : SHA256()
    }

    /// Whether what was fed so far is all that the checks look at; the rest only counts.
    package var needsOnlyLength: Bool {
        hash == nil && head.count >= HTMLSniffer.window
            && (checks.limits.pixels == nil || picture.finding != .needsMore)
    }

    package mutating func feed(_ bytes: UnsafeRawBufferPointer) {
        length += Int64(bytes.count)
        head += bytes.prefix(HTMLSniffer.window - head.count)
        if checks.limits.pixels != nil { picture.feed(bytes) }
        hash?.update(bytes)
    }

    /// Counts bytes that need not be looked at.
    package mutating func skip(_ count: Int64) { length += count }

    package mutating func failure() -> SinkFailure? {
        if let expected = checks.length, length != expected { return .unfit(.lengthMismatch) }
        if length > checks.limits.bytes { return .unfit(.tooManyBytes) }
        if checks.expects == .picture {
            if length == 0 { return .unfit(.emptyBody) }
            if HTMLSniffer.looksLikeHTML(head) { return .isHTML }
        }
        if picture.finding.exceeds(checks.limits.pixels) { return .unfit(.tooManyPixels) }
        if let digest = checks.digest, hash?.finish() != digest { return .unfit(.digestMismatch) }
        return nil
    }
}

extension PictureHeader.Finding {
    /// Whether the picture is known to have more pixels than allowed.
    package func exceeds(_ limit: Int64?) -> Bool {
        guard let limit, case .size(let width, let height) = self else { return false }
        // Formats give each side at most 32 bits, so the product of two fits only with a check.
        let (pixels, overflow) = Int64(width).multipliedReportingOverflow(by: Int64(height))
        return overflow || pixels > limit
    }
}
