/// Why a transfer failed, as the caller needs to know it.
public enum FailureClass: String, Sendable, Hashable, Codable, CaseIterable {
    /// A transport error while the path was offline. Retried on return, not counted.
    case offline
    /// Connecting to two hosts failed within 10 s and nothing succeeded, although the path says online. Probed.
    case offlineSuspected
    /// The name does not resolve while others do. Retried twice.
    case hostNotFound
    /// No connection could be made.
    case refused
    /// A time-out: connecting, stalling, or overall.
    case timeout
    /// The connection was lost or the body cut short. Resumed.
    case interrupted
    /// TLS failed, or a redirect led from https to http. Never retried.
    case insecure
    /// A network's login page stood in for the answer. Probed.
    case captivePortal
    /// 401 or 403.
    case unauthorized
    /// 404 or 410. Remembered for five minutes.
    case missing
    /// 408, 425, 429 or 5xx.
    case server
    /// Over a limit of bytes or pixels. The caller may choose a lesser rung.
    case tooLarge
    /// The bytes are not those that were promised: digest, length, encoding. Fetched once more from the start.
    case corrupt
    /// The body could not be stored. If the disk is full, room is made and it is tried once more.
    case storage
    /// Nobody waits any more. Never retried.
    case cancelled
    /// The server answered something that cannot be used and that trying again would not change: other 4xx, a redirect that leads
    /// nowhere. Never retried.
    case rejected

    /// How long a failure is held against the resource, so that it is not asked for again at once.
    public var remembered: Duration? { self == .missing ? .seconds(300) : nil }

    /// Whether the failure says that bytes could not travel, rather than what came of them.
    package var isTransport: Bool {
        switch self {
        case .offline, .offlineSuspected, .hostNotFound, .refused, .timeout, .interrupted: true
        default: false
        }
    }
}

/// Everything ``FailureClass`` is decided from.
public struct FailureEvidence: Sendable, Hashable {
    /// What went wrong with the transport.
    public enum Transport: String, Sendable, Hashable, Codable, CaseIterable {
        case nameNotFound, noConnection, timedOut, connectionLost, tls
    }

    /// What was found out about an answer that did arrive.
    public enum Verdict: String, Sendable, Hashable, Codable, CaseIterable {
        case tooManyBytes, tooManyPixels
        case digestMismatch, lengthMismatch, emptyBody, undecodableBody, unusableRange
        case notStored, diskFull
        case insecureRedirect, unusableRedirect, unusableAnswer
    }

    /// What went wrong with the transport; `nil` when it did its work.
    public var transport: Transport?
    /// What was wrong with an answer that arrived; `nil` when nothing was.
    public var verdict: Verdict?
    /// The status of the last answer; `nil` when none came.
    public var status: Int?
    /// The body's bytes that are at hand.
    public var receivedBytes: Int64
    /// How many there should be; `nil` when that is not known.
    public var expectedBytes: Int64?
    /// Whether the answer is HTML, by its type or its first bytes.
    public var isHTML: Bool
    /// What the body should have been.
    public var expects: ExpectedBody
    /// Whether a redirect led to another host on the way to the answer.
    public var leftHost: Bool
    /// The path's word at the moment of the failure.
    public var isPathOnline: Bool
    /// Whether another host could not be connected to either in the last 10 s, and none could.
    public var othersFail: Bool
    /// Whether nobody waits any more; then nothing else matters.
    public var isCancelled: Bool

    /// Everything not named is as it is in a success.
    public init(
        transport: Transport? = nil, verdict: Verdict? = nil, status: Int? = nil, receivedBytes: Int64 = 0,
        expectedBytes: Int64? = nil, isHTML: Bool = false, expects: ExpectedBody = .anything, leftHost: Bool = false,
        isPathOnline: Bool = true, othersFail: Bool = false, isCancelled: Bool = false
    ) {
        self.transport = transport
        self.verdict = verdict
        self.status = status
        self.receivedBytes = receivedBytes
        self.expectedBytes = expectedBytes
        self.isHTML = isHTML
        self.expects = expects
        self.leftHost = leftHost
        self.isPathOnline = isPathOnline
        self.othersFail = othersFail
        self.isCancelled = isCancelled
    }
}

extension FailureClass {
    /// The class of a failure; `nil` when the evidence shows none.
    public init?(_ evidence: FailureEvidence) {
        if evidence.isCancelled {
            self = .cancelled
        } else if let transport = evidence.transport {
            self.init(transport, evidence)
        } else if evidence.isPortal {
            self = .captivePortal
        } else if let verdict = evidence.verdict {
            self.init(verdict)
        } else if let failure = FailureClass(status: evidence.status) {
            self = failure
        } else if let expected = evidence.expectedBytes, evidence.receivedBytes != expected {
            self = evidence.receivedBytes < expected ? .interrupted : .corrupt
        } else {
            return nil
        }
    }

    private init(_ transport: FailureEvidence.Transport, _ evidence: FailureEvidence) {
        guard evidence.isPathOnline else {
            self = .offline
            return
        }
        let failedToConnect = transport == .nameNotFound || transport == .noConnection || transport == .timedOut
        if failedToConnect && evidence.othersFail {
            self = .offlineSuspected
            return
        }
        switch transport {
        case .nameNotFound: self = .hostNotFound
        case .noConnection: self = .refused
        case .timedOut: self = .timeout
        case .connectionLost: self = .interrupted
        case .tls: self = .insecure
        }
    }

    private init(_ verdict: FailureEvidence.Verdict) {
        switch verdict {
        case .tooManyBytes, .tooManyPixels: self = .tooLarge
        case .digestMismatch, .lengthMismatch, .emptyBody, .undecodableBody, .unusableRange: self = .corrupt
        case .notStored, .diskFull: self = .storage
        case .insecureRedirect: self = .insecure
        case .unusableRedirect, .unusableAnswer: self = .rejected
        }
    }

    private init?(status: Int?) {
        switch status {
        case nil, 200?, 201?, 203?, 204?, 206?: return nil
        case 401?, 403?: self = .unauthorized
        case 404?, 410?: self = .missing
        case 408?, 425?, 429?, .some(500...599): self = .server
        default: self = .rejected
        }
    }
}

extension FailureEvidence {
    /// HTML for a picture, a redirect to another host's HTML, or 511 (RFC 6585, 6). An error page is no portal: its status counts.
    var isPortal: Bool {
        if status == 511 { return true }
        let isSuccess = status.map { (200...299).contains($0) } ?? false
        return isHTML && isSuccess && (expects == .picture || leftHost)
    }
}
