/// Before which moment resources that failed should not be tried again.
///
/// The wait is drawn at random between nothing and 0.5 s x 2^n, at most 30 s, where n counts the failures before this
/// one (full jitter keeps many clients from coming back together). What a server asks for by Retry-After is a floor, up
/// to 120 s. A success forgets the failures.
public struct FailureMemory: Sendable {
    /// Resources kept; beyond that the one that may be tried again first is forgotten.
    public static let resourcesKept = 1024

    static let firstWait = Duration.milliseconds(500)
    static let longestWait = Duration.seconds(30)
    static let longestRetryAfter = Duration.seconds(120)

    /// How many resources were forgotten to make room while they were still to be left alone.
    public private(set) var dropped = 0

    private struct Entry {
        var failures: Int
        var notBefore: Duration
    }

    private var entries: [ResourceID: Entry] = [:]

    /// No failure so far.
    public init() {}

    /// Takes notice of a failure.
    ///
    /// - Parameters:
    ///   - resource: what failed.
    ///   - now: the present moment on the caller's time line.
    ///   - retryAfter: how long the server asks to be left alone, if it does.
    ///   - generator: where the jitter comes from.
    public mutating func failed(
        _ resource: ResourceID, at now: Duration, retryAfter: Duration? = nil,
        using generator: inout some RandomNumberGenerator
    ) {
        let failures = entries[resource]?.failures ?? 0
        let longest = min(Self.longestWait, Self.firstWait * (1 << min(failures, 16)))
        let wait = longest * Double.random(in: 0...1, using: &generator)
        let floor = min(Self.longestRetryAfter, retryAfter ?? .zero)
        remember(resource, Entry(failures: failures + 1, notBefore: now + max(wait, floor)), at: now)
    }

    /// Leaves a resource alone for a time that somebody else has chosen, such as 5 min for one that is missing.
    public mutating func leaveAlone(_ resource: ResourceID, until moment: Duration, at now: Duration) {
        remember(resource, Entry(failures: entries[resource]?.failures ?? 0, notBefore: moment), at: now)
    }

    /// Forgets the failures of a resource.
    public mutating func succeeded(_ resource: ResourceID) {
        entries[resource] = nil
    }

    /// The moment before which a resource is to be left alone; `nil` once it has come.
    public func notBefore(_ resource: ResourceID, at now: Duration) -> Duration? {
        guard let moment = entries[resource]?.notBefore, moment > now else { return nil }
        return moment
    }

    private mutating func remember(_ resource: ResourceID, _ entry: Entry, at now: Duration) {
        entries[resource] = entry
        guard entries.count > Self.resourcesKept else { return }
        guard let first = entries.min(by: { $0.value.notBefore < $1.value.notBefore }) else { return }
        if first.value.notBefore > now { dropped += 1 }
        entries[first.key] = nil
    }
}
