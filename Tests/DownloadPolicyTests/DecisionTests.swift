import Foundation
import TestSupport
import Testing

@testable import DownloadPolicy

@Suite(.takingTurns) struct DecisionTests {
    @Test(arguments: RuleCase.table)
    func followsEveryLineOfTheTable(_ line: RuleCase) {
        #expect(line.failures(of: .standard).isEmpty)
    }

    @Test(arguments: SeedRow.table)
    func followsTheSeed(_ row: SeedRow) {
        let decision = StandardPolicy.standard.decide(row.input)
        #expect(decision.display == row.display)
        #expect(decision.fetches == row.fetches)
    }

    /// The module has a protocol's name, so that `DownloadPolicy.Plan` would look into the protocol.
    @Test func everyNameCanBeWrittenInFull() {
        let plan: DownloadPolicy::Plan = .settled
        #expect(plan == DownloadPolicy::Plan.settled)
    }

    @Test func theSeedHas24Rows() {
        #expect(Set(SeedRow.table.map(\.input)).count == 24)
    }

    @Test func everyRuleFiresSomewhere() {
        let fired = Set(RuleCase.table.flatMap { StandardPolicy.standard.decide($0.input).reasons.map(\.rule) })
        #expect(fired == Set(RuleID.allCases).subtracting([.settling]))
    }

    @Test func answersAbsurdNumbers() {
        for size: Int64? in [.min, -1, 0, .max] {
            for throughput: Int64 in [.min, -1, 0, .max] {
                for remaining: Int64 in [.min, -1, 0, .max] {
                    let input = PolicyInput(
                        path: .cellular, preferences: DownloadPreferences(.alwaysOriginal),
                        ladder: Ladder(Rung(size: size), Rung(size: size)),
                        budget: BudgetFacts(remaining: remaining, reserve: .min), throughput: throughput)
                    let decision = StandardPolicy.standard.decide(input)
                    #expect(decision.expectedBytes.map { $0 >= 0 } ?? false)
                    #expect(!decision.reasons.isEmpty)
                }
            }
        }
    }

    @Test func expectedBytesSaturate() {
        let input = PolicyInput(path: .wifi, ladder: Ladder(Rung(size: .max), Rung(size: .max)), throughput: 1)
        let decision = StandardPolicy.standard.decide(input)
        #expect(decision.fetches.count == 2)
        #expect(decision.expectedBytes == .max)
    }

    @Test func anUnknownSizeWithoutABudgetHasNoExpectation() {
        #expect(StandardPolicy.standard.decide(PolicyInput(path: .wifi, ladder: Ladder(Rung()))).expectedBytes == nil)
    }

    @Test(arguments: RuleCase.table)
    func survivesCoding(_ line: RuleCase) throws {
        let explanation = StandardPolicy.standard.explain(line.input)
        let data = try JSONEncoder().encode(explanation)
        #expect(try JSONDecoder().decode(PolicyExplanation.self, from: data) == explanation)
    }

    @Test func refusesALadderWithoutRungs() throws {
        #expect(throws: LadderError.empty) { try Ladder(rungs: []) }
        #expect(throws: LadderError.tooLong(257)) { try Ladder(rungs: Array(repeating: Rung(), count: 257)) }
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(Ladder.self, from: Data("[]".utf8)) }
        #expect(try Ladder(rungs: Array(repeating: Rung(), count: 256)).top == Quality(rung: 255))
    }

    @Test func alwaysOriginalIsASwitch() {
        var preferences = DownloadPreferences(.lowest)
        preferences.alwaysDownloadOriginal = false
        #expect(preferences.mode == .lowest)
        preferences.alwaysDownloadOriginal = true
        #expect(preferences.mode == .alwaysOriginal)
        preferences.alwaysDownloadOriginal = false
        #expect(preferences.mode == .automatic)
    }
}

@Suite(.takingTurns) struct ExplanationTests {
    @Test func saysOriginalIfUnmetered() {
        let explanation = StandardPolicy.standard.explain(PolicyInput(path: .cellular, ladder: .two(.fresh, .absent)))
        #expect(
            explanation.alternatives == [
                "original if unmetered", "original if \"always download the original\" were on",
            ])
    }

    @Test func namesAllThatStandsInTheWay() {
        let explanation = StandardPolicy.standard.explain(
            PolicyInput(path: PathFacts(.wwan, constrained: .yes), ladder: .two(.fresh, .absent)))
        #expect(explanation.counterfactuals.first?.changes == [.unmetered, .unconstrained])
    }

    @Test func hasNothingToAddToAnOriginal() {
        let input = PolicyInput(path: PathFacts(.offline), ladder: .two(.absent, .fresh))
        #expect(StandardPolicy.standard.counterfactuals(for: input).isEmpty)
    }

    @Test func everyCounterfactualHolds() {
        for line in RuleCase.table {
            let now = StandardPolicy.standard.decide(line.input).reached(from: line.input.ladder)
            for counterfactual in StandardPolicy.standard.counterfactuals(for: line.input) {
                #expect(now.map { counterfactual.reached > $0 } ?? true)
                #expect(counterfactual.decision.reached(from: line.input.ladder) == counterfactual.reached)
            }
        }
    }

    @Test func tellsTheWholeStory() {
        let input = PolicyInput(path: .cellular, ladder: .nothing, budget: BudgetFacts(remaining: 5000, reserve: 100))
        #expect(
            StandardPolicy.standard.explain(input).description == """
                show the placeholder "loading"; fetch the thumbnail (100 bytes); come back for the original \
                when unmetered
                  because the network is expensive (status wwan, metered: unknown, preference automatic, visible)
                  because the data budget counts here (5000 bytes remain, the thumbnail takes 100 bytes)
                  original if unmetered
                  original if there were no data budget and "always download the original" were on
                """)
    }
}
