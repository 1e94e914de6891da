/// The policy of this package: rules A, B1 to B11 and C.
///
/// Choices where the rules leave room:
/// - "At most" lines add up: on a path that is constrained *and* expensive, always-original does not lift the
///   constraint, and the preference for the lowest rung does not allow prefetching where the path forbids it.
/// - The budget binds every fetch on a charged path but the one a user named (B5 ends the walk before B11); a tap
///   without a rung is bound by it.
/// - Nothing is prefetched while roaming, even where roaming is allowed.
/// - Constraint and roaming that nobody knows of count as absent; only the unknown meter of `wwan` and `other` counts.
/// - A revalidation is budgeted with the whole size.
/// - "The lowest first" is left out where the budget has room for the wanted rung but not for both.
/// - A user's choice of a lower rung is final: nothing is planned on top of it.
/// - The attempt on a tap while offline is for what would be fetched first on a path of kind `other` and unknown cost.
public struct StandardPolicy: DownloadPolicy {
    /// Rule A: what to show, given what was fetched and which rules spoke.
    package typealias DisplayRule = @Sendable (PolicyInput, _ fetches: [Fetch], Allowance) -> Display
    /// Rule C: what to fetch, given what may be. It may add reasons.
    package typealias FetchRule = @Sendable (PolicyInput, inout Allowance) -> [Fetch]

    private let allowanceRules: [AllowanceRule]
    private let display: DisplayRule
    private let fetch: FetchRule

    /// The policy with all its rules.
    public init() {
        self.init(allowanceRules: AllowanceRule.all)
    }

    /// A policy with some rules left out or altered, for proving that the laws notice.
    package init(
        allowanceRules: [AllowanceRule], display: @escaping DisplayRule = StandardPolicy.showBestCached,
        fetch: @escaping FetchRule = StandardPolicy.fetchWhatIsMissing
    ) {
        self.allowanceRules = allowanceRules
        self.display = display
        self.fetch = fetch
    }

    public func decide(_ input: PolicyInput) -> PolicyDecision {
        var allowance = Allowance(top: input.ladder.top)
        for rule in allowanceRules where rule.apply(input, &allowance) == .ends {
            break
        }
        let fetches = fetch(input, &allowance)
        return PolicyDecision(
            display: display(input, fetches, allowance),
            fetches: fetches,
            offlineAttempt: offlineAttempt(input),
            plan: plan(input, fetches, allowance.conditions),
            expectedBytes: input.assumedBytes(of: fetches),
            reasons: allowance.reasons)
    }

    /// B2's exception: what a tap is worth while the path is said to be offline.
    private func offlineAttempt(_ input: PolicyInput) -> Fetch? {
        guard input.path.status == .offline, input.trigger.isUser else { return nil }
        var online = input
        online.path = .assumedWhenUnknown
        return decide(online).fetches.first
    }

    private func plan(_ input: PolicyInput, _ fetches: [Fetch], _ conditions: [Condition]) -> Plan {
        let top = input.ladder.top
        if conditions.isEmpty || input.ladder[top].cache == .fresh { return .settled }
        for fetch in fetches where fetch.quality == top { return .settled }
        return .comeBack(for: top, when: conditions)
    }
}

extension StandardPolicy {
    /// Rule A.
    package static let showBestCached: DisplayRule = { input, fetches, allowance in
        if let best = input.ladder.bestCached { return .rung(best) }
        if !fetches.isEmpty || input.path.status == .unknown { return .placeholder(.loading) }
        if input.path.status == .offline { return .placeholder(.offline) }
        for reason in allowance.reasons where reason.rule == .backoff { return .placeholder(.failed) }
        return .placeholder(.deferred)
    }

    /// Rule C.
    package static let fetchWhatIsMissing: FetchRule = { input, allowance in
        let ladder = input.ladder
        if ladder[ladder.top].cache == .fresh {
            allowance.fired(.alreadyFresh, [.cache(ladder.top, .fresh)])
            return []
        }
        guard let wanted = allowance.granted else { return [] }
        let best = ladder.bestCached
        if let best, best > wanted {
            allowance.fired(.betterCached, [.cache(best, ladder[best].cache), .cache(wanted, ladder[wanted].cache)])
            return []
        }
        switch ladder[wanted].cache {
        case .fresh:
            allowance.fired(.alreadyFresh, [.cache(wanted, .fresh)])
            return []
        case .stale:
            allowance.fired(.revalidate, [.cache(wanted, .stale)])
            return [Fetch(wanted, .revalidate)]
        case .absent:
            let both = [Fetch(.lowest), Fetch(wanted)]
            guard wanted > .lowest, best == nil, let size = ladder[wanted].knownSize, let throughput = input.throughput,
                takesLong(size, throughput), hasRoom(input, for: both)
            else { return [Fetch(wanted)] }
            allowance.fired(.lowestFirst, [.bytes(wanted, size), .throughput(throughput)])
            return both
        }
    }

    /// Whether a transfer takes more than 10 s.
    private static func takesLong(_ size: Int64, _ bytesPerSecond: Int64) -> Bool {
        let (tenSeconds, overflow) = max(0, bytesPerSecond).multipliedReportingOverflow(by: 10)
        return !overflow && size > tenSeconds
    }

    /// Whether the budget, where it counts, has room for all of these.
    private static func hasRoom(_ input: PolicyInput, for fetches: [Fetch]) -> Bool {
        guard input.path.isCharged, let budget = input.budget else { return true }
        if case .user(naming: .some) = input.trigger { return true }
        return input.assumedBytes(of: fetches).map { $0 <= max(0, budget.remaining) } ?? false
    }
}

extension PathFacts {
    /// What a path is taken to be when nothing is known of it and waiting any longer would be worse (B1): of some kind,
    /// at some cost.
    public static let assumedWhenUnknown = PathFacts(.other)
}
