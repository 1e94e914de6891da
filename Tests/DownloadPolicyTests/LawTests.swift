import Synchronization
import TestSupport
import Testing

@testable import DownloadPolicy

extension InputSpace {
    /// Few enough inputs to be run against every mutant.
    static let small = literal {
        try InputSpace(
            sizes: [[20_000, 2_000_000]],
            budgets: [nil, 2_010_000, 0],
            throughputs: [50_000], preferences: modes,
            statuses: [.unknown, .offline, .wifi, .wwan], metered: [.no, .unknown], constrained: [.no, .yes],
            roaming: [.no, .yes])
    }

    static let threeRungs = literal {
        try InputSpace(
            sizes: [[1000, 30_000, 2_000_000], [nil, 30_000, nil]],
            budgets: [nil, 2_000_500, 40_000, 0], reserve: 35_000,
            throughputs: [nil, 50_000], preferences: modes, statuses: [.wifi, .wwan, .offline],
            constrained: [.no, .yes], roaming: [.no, .yes])
    }

    /// All three states of constraint and roaming.
    static let everyCertainty = literal {
        try InputSpace(
            sizes: [[20_000, 2_000_000]], budgets: [nil, 100_000],
            throughputs: [50_000])
    }

    static let oneRung = literal {
        try InputSpace(
            sizes: [[nil], [1000], [0]],
            budgets: [nil, 1000, 0], reserve: 1001,
            throughputs: [nil, 1], notBefores: [nil, .zero])
    }

    private static let modes = DownloadPreferences.Mode.allCases.map { DownloadPreferences($0) }

    private static func literal(_ make: () throws -> InputSpace) -> InputSpace {
        do {
            return try make()
        } catch {
            // The spaces here are literals; one that cannot be is a mistake in the test.
            fatalError("\(error)")
        }
    }
}

extension PolicyInput {
    /// Makes a condition come true.
    fileprivate mutating func fulfil(_ condition: Condition) {
        switch condition {
        case .statusKnown, .online: path.status = .wifi
        case .preferencesAllow: preferences.mode = .automatic
        case .notBefore: notBefore = nil
        case .unconstrained: path.constrained = .no
        case .notRoaming: path.roaming = .no
        case .unmetered: path.metered = .no
        case .budget: budget = nil
        case .stable: break
        }
    }
}

@Suite(.takingTurns) struct LawTests {
    @Test func theStandardPolicyKeepsEveryLawOverAMillionInputs() async {
        let space = InputSpace.standard
        #expect(space.count >= 900_000)
        let report = await PolicyLaws.check(.standard, over: space)
        #expect(report.inputs == space.count + 24)
        #expect(report.holds, "\(report)")
    }

    @Test(arguments: [InputSpace.threeRungs, .everyCertainty, .oneRung])
    func theLawsHoldElsewhere(_ space: InputSpace) async {
        let report = await PolicyLaws.check(.standard, over: space)
        #expect(report.inputs == space.count + 24)
        #expect(report.holds, "\(report)")
    }

    /// Whoever waits for what a plan names gets what it promises, and whoever is told that all is settled misses
    /// nothing.
    @Test(arguments: [InputSpace.small, .threeRungs, .oneRung])
    func plansKeepTheirWord(_ space: InputSpace) {
        var faults: [String] = []
        for place in 0..<space.count {
            var input = space.input(at: place)
            var decision = StandardPolicy.standard.decide(input)
            var rounds = 0
            while case .comeBack(let quality, let conditions) = decision.plan, rounds < 6 {
                if conditions.isEmpty || quality != input.ladder.top {
                    faults.append("plans \(decision.plan) at \(input)")
                }
                if decision.fetches.contains(where: { $0.quality == quality }) {
                    faults.append("comes back for what is fetched at \(input)")
                }
                for condition in conditions { input.fulfil(condition) }
                let next = StandardPolicy.standard.decide(input)
                if next.plan == decision.plan { faults.append("nothing is won by \(conditions) at \(input)") }
                decision = next
                rounds += 1
            }
            if case .user(naming: let named?) = input.trigger, named < input.ladder.top { continue }
            if decision.reached(from: input.ladder) != input.ladder.top { faults.append("not reached at \(input)") }
        }
        #expect(faults.isEmpty, "\(faults.count), such as \(faults.prefix(3))")
    }

    @Test func everyPlaceHasItsOwnInput() throws {
        let space = try InputSpace(
            sizes: [[1, nil], [nil, 2]], budgets: [nil, 1], throughputs: [nil, 1],
            notBefores: [nil, .zero], preferences: [DownloadPreferences()], statuses: [.wifi, .offline],
            metered: [.yes, .no], constrained: [.no], roaming: [.no])
        #expect(Set((0..<space.count).map(space.input(at:))).count == space.count)
    }

    @Test func placesAreWhereTheAskingPutsThem() async throws {
        let space = InputSpace.small
        let asked = Mutex<[PolicyInput]>([])
        struct Recorder: DownloadPolicy {
            let record: @Sendable (PolicyInput) -> Void
            func decide(_ input: PolicyInput) -> PolicyDecision {
                record(input)
                return StandardPolicy.standard.decide(input)
            }
        }
        var report = LawReport()
        for block in 0..<space.blockCount {
            asked.withLock { $0 = [] }
            let recorder = Recorder { input in asked.withLock { if $0.last != input { $0.append(input) } } }
            let digests = PolicyLaws.ask(recorder, about: block, of: space, &report)
            #expect(digests.count == space.blockSize)
            let places = block * space.blockSize..<(block + 1) * space.blockSize
            #expect(asked.withLock { $0 } == places.map(space.input(at:)))
        }
    }

    @Test func refusesSpacesWithoutInputs() {
        #expect(throws: InputSpaceError.empty("sizes")) { try InputSpace(sizes: []) }
        #expect(throws: InputSpaceError.empty("budgets")) { try InputSpace(sizes: [[nil]], budgets: []) }
        #expect(throws: InputSpaceError.unequalSizes) { try InputSpace(sizes: [[nil], [nil, nil]]) }
        #expect(throws: InputSpaceError.tooManyRungs(17)) { try InputSpace(sizes: [Array(repeating: nil, count: 17)]) }
    }

    @Test func listsAFewViolationsAndCountsTheRest() async {
        struct Silent: DownloadPolicy {
            func decide(_ input: PolicyInput) -> PolicyDecision {
                var decision = StandardPolicy.standard.decide(input)
                decision.reasons = []
                return decision
            }
        }
        let report = await PolicyLaws.check(Silent(), over: .small)
        #expect(report.broken == [.givesReasons])
        #expect(report.counts[.givesReasons] == InputSpace.small.count)
        #expect(report.violations.count == PolicyLaws.violationsKept)
        #expect(report.description.contains("givesReasons x \(InputSpace.small.count)"))
    }

    @Test func stopsWhenCancelled() async {
        let check = Task {
            while !Task.isCancelled { await Task.yield() }
            return await PolicyLaws.check(.standard)
        }
        check.cancel()
        #expect(await check.value.inputs == 24)
    }
}
