import TestSupport
import Testing

@testable import DownloadPolicy

/// A model and its time, driven as the advisor drives it.
struct AdvisorHarness {
    var model: AdvisorModel
    var now = Duration.zero
    var generator = SeededGenerator(seed: 1)
    /// Decisions handed out, with their times.
    var heard: [(time: Duration, news: AdvisorModel.News)] = []

    init(
        preferences: DownloadPreferences = DownloadPreferences(), budget: BudgetSnapshot? = nil, logCapacity: Int = 1000
    ) {
        model = AdvisorModel(
            policy: .standard, preferences: preferences, budget: budget, logCapacity: logCapacity, at: .zero)
    }

    /// Something happens now.
    mutating func happens(_ event: (inout AdvisorModel, Duration) -> Void) {
        event(&model, now)
        listen()
    }

    mutating func observe(_ status: PathFacts.Status, at seconds: Double) {
        advance(to: .seconds(seconds))
        happens { $0.observe(PathFacts(status), at: $1) }
    }

    mutating func subscribe(_ ladder: Ladder, trigger: Trigger = .visible) -> UInt64 {
        let id = model.subscribe(to: "r", trigger: trigger)
        model.setLadder(ladder, for: id)
        listen()
        return id
    }

    /// Time passes; every deadline on the way rings.
    mutating func advance(to moment: Duration) {
        while let deadline = model.nextDeadline(after: now), deadline <= moment {
            precondition(deadline > now, "a deadline has to lie ahead")
            now = deadline
            listen()
        }
        now = moment
        listen()
    }

    mutating func listen() {
        heard += model.news(at: now).map { (now, $0) }
    }

    func decision(_ id: UInt64) -> PolicyDecision? { model.subscriptions[id]?.decision }
    func fetches(_ id: UInt64) -> [Fetch]? { decision(id)?.fetches }
}

@Suite(.takingTurns) struct AdvisorModelTests {
    @Test func saysNothingBeforeTheCacheDoes() {
        var harness = AdvisorHarness()
        let id = harness.model.subscribe(to: "r", trigger: .visible)
        harness.observe(.wifi, at: 0.1)
        #expect(harness.heard.isEmpty)
        harness.happens { model, _ in model.setLadder(.nothing, for: id) }
        #expect(harness.heard.map(\.news.decision.fetches) == [[Fetch(.original)]])
    }

    @Test func anUnknownPathLoadsForHalfASecondAndThenTheThumbnail() {
        var harness = AdvisorHarness()
        let id = harness.subscribe(.nothing)
        #expect(harness.decision(id)?.display == .placeholder(.loading))
        harness.advance(to: .seconds(1))
        #expect(harness.heard.last?.time == .milliseconds(500))
        #expect(harness.fetches(id) == [Fetch(.thumbnail)])
    }

    @Test func costlierStopsTheOriginalAtOnce() {
        var harness = AdvisorHarness()
        let id = harness.subscribe(.two(.fresh, .absent))
        harness.observe(.wifi, at: 0.1)
        #expect(harness.fetches(id) == [Fetch(.original)])
        harness.observe(.wwan, at: 10)
        #expect(harness.heard.last?.time == .seconds(10))
        #expect(harness.fetches(id) == [])
        #expect(harness.decision(id)?.plan == .comeBack(for: .original, when: [.unmetered]))
    }

    @Test func unmeteredUpgradesAfterThreeSeconds() {
        var harness = AdvisorHarness()
        let id = harness.subscribe(.two(.fresh, .absent))
        harness.observe(.wwan, at: 0.1)
        harness.observe(.wifi, at: 10)
        #expect(harness.fetches(id) == [])
        #expect(harness.decision(id)?.plan == .comeBack(for: .original, when: [.stable(until: .seconds(13))]))
        #expect(harness.decision(id)?.reasons.last?.rule == .settling)
        harness.advance(to: .seconds(20))
        #expect(harness.heard.last?.time == .seconds(13))
        #expect(harness.fetches(id) == [Fetch(.original)])
    }

    @Test func aTapDoesNotWait() {
        var harness = AdvisorHarness()
        let id = harness.subscribe(.two(.fresh, .absent), trigger: .user(naming: .original))
        harness.observe(.wwan, at: 0.1)
        #expect(harness.fetches(id) == [Fetch(.original)])
        let reload = harness.subscribe(.two(.fresh, .absent), trigger: .user)
        harness.observe(.wifi, at: 5)
        #expect(harness.model.timing.hold != nil)
        #expect(harness.fetches(reload) == [Fetch(.original)])
        for step in 0..<9 { harness.observe(step % 2 == 0 ? .offline : .wifi, at: 10 + Double(step)) }
        harness.observe(.wifi, at: 20)
        #expect(harness.model.timing.hold?.isForFlapping == true)
        #expect(harness.fetches(id) == [Fetch(.original)])
        #expect(harness.fetches(reload) == [Fetch(.original)])
    }

    @Test func offlineStopsFetchingAtOnceAndShowsAfterTwoSeconds() {
        var harness = AdvisorHarness()
        let id = harness.subscribe(.nothing)
        harness.observe(.wifi, at: 0.1)
        harness.observe(.offline, at: 10)
        #expect(harness.fetches(id) == [])
        #expect(harness.decision(id)?.display == .placeholder(.loading))
        harness.advance(to: .seconds(20))
        #expect(harness.heard.last?.time == .seconds(12))
        #expect(harness.decision(id)?.display == .placeholder(.offline))
    }

    @Test func anOutageOfASecondIsNotShown() {
        var harness = AdvisorHarness()
        let id = harness.subscribe(.nothing)
        harness.observe(.wifi, at: 0.1)
        harness.observe(.offline, at: 10)
        harness.observe(.wifi, at: 11)
        #expect(harness.fetches(id) == [Fetch(.original)])
        harness.advance(to: .seconds(60))
        #expect(harness.heard.allSatisfy { $0.news.decision.display == .placeholder(.loading) })
    }

    @Test func offlineAtTheStartIsShownAtOnce() {
        var harness = AdvisorHarness()
        let id = harness.subscribe(.nothing)
        harness.observe(.offline, at: 0.1)
        #expect(harness.decision(id)?.display == .placeholder(.offline))
    }

    @Test func afterAnOutageFetchingGoesOnAtOnceOneAtATime() {
        var harness = AdvisorHarness()
        let id = harness.subscribe(.two(.fresh, .absent))
        harness.observe(.wifi, at: 0.1)
        #expect(harness.model.admission.limit == 6)
        harness.observe(.offline, at: 100)
        #expect(harness.model.admission.limit == 0)
        harness.observe(.wifi, at: 200)
        #expect(harness.fetches(id) == [Fetch(.original)])
        #expect(harness.model.admission.limit == 1)
        #expect(harness.model.admission.isProbing)
    }

    @Test func flappingHoldsUpgradesButNotTheFirstPicture() {
        var harness = AdvisorHarness()
        let upgrade = harness.subscribe(.two(.fresh, .absent))
        let first = harness.subscribe(.nothing)
        let stale = harness.subscribe(.two(.absent, .stale))
        harness.observe(.wifi, at: 0.1)
        harness.observe(.offline, at: 100)
        harness.observe(.wifi, at: 101)
        #expect(harness.fetches(upgrade) == [Fetch(.original)])
        harness.observe(.offline, at: 102)
        harness.observe(.wifi, at: 103)
        #expect(harness.fetches(upgrade) == [])
        #expect(harness.decision(upgrade)?.plan == .comeBack(for: .original, when: [.stable(until: .seconds(113))]))
        #expect(harness.decision(upgrade)?.expectedBytes == 0)
        #expect(harness.fetches(first) == [Fetch(.original)])
        #expect(harness.fetches(stale) == [Fetch(.original, .revalidate)])
        harness.advance(to: .seconds(112))
        #expect(harness.fetches(upgrade) == [])
        harness.advance(to: .seconds(113))
        #expect(harness.fetches(upgrade) == [Fetch(.original)])
    }

    @Test func followsPreferencesBudgetAndCache() {
        var harness = AdvisorHarness()
        let id = harness.subscribe(.nothing)
        harness.observe(.wwan, at: 0.1)
        #expect(harness.fetches(id) == [Fetch(.thumbnail)])
        harness.happens { model, _ in model.preferences.alwaysDownloadOriginal = true }
        #expect(harness.fetches(id) == [Fetch(.original)])
        harness.happens { model, _ in model.budget = BudgetSnapshot(remaining: 500, assumedSize: 1) }
        #expect(harness.fetches(id) == [Fetch(.thumbnail)])
        harness.happens { model, _ in model.setLadder(.two(.fresh, .absent), for: id) }
        #expect(harness.fetches(id) == [])
        #expect(harness.decision(id)?.display == .rung(.thumbnail))
    }

    @Test func failuresKeepAwayUntilTheirTime() {
        var harness = AdvisorHarness()
        let id = harness.subscribe(.nothing)
        harness.observe(.wifi, at: 0.1)
        harness.advance(to: .seconds(10))
        harness.happens { model, now in
            var generator = Largest()
            model.take(.failed(retryAfter: .seconds(5)), of: "r", at: now, using: &generator)
        }
        #expect(harness.decision(id)?.display == .placeholder(.failed))
        harness.advance(to: .seconds(30))
        #expect(harness.heard.last?.time == .seconds(15))
        #expect(harness.fetches(id) == [Fetch(.original)])
        harness.happens { model, now in
            var generator = Largest()
            model.take(.unavailable(for: .seconds(300)), of: "r", at: now, using: &generator)
        }
        harness.advance(to: .seconds(1000))
        #expect(harness.heard.last?.time == .seconds(330))
    }

    @Test func measuredThroughputOfTheNetworkCounts() {
        var harness = AdvisorHarness()
        let id = harness.subscribe(.nothing)
        harness.happens { $0.observe(PathFacts(.wifi, network: "a"), at: $1) }
        harness.happens { model, now in
            var generator = Largest()
            model.take(.succeeded(bytes: 10_000, in: .seconds(100), on: "a"), of: "x", at: now, using: &generator)
        }
        #expect(harness.fetches(id) == [Fetch(.thumbnail), Fetch(.original)])
        harness.happens { $0.observe(PathFacts(.wifi, network: "b"), at: $1) }
        #expect(harness.fetches(id) == [Fetch(.original)])
    }

    @Test func keepsALogForPeople() {
        var harness = AdvisorHarness(logCapacity: 2)
        _ = harness.subscribe(.two(.fresh, .absent))
        harness.observe(.wwan, at: 0.1)
        harness.observe(.wifi, at: 10)
        harness.advance(to: .seconds(20))
        #expect(harness.model.log.entries.count == 2)
        #expect(harness.model.log.dropped == 2)
        #expect(
            harness.model.log.description == """
                (2 earlier ones dropped)
                10.0 s r: show the thumbnail; fetch nothing; come back for the original when the path has \
                held until 13.0 s. Because the network is expensive (status wwan, metered: unknown, \
                preference automatic, visible); what is wanted is in the cache (the thumbnail is fresh); the \
                better network has not held long enough yet (status wifi, stable at 13.0 s).
                13.0 s r: show the thumbnail; fetch the original (10000 bytes). Because the network is \
                not expensive (status wifi, metered: unknown).
                """)
    }
}

@Suite(.takingTurns) struct AdvisorInterleavingTests {
    private static let paths: [PathFacts] =
        [
            PathFacts(.unknown), PathFacts(.offline), PathFacts(.wifi), PathFacts(.wwan), PathFacts(.wired),
            PathFacts(.other),
            PathFacts(.wwan, metered: .no), PathFacts(.wifi, metered: .yes), PathFacts(.wifi, constrained: .yes),
            PathFacts(.wwan, metered: .no, roaming: .yes), PathFacts(.wifi, network: "b"),
        ]

    /// Whatever happens in whatever order: a delay only ever holds back spending more.
    @Test(arguments: 0..<4)
    func aDelayOnlyHoldsBackSpendingMore(_ part: UInt64) throws {
        for seed in part * 2500..<(part + 1) * 2500 {
            var random = SeededGenerator(seed: seed)
            var harness = AdvisorHarness(
                budget: Bool.random(using: &random) ? BudgetSnapshot(remaining: 20_000, assumedSize: 500) : nil)
            let triggers: [Trigger] = [.prefetch, .visible, .user, .user(naming: .original)]
            var ids: [UInt64] = []
            for trigger in triggers { ids.append(harness.subscribe(.nothing, trigger: trigger)) }
            for _ in 0..<8 {
                step(&harness, ids, &random)
                if let fault = fault(harness, ids) { throw Fault(seed: seed, what: fault) }
            }
            harness.advance(to: harness.now + .seconds(200))
            if let fault = fault(harness, ids) { throw Fault(seed: seed, what: fault) }
            guard harness.model.timing.observed.status != .unknown else { continue }
            // Once all is quiet, nothing is held back.
            let timing = harness.model.timing
            guard timing.hold == nil, timing.fetching == timing.observed, timing.displaying == timing.observed else {
                throw Fault(seed: seed, what: "still held back: \(timing)")
            }
        }
    }

    private struct Fault: Error {
        var seed: UInt64
        var what: String
    }

    private func step(_ harness: inout AdvisorHarness, _ ids: [UInt64], _ random: inout SeededGenerator) {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<4:
            guard let path = Self.paths.randomElement(using: &random) else { return }
            harness.happens { $0.observe(path, at: $1) }
        case 4..<7:
            harness.advance(to: harness.now + .milliseconds(Int.random(in: 1..<12_000, using: &random)))
        case 7:
            guard let id = ids.randomElement(using: &random), let fetches = harness.fetches(id) else { return }
            // What was decided arrives.
            harness.happens { model, _ in
                guard var ladder = model.subscriptions[id]?.ladder else { return }
                for fetch in fetches { ladder[fetch.quality].cache = .fresh }
                model.setLadder(ladder, for: id)
            }
        case 8:
            let mode = DownloadPreferences.Mode.allCases.randomElement(using: &random) ?? .automatic
            harness.happens { model, _ in model.preferences.mode = mode }
        default:
            let outcome: TransferOutcome =
                Bool.random(using: &random)
                ? .failed(retryAfter: nil) : .succeeded(bytes: 10_000, in: .seconds(1), on: nil)
            harness.happens { model, now in model.take(outcome, of: "r", at: now, using: &random) }
        }
    }

    /// What is wrong, if anything is. Plain comparisons, since there are millions of them.
    private func fault(_ harness: AdvisorHarness, _ ids: [UInt64]) -> String? {
        var copy = harness
        copy.heard = []
        copy.listen()
        guard copy.heard.isEmpty else { return "somebody has not heard of a decision" }
        let timing = harness.model.timing
        if let deadline = harness.model.nextDeadline(after: harness.now), deadline <= harness.now {
            return "a deadline has passed"
        }
        for id in ids {
            guard let subscription = harness.model.subscriptions[id], let decision = subscription.decision,
                var input = harness.model.input(for: subscription, at: harness.now)
            else { return "there is no decision" }
            if decision.display.quality != input.ladder.bestCached { return "the best is not shown: \(decision)" }
            if decision.reasons.isEmpty { return "there is no reason" }
            if decision.expectedBytes != input.assumedBytes(of: decision.fetches) { return "wrong bytes: \(decision)" }
            if timing.observed.status == .offline, !decision.fetches.isEmpty { return "fetches offline: \(decision)" }
            // After the hold of B1 an unknown path is taken for another one of unknown cost.
            input.path = timing.observed
            if timing.observed.status == .unknown, timing.fetching.status != .unknown {
                input.path = .assumedWhenUnknown
            }
            let free = StandardPolicy.standard.decide(input)
            guard let spent = decision.expectedBytes, let freelySpent = free.expectedBytes, spent <= freelySpent else {
                return "spends more: \(decision) instead of \(free)"
            }
            let (reached, freelyReached) = (decision.reached(from: input.ladder), free.reached(from: input.ladder))
            if let reached, freelyReached.map({ $0 < reached }) ?? true {
                return "reaches more: \(decision) instead of \(free)"
            }
        }
        return nil
    }
}
