/// Why a transfer failed, as the caller needs to know it (policy.md, section 3).
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
    /// The body could not be stored. Room is made and it is tried once more.
    case storage
    /// Nobody waits any more. Never retried.
    case cancelled
    /// The server answered something that cannot be used and that trying again would not change: other 4xx, a redirect
    /// that leads nowhere. Outside the table of policy.md, which names no class for these; never retried.
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
