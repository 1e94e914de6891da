import Foundation
import ReachabilityTestKit
import Synchronization
import TestSupport
import Testing

@testable import DownloadPolicy

/// A cache whose contents a test says.
final class LadderBoard: LadderSource {
    private let boards = Mutex<[ResourceID: Broadcaster<Ladder>]>([:])

    private func board(_ resource: ResourceID) -> Broadcaster<Ladder> {
        boards.withLock { boards in
            if let board = boards[resource] { return board }
            let board = Broadcaster(Ladder.nothing)
            boards[resource] = board
            return board
        }
    }

    func ladders(of resource: ResourceID) -> AsyncStream<Ladder> {
        board(resource).stream(keeping: self)
    }

    func set(_ ladder: Ladder, for resource: ResourceID) {
        let board = board(resource)
        board.post(ladder)
        board.deliver()
    }

    func watcherCount(of resource: ResourceID) -> Int {
        board(resource).streamCount
    }
}

/// A cache that says what a closure gives it.
struct ClosureSource: LadderSource {
    let make: @Sendable () -> AsyncStream<Ladder>
    func ladders(of resource: ResourceID) -> AsyncStream<Ladder> { make() }
}

@Suite(.takingTurns, .timeLimit(.minutes(10))) struct AdvisorTests {
    let folder: TemporaryFolder
    let preferences: PreferencesStore
    let clock = ManualClock()
    let board = LadderBoard()
    let paths: AsyncStream<PathFacts>
    let path: AsyncStream<PathFacts>.Continuation

    init() throws {
        folder = TemporaryFolder()
        preferences = try PreferencesStore(path: folder.file("preferences"))
        (paths, path) = AsyncStream.makeStream()
    }

    private func advisor(budget: DataBudget? = nil, ladders: (any LadderSource)? = nil) -> PolicyAdvisor {
        if let ladders { return make(ladders, budget) }
        return make(board, budget)
    }

    private func make(_ ladders: some LadderSource, _ budget: DataBudget?) -> PolicyAdvisor {
        PolicyAdvisor(paths: paths, preferences: preferences, ladders: ladders, budget: budget, clock: clock)
    }

    /// The first decision of which something holds. Ends with the stream.
    private func next(
        _ decisions: inout AsyncStream<PolicyDecision>.Iterator, where holds: (PolicyDecision) -> Bool
    ) async -> PolicyDecision? {
        while let decision = await decisions.next() {
            if holds(decision) { return decision }
        }
        return nil
    }

    @Test func thePresentDecisionComesFirst() async {
        let advisor = advisor()
        var decisions = advisor.decisions(for: "r", trigger: .visible).makeAsyncIterator()
        let first = await decisions.next()
        #expect(first?.display == .placeholder(.loading))
        #expect(first?.plan == .comeBack(for: .original, when: [.statusKnown]))
        path.yield(PathFacts(.wifi))
        #expect(await next(&decisions) { $0.fetches == [Fetch(.original)] } != nil)
        var second = advisor.decisions(for: "r", trigger: .prefetch).makeAsyncIterator()
        #expect(await second.next()?.fetches == [Fetch(.original)])
        #expect(advisor.path == PathFacts(.wifi))
    }

    @Test func unmeteredUpgradesWhenItHasHeld() async {
        let advisor = advisor()
        board.set(.two(.fresh, .absent), for: "r")
        var decisions = advisor.decisions(for: "r", trigger: .visible).makeAsyncIterator()
        path.yield(PathFacts(.wwan))
        #expect(await next(&decisions) { $0.plan == .comeBack(for: .original, when: [.unmetered]) } != nil)
        clock.advance(by: .seconds(10))
        path.yield(PathFacts(.wifi))
        let holding = Plan.comeBack(for: .original, when: [.stable(until: .seconds(13))])
        #expect(await next(&decisions) { $0.plan == holding } != nil)
        clock.advance(by: .milliseconds(2999))
        clock.advance(by: .milliseconds(1))
        #expect(await next(&decisions) { $0.fetches == [Fetch(.original)] } != nil)
        #expect(advisor.log.entries.last?.time == .seconds(13))
    }

    @Test func anUnknownPathIsNotWaitedForLongerThanHalfASecond() async {
        let advisor = advisor()
        var decisions = advisor.decisions(for: "r", trigger: .visible).makeAsyncIterator()
        #expect(await decisions.next()?.fetches == [])
        clock.advance(by: .milliseconds(500))
        #expect(await next(&decisions) { $0.fetches == [Fetch(.thumbnail)] } != nil)
    }

    @Test func aTimerThatRingsEarlyIsSetAgain() async {
        let advisor = advisor()
        var decisions = advisor.decisions(for: "r", trigger: .visible).makeAsyncIterator()
        #expect(await decisions.next()?.fetches == [])
        while clock.sleepers == 0 { await Task.yield() }
        clock.wakeEarly()
        while clock.sleepers == 0 { await Task.yield() }
        clock.advance(by: .milliseconds(500))
        #expect(await next(&decisions) { $0.fetches == [Fetch(.thumbnail)] } != nil)
    }

    @Test func followsThePreferencesOfEveryProcess() async throws {
        let advisor = advisor()
        var decisions = advisor.decisions(for: "r", trigger: .visible).makeAsyncIterator()
        path.yield(PathFacts(.wwan))
        #expect(await next(&decisions) { $0.fetches == [Fetch(.thumbnail)] } != nil)
        try preferences.update { $0.alwaysDownloadOriginal = true }
        #expect(await next(&decisions) { $0.fetches == [Fetch(.original)] } != nil)
        try PreferencesStore(path: preferences.path).update { $0.mode = .cachedOnly }
        #expect(await next(&decisions) { $0.fetches == [] } != nil)
    }

    @Test func followsTheBudgetAndItsPeriods() async throws {
        let calendar = Mutex(BudgetTests.noon)
        let budget = try DataBudget(
            path: folder.file("budget"), limit: 1000, assumedSize: 1, period: BillingPeriod(startingOn: 1, zone: .utc),
            now: { calendar.withLock { $0 } })
        let advisor = advisor(budget: budget)
        var decisions = advisor.decisions(for: "r", trigger: .visible).makeAsyncIterator()
        path.yield(PathFacts(.wwan))
        #expect(await next(&decisions) { $0.fetches == [Fetch(.thumbnail)] } != nil)
        let reservation = try budget.reserve(950)
        #expect(await next(&decisions) { $0.fetches == [] } != nil)
        try budget.release(reservation)
        #expect(await next(&decisions) { $0.fetches == [Fetch(.thumbnail)] } != nil)
        try budget.spend(1000)
        #expect(await next(&decisions) { $0.fetches == [] } != nil)
        // Midnight comes, which the advisor looks for at least once an hour.
        while clock.sleepers == 0 { await Task.yield() }
        calendar.withLock { $0 += 12 * 3600 }
        clock.advance(by: .seconds(3600))
        #expect(await next(&decisions) { $0.fetches == [Fetch(.thumbnail)] } != nil)
    }

    @Test func whatIsSetAsideForAResourceRemainsForIt() async throws {
        let budget = try DataBudget(
            path: folder.file("budget"), limit: 15_000, assumedSize: 1, period: BillingPeriod(startingOn: 1, zone: .utc)
        )
        try preferences.update { $0.alwaysDownloadOriginal = true }
        let advisor = advisor(budget: budget)
        var own = advisor.decisions(for: "r", trigger: .visible).makeAsyncIterator()
        var other = advisor.decisions(for: "s", trigger: .visible).makeAsyncIterator()
        path.yield(PathFacts(.wwan))
        #expect(await next(&own) { $0.fetches == [Fetch(.original)] } != nil)
        #expect(await next(&other) { $0.fetches == [Fetch(.original)] } != nil)
        let reservation = try budget.reserve(10_000, for: "r")
        #expect(await next(&other) { $0.fetches == [Fetch(.thumbnail)] } != nil)
        #expect(advisor.explain("r", trigger: .visible)?.decision.fetches == [Fetch(.original)])
        try budget.commit(reservation, used: 10_000)
        #expect(await next(&own) { $0.fetches == [Fetch(.thumbnail)] } != nil)
    }

    @Test func followsTheCache() async {
        let advisor = advisor()
        var decisions = advisor.decisions(for: "r", trigger: .visible).makeAsyncIterator()
        path.yield(PathFacts(.wifi))
        #expect(await next(&decisions) { $0.fetches == [Fetch(.original)] } != nil)
        board.set(.two(.absent, .fresh), for: "r")
        let last = await next(&decisions) { $0.fetches.isEmpty }
        #expect(last?.display == .rung(.original))
        #expect(last?.plan == .settled)
    }

    @Test func limitsTransfersAfterAnOutage() async {
        let advisor = advisor()
        var admissions = advisor.admissions().makeAsyncIterator()
        #expect(await admissions.next()?.limit == 6)
        path.yield(PathFacts(.offline))
        #expect(await admissions.next()?.limit == 0)
        path.yield(PathFacts(.wifi))
        #expect(await admissions.next()?.isProbing == true)
        advisor.report(.failed(retryAfter: nil), of: "r")
        #expect(advisor.admission.isProbing)
        for _ in 0..<4 { advisor.report(.succeeded(bytes: 10_000, in: .seconds(1), on: nil), of: "r") }
        #expect(advisor.admission.limit == 4)
        #expect(advisor.throughput.bytesPerSecond(on: nil) == 10_000)
    }

    @Test func explainsItself() async {
        let advisor = advisor()
        #expect(advisor.explain("r", trigger: .visible) == nil)
        let stream = advisor.decisions(for: "r", trigger: .visible)
        var decisions = stream.makeAsyncIterator()
        path.yield(PathFacts(.wwan))
        #expect(await next(&decisions) { $0.fetches == [Fetch(.thumbnail)] } != nil)
        #expect(advisor.explain("r", trigger: .visible)?.alternatives.first == "original if unmetered")
        #expect(advisor.explain("r", trigger: .prefetch) == nil)
    }

    @Test func aMonitorThatEndsLeavesThePathUnknown() async {
        let advisor = advisor()
        var decisions = advisor.decisions(for: "r", trigger: .visible).makeAsyncIterator()
        path.yield(PathFacts(.wifi))
        #expect(await next(&decisions) { $0.fetches == [Fetch(.original)] } != nil)
        path.finish()
        #expect(await next(&decisions) { $0.fetches.isEmpty } != nil)
        #expect(advisor.path == PathFacts(.unknown))
    }

    @Test func aStreamEndsIfTheCacheHasNothingToSay() async {
        let advisor = advisor(ladders: ClosureSource { AsyncStream { $0.finish() } })
        var decisions = advisor.decisions(for: "r", trigger: .visible).makeAsyncIterator()
        #expect(await decisions.next() == nil)
    }

    @Test func aStreamGoesOnIfTheCacheHasNothingMoreToSay() async {
        let advisor = advisor(
            ladders: ClosureSource {
                AsyncStream {
                    $0.yield(.nothing)
                    $0.finish()
                }
            })
        var decisions = advisor.decisions(for: "r", trigger: .visible).makeAsyncIterator()
        path.yield(PathFacts(.wifi))
        #expect(await next(&decisions) { $0.fetches == [Fetch(.original)] } != nil)
    }

    @Test func streamsKeepTheAdvisorAndLetItGo() async {
        let (ended, end) = AsyncStream<Void>.makeStream()
        path.onTermination = { _ in end.finish() }
        weak var weakAdvisor: PolicyAdvisor?
        var stream: AsyncStream<PolicyDecision>?
        do {
            let advisor = advisor()
            weakAdvisor = advisor
            stream = advisor.decisions(for: "r", trigger: .visible)
        }
        #expect(weakAdvisor != nil)
        var decisions = stream?.makeAsyncIterator()
        path.yield(PathFacts(.wifi))
        while let decision = await decisions?.next(), decision.fetches.isEmpty {}
        decisions = nil
        stream = nil
        #expect(weakAdvisor == nil)
        // The task that followed the path is gone, too.
        for await _ in ended {}
        while clock.sleepers > 0 { await Task.yield() }
        _ = (decisions, stream)
    }

    @Test func droppingAStreamDropsWhatItFollowed() async {
        let advisor = advisor()
        do {
            var decisions = advisor.decisions(for: "r", trigger: .visible).makeAsyncIterator()
            _ = await decisions.next()
            #expect(board.watcherCount(of: "r") == 1)
        }
        // The ladder's stream goes when its task has noticed.
        while board.watcherCount(of: "r") > 0 { await Task.yield() }
        #expect(advisor.explain("r", trigger: .visible) == nil)
    }

    @Test func cancellingAtAnyMomentLeavesTheOthersAlone() async throws {
        let lasting = [PathFacts(.wifi), PathFacts(.wwan), PathFacts(.offline), PathFacts(.wired)]
        for round in 0..<10_000 {
            var random = SeededGenerator(seed: UInt64(round))
            let (paths, path) = AsyncStream<PathFacts>.makeStream()
            let clock = ManualClock()
            let advisor = PolicyAdvisor(paths: paths, preferences: preferences, ladders: board, clock: clock)
            let staying = Task { [end = lasting[round % 4]] in
                // The last decision of all is the policy's own about the last path.
                let goal = StandardPolicy.standard.decide(PolicyInput(path: end, ladder: .nothing))
                for await decision in advisor.decisions(for: "r", trigger: .visible) where decision == goal {
                    return true
                }
                return false
            }
            let leaving = (0..<2).map { _ in
                Task { for await _ in advisor.decisions(for: "s", trigger: .visible) {} }
            }
            let moments = (0..<4).map { _ in Int.random(in: 0..<8, using: &random) }
            for step in 0..<8 {
                if moments[0] == step { leaving[0].cancel() }
                if moments[1] == step { leaving[1].cancel() }
                if moments[2] == step { clock.advance(by: .seconds(1)) }
                if let any = lasting.randomElement(using: &random) { path.yield(any) }
                if moments[3] == step { await Task.yield() }
            }
            path.yield(lasting[round % 4])
            for task in leaving {
                task.cancel()
                await task.value
            }
            // Nothing is held back for longer than a minute once the path has been seen. The clock only moves when told
            // to, so it is told to until the last decision has come.
            let mover = Task {
                while !Task.isCancelled {
                    clock.advance(by: .seconds(61))
                    await Task.yield()
                }
            }
            #expect(await staying.value)
            mover.cancel()
            await mover.value
        }
    }
}
