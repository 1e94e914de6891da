/// What becomes of a transfer after a failure.
package enum RetryDecision: Sendable, Hashable {
    case giveUp
    /// Try again after so long, from where the part stands.
    case retry(after: Duration)
    /// When the path is back; nothing was counted.
    case whenOnline
    /// Throw the part away and fetch the body again.
    case startOver
    /// Make room on the disk, then try again.
    case makeRoom
}

/// The retries of one transfer, counted by class. Pure: clock and chance come in as values.
package struct RetryLedger: Sendable, Hashable {
    package static let tries = 5
    package static let portalProbes = 6
    /// The counted failures since the last progress.
    private var failures = 0
    private var namesNotFound = 0
    private var portals = 0
    private var suspicions = 0
    private var hasStartedOver = false
    private var hasMadeRoom = false
    private var furthest: Int64 = 0
    /// Attempts whose failure is not counted, because the path changed under them.
    package var hasFreeAttempt = false

    package init() {}

    /// - Parameters:
    ///   - position: the bytes at hand that a next attempt can build on. More than ever before is progress, and resets the counters.
    ///   - floor: what Retry-After asks for.
    ///   - chance: from 0 up to, but not including, 1.
    ///   - mayRepeat: whether the request may be sent again.
    ///   - roomWouldHelp: whether a body that could not be stored could be if there were more room.
    package mutating func decide(
        _ failure: FailureClass, position: Int64, floor: Duration = .zero, chance: Double, mayRepeat: Bool = true,
        roomWouldHelp: Bool = false, budget: inout RetryBudget, at now: Duration
    ) -> RetryDecision {
        let hasProgressed = position > furthest
        if hasProgressed {
            furthest = position
            failures = 0
            namesNotFound = 0
        }
        guard mayRepeat else { return .giveUp }
        if failure == .offline { return .whenOnline }
        if hasFreeAttempt, failure.isTransport {
            hasFreeAttempt = false
            return .retry(after: .zero)
        }
        switch failure {
        case .offline: return .whenOnline
        case .offlineSuspected:
            suspicions += 1
            return .retry(after: Self.probeDelay(suspicions))
        case .captivePortal:
            portals += 1
            return portals <= Self.portalProbes ? .retry(after: Self.probeDelay(portals)) : .giveUp
        case .hostNotFound:
            namesNotFound += 1
            guard namesNotFound <= 2, budget.spend(at: now) else { return .giveUp }
            return .retry(after: Self.backoff(namesNotFound, chance))
        case .refused, .timeout, .server, .interrupted:
            failures += 1
            guard failures < Self.tries else { return .giveUp }
            // What moves forward costs the host nothing extra: the bytes are wanted once and sent once.
            guard hasProgressed || budget.spend(at: now) else { return .giveUp }
            return .retry(after: max(floor, Self.backoff(failures, chance)))
        case .corrupt:
            defer { hasStartedOver = true }
            return hasStartedOver ? .giveUp : .startOver
        case .storage:
            guard roomWouldHelp else { return .giveUp }
            defer { hasMadeRoom = true }
            return hasMadeRoom ? .giveUp : .makeRoom
        case .insecure, .unauthorized, .missing, .tooLarge, .cancelled, .rejected: return .giveUp
        }
    }

    /// Whether an answer of the resume table may still start the body over; it does so once.
    package mutating func startsOver() -> Bool {
        defer { hasStartedOver = true }
        return !hasStartedOver
    }

    /// Full jitter: anywhere up to 0.5 s x 2^n, at most 30 s.
    private static func backoff(_ failure: Int, _ chance: Double) -> Duration {
        min(.milliseconds(500) * (1 << min(failure - 1, 6)), .seconds(30)) * chance
    }

    /// 1, 2, 4 ... 30 s.
    private static func probeDelay(_ probe: Int) -> Duration { min(.seconds(1 << min(probe - 1, 5)), .seconds(30)) }
}

/// Retries that one host may still be burdened with: ten at once, one more every five seconds and for every success.
package struct RetryBudget: Sendable, Hashable {
    private static let capacity = 10
    private static let refill: Duration = .seconds(5)
    private var tokens = capacity
    private var filledAt: Duration = .zero

    package init(at now: Duration) {
        filledAt = now
    }

    package mutating func spend(at now: Duration) -> Bool {
        let earned = Int((now - filledAt) / Self.refill)
        if earned > 0 {
            tokens = min(Self.capacity, tokens + earned)
            filledAt += Self.refill * earned
        }
        guard tokens > 0 else { return false }
        tokens -= 1
        return true
    }

    package mutating func succeeded() { tokens = min(Self.capacity, tokens + 1) }
}
