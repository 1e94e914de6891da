import Testing

@testable import DownloadPolicy

/// One line of the contract, as an input and what has to come of it.
struct RuleCase: Sendable, CustomTestStringConvertible {
    var line: String
    var name: String
    var input: PolicyInput
    var fetches: [Fetch]
    var rules: [RuleID]
    var plan: Plan
    var display: Display?
    var attempt: Fetch?

    var testDescription: String { "\(line) \(name)" }

    init(
        _ line: String, _ name: String, _ path: PathFacts, mode: DownloadPreferences.Mode = .automatic,
        allowsRoaming: Bool = false, _ trigger: Trigger = .visible, _ ladder: Ladder = .nothing,
        budget: Int64? = nil, throughput: Int64? = nil, notBefore: Duration? = nil,
        fetches: [Fetch], _ rules: [RuleID], plan: Plan = .settled, shows display: Display? = nil,
        attempt: Fetch? = nil
    ) {
        self.line = line
        self.name = name
        input = PolicyInput(
            path: path, preferences: DownloadPreferences(mode, allowsRoaming: allowsRoaming), trigger: trigger,
            ladder: ladder, budget: budget.map { BudgetFacts(remaining: $0, reserve: 500) }, throughput: throughput,
            notBefore: notBefore)
        self.fetches = fetches
        self.rules = rules
        self.plan = plan
        self.display = display
        self.attempt = attempt
    }

    /// What a policy gets wrong here; empty if nothing.
    func failures(of policy: some DownloadPolicy) -> [String] {
        let decision = policy.decide(input)
        var failures: [String] = []
        if decision.fetches != fetches { failures.append("fetches \(decision.fetches), not \(fetches)") }
        if decision.reasons.map(\.rule) != rules {
            failures.append("fired \(decision.reasons.map(\.rule)), not \(rules)")
        }
        if decision.plan != plan { failures.append("plans \(decision.plan), not \(plan)") }
        if let display, decision.display != display { failures.append("shows \(decision.display), not \(display)") }
        if decision.offlineAttempt != attempt {
            failures.append(
                "attempts \(String(describing: decision.offlineAttempt)), not \(String(describing: attempt))")
        }
        return failures
    }

    static func broken(by policy: some DownloadPolicy) -> [RuleCase] {
        table.filter { !$0.failures(of: policy).isEmpty }
    }
}

extension Ladder {
    static let nothing = Ladder(thumbnail: Rung(size: 100), original: Rung(size: 10_000))
    static func two(_ thumbnail: CacheState, _ original: CacheState) -> Ladder {
        Ladder(thumbnail: Rung(thumbnail, size: 100), original: Rung(original, size: 10_000))
    }
    static func three(_ low: CacheState, _ middle: CacheState, _ high: CacheState) -> Ladder {
        Ladder(Rung(low, size: 100), Rung(middle, size: 1000), Rung(high, size: 10_000))
    }
}

extension PathFacts {
    static let wifi = PathFacts(.wifi)
    static let cellular = PathFacts(.wwan)
}

extension RuleCase {
    private static let thumbnail = [Fetch(.thumbnail)]
    private static let original = [Fetch(.original)]
    private static func later(_ conditions: Condition..., for quality: Quality = .original) -> Plan {
        .comeBack(for: quality, when: conditions)
    }

    static let table: [RuleCase] = [
        // B1
        RuleCase(
            "B1", "unknown status allows nothing", PathFacts(.unknown), fetches: [], [.statusUnknown],
            plan: later(.statusKnown), shows: .placeholder(.loading)),
        RuleCase(
            "B1", "not even a tap", PathFacts(.unknown), .user(naming: .original), fetches: [], [.statusUnknown],
            plan: later(.statusKnown)),
        RuleCase(
            "B1", "taken for another kind of unknown cost it is expensive", .assumedWhenUnknown, fetches: thumbnail,
            [.expensive], plan: later(.unmetered)),
        // B2
        RuleCase(
            "B2", "offline allows nothing", PathFacts(.offline), fetches: [], [.offline], plan: later(.online),
            shows: .placeholder(.offline)),
        RuleCase(
            "B2", "a tap is worth one attempt", PathFacts(.offline), .user, fetches: [], [.offline],
            plan: later(.online), shows: .placeholder(.offline), attempt: Fetch(.thumbnail)),
        RuleCase(
            "B2", "a tap that names a rung attempts that", PathFacts(.offline), .user(naming: .original),
            .two(.fresh, .stale), fetches: [], [.offline], plan: later(.online),
            attempt: Fetch(.original, .revalidate)),
        RuleCase(
            "B2", "no attempt at what is fresh", PathFacts(.offline), .user, .two(.absent, .fresh), fetches: [],
            [.offline, .alreadyFresh]),
        RuleCase(
            "B2", "no attempt against the preference", PathFacts(.offline), mode: .cachedOnly, .user, fetches: [],
            [.offline], plan: later(.online)),
        // B3
        RuleCase(
            "B3", "cached only allows nothing on Wi-Fi", .wifi, mode: .cachedOnly, fetches: [], [.cachedOnly],
            plan: later(.preferencesAllow), shows: .placeholder(.deferred)),
        RuleCase(
            "B3", "not even a named rung", .wifi, mode: .cachedOnly, .user(naming: .thumbnail), fetches: [],
            [.cachedOnly], plan: later(.preferencesAllow)),
        // B4
        RuleCase(
            "B4", "not before the moment", .wifi, notBefore: .seconds(9), fetches: [], [.backoff],
            plan: later(.notBefore(.seconds(9))), shows: .placeholder(.failed)),
        RuleCase(
            "B4", "but for a tap", .wifi, .user, notBefore: .seconds(9), fetches: original, [.unmetered]),
        RuleCase(
            "B4", "nor for a prefetch", .wifi, .prefetch, notBefore: .seconds(9), fetches: [], [.backoff],
            plan: later(.notBefore(.seconds(9)))),
        // B5
        RuleCase(
            "B5", "a named rung whatever it costs", PathFacts(.wwan, constrained: .yes, roaming: .yes), mode: .lowest,
            .user(naming: .original), budget: 0, fetches: original, [.userOverride]),
        RuleCase(
            "B5", "a lower rung is the user's choice", .wifi, .user(naming: .thumbnail), fetches: thumbnail,
            [.userOverride]),
        RuleCase(
            "B5", "a rung above the ladder is the top", .cellular, .user(naming: Quality(rung: 9)), fetches: original,
            [.userOverride]),
        RuleCase(
            "B5", "a tap without a rung is judged by the path", .cellular, .user, fetches: thumbnail, [.expensive],
            plan: later(.unmetered)),
        // B6
        RuleCase(
            "B6", "lowest on Wi-Fi", .wifi, mode: .lowest, fetches: thumbnail, [.preferLowest, .unmetered],
            plan: later(.preferencesAllow)),
        RuleCase(
            "B6", "and no prefetch where the path forbids it", .cellular, mode: .lowest, .prefetch, fetches: [],
            [.preferLowest, .expensive], plan: later(.preferencesAllow, .unmetered)),
        // B7
        RuleCase(
            "B7", "data saver allows the lowest", PathFacts(.wifi, constrained: .yes), fetches: thumbnail,
            [.constrained, .unmetered], plan: later(.unconstrained)),
        RuleCase(
            "B7", "data saver holds always-original", PathFacts(.wwan, constrained: .yes), mode: .alwaysOriginal,
            fetches: thumbnail, [.constrained, .expensiveAllowed], plan: later(.unconstrained)),
        RuleCase(
            "B7", "data saver prefetches nothing", PathFacts(.wifi, constrained: .yes), .prefetch, fetches: [],
            [.constrained, .unmetered], plan: later(.unconstrained), shows: .placeholder(.deferred)),
        RuleCase(
            "B7", "an unknown constraint is none", PathFacts(.wifi, constrained: .unknown), fetches: original,
            [.unmetered]),
        // B8
        RuleCase(
            "B8", "roaming allows the lowest even with always-original", PathFacts(.wwan, metered: .no, roaming: .yes),
            mode: .alwaysOriginal, fetches: thumbnail, [.roaming, .unmetered], plan: later(.notRoaming)),
        RuleCase(
            "B8", "unless roaming is allowed", PathFacts(.wwan, metered: .no, roaming: .yes), mode: .alwaysOriginal,
            allowsRoaming: true, fetches: original, [.unmetered]),
        RuleCase(
            "B8", "roaming prefetches nothing, allowed or not", PathFacts(.wwan, metered: .no, roaming: .yes),
            allowsRoaming: true, .prefetch, fetches: [], [.roaming, .unmetered], plan: later(.notRoaming)),
        RuleCase(
            "B8", "allowed roaming may still be expensive", PathFacts(.wwan, roaming: .yes), allowsRoaming: true,
            fetches: thumbnail, [.expensive], plan: later(.unmetered)),
        // B9
        RuleCase(
            "B9", "metered Wi-Fi allows the lowest", PathFacts(.wifi, metered: .yes), fetches: thumbnail, [.expensive],
            plan: later(.unmetered)),
        RuleCase(
            "B9", "always-original keeps the top", .cellular, mode: .alwaysOriginal, fetches: original,
            [.expensiveAllowed]),
        RuleCase(
            "B9", "but prefetches nothing", .cellular, mode: .alwaysOriginal, .prefetch, fetches: [], [.expensive],
            plan: later(.unmetered)),
        RuleCase(
            "B9", "a cable gets the benefit of the doubt", PathFacts(.wired), .prefetch, fetches: original,
            [.unmetered]),
        // B10
        RuleCase("B10", "Wi-Fi allows the top", .wifi, fetches: original, [.unmetered]),
        RuleCase(
            "B10", "so does cellular that is known to be free", PathFacts(.wwan, metered: .no), fetches: original,
            [.unmetered]),
        // B11
        RuleCase(
            "B11", "what fits is allowed", .cellular, mode: .alwaysOriginal, budget: 10_000, fetches: original,
            [.expensiveAllowed, .budget]),
        RuleCase(
            "B11", "else the next lower rung", .cellular, mode: .alwaysOriginal, .visible,
            .three(.absent, .absent, .absent),
            budget: 9999, fetches: [Fetch(Quality(rung: 1))], [.expensiveAllowed, .budget],
            plan: later(.budget, for: Quality(rung: 2))),
        RuleCase(
            "B11", "else none", .cellular, mode: .alwaysOriginal, budget: 99, fetches: [],
            [.expensiveAllowed, .budget],
            plan: later(.budget), shows: .placeholder(.deferred)),
        RuleCase(
            "B11", "an unknown size is the reserve", .cellular, .visible, Ladder(Rung(), Rung()), budget: 499,
            fetches: [], [.expensive, .budget], plan: later(.unmetered, .budget)),
        RuleCase(
            "B11", "an unknown size fits where the reserve does", .cellular, .visible, Ladder(Rung(), Rung()),
            budget: 500, fetches: thumbnail, [.expensive, .budget], plan: later(.unmetered)),
        RuleCase(
            "B11", "roaming counts", PathFacts(.wifi, metered: .no, roaming: .yes), allowsRoaming: true, budget: 500,
            fetches: thumbnail, [.unmetered, .budget], plan: later(.budget)),
        RuleCase("B11", "free paths do not count", .wifi, budget: 0, fetches: original, [.unmetered]),
        // A
        RuleCase(
            "A", "the cached thumbnail is shown while the original loads", .wifi, .visible, .two(.fresh, .absent),
            fetches: original, [.unmetered], shows: .rung(.thumbnail)),
        RuleCase(
            "A", "a stale original is shown offline", PathFacts(.offline), .visible, .two(.fresh, .stale), fetches: [],
            [.offline], plan: later(.online), shows: .rung(.original)),
        RuleCase(
            "A", "what loads shows as loading", .wifi, fetches: original, [.unmetered], shows: .placeholder(.loading)),
        // C
        RuleCase(
            "C", "a fresh original asks for nothing", .wifi, .visible, .two(.absent, .fresh), fetches: [],
            [.unmetered, .alreadyFresh]),
        RuleCase(
            "C", "a stale original is revalidated where allowed", .wifi, .visible, .two(.fresh, .stale),
            fetches: [Fetch(.original, .revalidate)], [.unmetered, .revalidate]),
        RuleCase(
            "C", "and left alone where not", .cellular, .visible, .two(.absent, .stale), fetches: [],
            [.expensive, .betterCached], plan: later(.unmetered), shows: .rung(.original)),
        RuleCase(
            "C", "the lowest first where the original takes more than 10 s", .wifi, throughput: 999,
            fetches: thumbnail + original, [.unmetered, .lowestFirst]),
        RuleCase(
            "C", "exactly 10 s is no more than that", .wifi, throughput: 1000, fetches: original, [.unmetered]),
        RuleCase(
            "C", "not if a lower rung is cached", .wifi, .visible, .two(.stale, .absent), throughput: 1,
            fetches: original, [.unmetered]),
        RuleCase(
            "C", "not if the budget has no room for both", .cellular, mode: .alwaysOriginal, budget: 10_050,
            throughput: 1, fetches: original, [.expensiveAllowed, .budget]),
        RuleCase(
            "C", "a fresh thumbnail is enough where only that is allowed", .cellular, .visible, .two(.fresh, .absent),
            fetches: [], [.expensive, .alreadyFresh], plan: later(.unmetered)),
        RuleCase(
            "C", "a stale thumbnail is revalidated there", .cellular, .visible, .two(.stale, .absent),
            fetches: [Fetch(.thumbnail, .revalidate)], [.expensive, .revalidate], plan: later(.unmetered)),
        RuleCase(
            "C", "no thumbnail where a better rung is cached", .cellular, .visible, .three(.absent, .stale, .absent),
            fetches: [], [.expensive, .betterCached], plan: later(.unmetered, for: Quality(rung: 2))),
        RuleCase(
            "C", "one rung is a ladder", .cellular, .visible, Ladder(Rung()), fetches: [Fetch(.lowest)], [.expensive]),
    ]
}
