import Synchronization
import TestSupport
import Testing

@testable import DownloadPolicy

/// The standard policy with something wrong, and who is expected to notice.
struct Mutant: Sendable, CustomTestStringConvertible {
    var name: String
    var policy: AnyPolicy
    /// The laws that have to break, all of them.
    var laws: Set<PolicyLaw>
    /// The line of the rule table some case of which has to fail; `nil` if the laws alone have to do.
    var line: String?

    var testDescription: String { name }

    init(_ name: String, _ policy: some DownloadPolicy, laws: Set<PolicyLaw> = [], line: String? = nil) {
        self.name = name
        self.policy = AnyPolicy(decide: policy.decide)
        self.laws = laws
        self.line = line
    }
}

struct AnyPolicy: DownloadPolicy {
    let decide: @Sendable (PolicyInput) -> PolicyDecision
    func decide(_ input: PolicyInput) -> PolicyDecision { decide(input) }
}

/// A policy whose decisions are tampered with.
private func tampered(
    _ tamper: @escaping @Sendable (PolicyInput, inout PolicyDecision) -> Void
) -> AnyPolicy {
    AnyPolicy { input in
        var decision = StandardPolicy.standard.decide(input)
        tamper(input, &decision)
        return decision
    }
}

extension Mutant {
    /// Without a rule.
    private static func without(_ line: String, laws: Set<PolicyLaw> = []) -> Mutant {
        Mutant(
            "\(line) removed", StandardPolicy(allowanceRules: AllowanceRule.all.filter { $0.line != line }),
            laws: laws, line: line)
    }

    /// With a rule that does something else.
    private static func altered(
        _ line: String, _ name: String, laws: Set<PolicyLaw> = [],
        _ apply: @escaping @Sendable (PolicyInput, inout Allowance) -> AllowanceRule.Walk
    ) -> Mutant {
        let rules = AllowanceRule.all.map { $0.line == line ? AllowanceRule(line, apply) : $0 }
        return Mutant("\(line) \(name)", StandardPolicy(allowanceRules: rules), laws: laws, line: line)
    }

    private static func fetching(
        _ name: String, laws: Set<PolicyLaw>,
        _ alter: @escaping @Sendable (PolicyInput, [Fetch], Allowance) -> [Fetch]
    ) -> Mutant {
        Mutant(
            "C \(name)",
            StandardPolicy(
                allowanceRules: AllowanceRule.all,
                fetch: { input, allowance in
                    alter(input, StandardPolicy.fetchWhatIsMissing(input, &allowance), allowance)
                }),
            laws: laws, line: "C")
    }

    static let all: [Mutant] =
        [
            without("B1", laws: [.fetchesOnlyOnline]),
            without("B2", laws: [.fetchesOnlyOnline, .followsTheSeed]),
            without("B3"),
            without("B4"),
            without("B5"),
            without("B6"),
            without("B7"),
            without("B8"),
            without("B9", laws: [.followsTheSeed]),
            without("B10", laws: [.followsTheSeed, .isMonotone]),
            without("B11", laws: [.staysWithinBudget]),
            altered("B1", "takes an unknown path for Wi-Fi", laws: [.fetchesOnlyOnline]) { input, allowance in
                allowance.granted = input.path.status == .unknown ? input.ladder.top : nil
                return input.path.status == .unknown ? .ends : .goesOn
            },
            altered("B2", "lets a tap fetch", laws: [.fetchesOnlyOnline]) { input, allowance in
                guard input.path.status == .offline, !input.trigger.isUser else { return .goesOn }
                return AllowanceRule.offline.apply(input, &allowance)
            },
            altered("B3", "gives in to a named rung") { input, allowance in
                if case .user(naming: .some) = input.trigger { return .goesOn }
                return AllowanceRule.cachedOnly.apply(input, &allowance)
            },
            altered("B4", "holds a tap too") { input, allowance in
                var other = input
                other.trigger = .visible
                return AllowanceRule.backoff.apply(other, &allowance)
            },
            altered("B5", "allows one rung less") { input, allowance in
                let walk = AllowanceRule.userOverride.apply(input, &allowance)
                allowance.granted = allowance.granted.map { _ in .lowest }
                return walk
            },
            altered("B6", "ends the walk", laws: [.staysWithinBudget]) { input, allowance in
                guard input.preferences.mode == .lowest else { return .goesOn }
                _ = AllowanceRule.preferLowest.apply(input, &allowance)
                allowance.granted = .lowest
                return .ends
            },
            altered("B7", "prefetches the lowest") { input, allowance in
                var other = input
                if other.trigger == .prefetch { other.trigger = .visible }
                return AllowanceRule.constrained.apply(other, &allowance)
            },
            altered("B7", "allows more when constrained", laws: [.isMonotone]) { input, allowance in
                if input.path.constrained != .yes { allowance.lower(to: .lowest, until: .unconstrained) }
                return .goesOn
            },
            altered("B8", "gives in to always-original") { input, allowance in
                guard input.preferences.mode != .alwaysOriginal else { return .goesOn }
                return AllowanceRule.roaming.apply(input, &allowance)
            },
            altered("B8", "allows nothing at all when at home", laws: [.isMonotone]) { input, allowance in
                if input.path.roaming == .no { allowance.lower(to: nil, until: .notRoaming) }
                return .goesOn
            },
            altered("B9", "ignores always-original", laws: [.followsTheSeed]) { input, allowance in
                var other = input
                other.preferences.mode = .automatic
                return AllowanceRule.expensive.apply(other, &allowance)
            },
            altered("B9", "prefetches more than visible", laws: [.prefetchIsThrifty]) { input, allowance in
                let ceiling = allowance.ceiling
                let walk = AllowanceRule.expensive.apply(input, &allowance)
                if input.path.isExpensive, input.trigger == .prefetch { allowance.granted = ceiling }
                return walk
            },
            altered("B9", "doubts Wi-Fi", laws: [.followsTheSeed]) { input, allowance in
                var other = input
                if other.path.metered == .unknown { other.path.metered = .yes }
                return AllowanceRule.expensive.apply(other, &allowance)
            },
            altered("B10", "grants the lowest only", laws: [.followsTheSeed]) { input, allowance in
                let walk = AllowanceRule.unmetered.apply(input, &allowance)
                if !input.path.isExpensive { allowance.granted = .lowest }
                return walk
            },
            altered("B11", "looks at expensive paths only", laws: [.staysWithinBudget]) { input, allowance in
                guard input.path.isExpensive else { return .goesOn }
                return AllowanceRule.budget.apply(input, &allowance)
            },
            altered("B11", "forgets the next lower rung") { input, allowance in
                let before = allowance.granted
                let walk = AllowanceRule.budget.apply(input, &allowance)
                if allowance.granted != before { allowance.granted = nil }
                return walk
            },
            altered("B11", "counts on free paths") { input, allowance in
                var other = input
                other.path.metered = .yes
                return AllowanceRule.budget.apply(other, &allowance)
            },
            Mutant(
                "A removed",
                StandardPolicy(allowanceRules: AllowanceRule.all, display: { _, _, _ in .placeholder(.loading) }),
                laws: [.showsTheBestCached, .cachedOriginalWins, .followsTheSeed], line: "A"),
            Mutant(
                "A shows what is fetched",
                StandardPolicy(
                    allowanceRules: AllowanceRule.all,
                    display: { input, fetches, allowance in
                        fetches.isEmpty
                            ? StandardPolicy.showBestCached(input, fetches, allowance) : .placeholder(.loading)
                    }),
                laws: [.showsTheBestCached, .followsTheSeed], line: "A"),
            Mutant(
                "A shows the lowest cached",
                StandardPolicy(
                    allowanceRules: AllowanceRule.all,
                    display: { input, fetches, allowance in
                        input.ladder[.lowest].cache != .absent
                            ? .rung(.lowest) : StandardPolicy.showBestCached(input, fetches, allowance)
                    }),
                laws: [.showsTheBestCached, .cachedOriginalWins, .arrivalNeverLowers], line: "A"),
            fetching("removed", laws: [.followsTheSeed]) { _, _, _ in [] },
            fetching(
                "fetches what is allowed, cached or not",
                laws: [.neverFetchesFresh, .cachedOriginalWins, .neverFetchesLesser, .comesToRest]
            ) { _, _, allowance in allowance.granted.map { [Fetch($0)] } ?? [] },
            fetching("fetches the thumbnail beside a stale original", laws: [.neverFetchesLesser]) {
                input, fetches, allowance in
                if fetches.isEmpty, allowance.granted == .lowest, input.ladder[.lowest].cache == .absent,
                    input.ladder[input.ladder.top].cache == .stale
                {
                    return [Fetch(.lowest)]
                }
                return fetches
            },
            fetching("climbs rung by rung", laws: [.comesToRest]) { input, fetches, _ in
                guard input.ladder.bestCached == nil, fetches.count > 1 else { return fetches }
                return [fetches[0]]
            },
            fetching("puts the original first", laws: [.isWellFormed]) { _, fetches, _ in fetches.reversed() },
            fetching("downloads what is stale", laws: [.isWellFormed]) { _, fetches, _ in
                fetches.map { Fetch($0.quality) }
            },
            fetching("forgets the budget for the lowest first", laws: [.staysWithinBudget]) { input, fetches, _ in
                guard fetches == [Fetch(.original)], input.throughput != nil, input.ladder.bestCached == nil else {
                    return fetches
                }
                return [Fetch(.lowest), Fetch(.original)]
            },
            Mutant("gives no reasons", tampered { $1.reasons = [] }, laws: [.givesReasons]),
            Mutant("expects nothing", tampered { $1.expectedBytes = 0 }, laws: [.isWellFormed]),
            Mutant(
                "attempts without a tap",
                tampered { if $0.path.status == .offline { $1.offlineAttempt = Fetch(.lowest) } },
                laws: [.fetchesOnlyOnline], line: "B2"),
        ]
}

@Suite(.takingTurns) struct MutantTests {
    @Test(arguments: Mutant.all)
    func everyMutantIsCaught(_ mutant: Mutant) async {
        let broken = await PolicyLaws.check(mutant.policy, over: .small).broken
        #expect(mutant.laws.isSubset(of: broken), "only \(broken)")
        if let line = mutant.line {
            let failed = Set(RuleCase.broken(by: mutant.policy).map(\.line))
            #expect(failed.contains(line), "only \(failed)")
        }
    }

    @Test func everyRuleHasAMutant() {
        for line in AllowanceRule.all.map(\.line) {
            #expect(Mutant.all.contains { $0.line == line && $0.name.hasSuffix("removed") })
        }
        #expect(AllowanceRule.all.map(\.line) == (1...11).map { "B\($0)" })
    }

    @Test func everyLawCatchesAMutant() async {
        let caught = Set(Mutant.all.flatMap(\.laws))
        #expect(Set(PolicyLaw.allCases).subtracting(caught) == [.isDeterministic])
    }

    @Test func aPolicyWithMoodsIsCaught() async {
        let moods = Mutex(0)
        let policy = AnyPolicy { input in
            var decision = StandardPolicy.standard.decide(input)
            let mood = moods.withLock { count in
                count += 1
                return count
            }
            decision.reasons.append(Reason(.settling, [.throughput(Int64(mood))]))
            return decision
        }
        #expect(await PolicyLaws.check(policy, over: .small).broken == [.isDeterministic])
    }
}
