import ReachabilityTestKit
import TestSupport
import Testing

@Suite("The manual clock", .takingTurns, .timeLimit(.minutes(10)))
struct ManualClockTests {
    private let clock = ManualClock()

    @Test func standsStillUntilItIsMoved() {
        #expect(clock.now == clock.now)
        let before = clock.now
        clock.advance(by: .milliseconds(1500))
        #expect(before.duration(to: clock.now) == .milliseconds(1500))
    }

    @Test func wakesThoseWhoseTimeHasCome() async throws {
        let short = Task { try await clock.sleep(for: .seconds(1)) }
        let long = Task { try await clock.sleep(for: .seconds(2)) }
        await clock.waitForSleepers(2)
        clock.advance(by: .milliseconds(999))
        #expect(clock.sleepers == 2)
        clock.advance(by: .milliseconds(1))
        try await short.value
        #expect(clock.sleepers == 1)
        clock.advance(by: .seconds(1))
        try await long.value
        #expect(clock.sleepers == 0)
    }

    @Test func aDeadlineInThePastIsNoSleep() async throws {
        clock.advance(by: .seconds(5))
        try await clock.sleep(until: clock.now)
        try await clock.sleep(until: ManualClock.Instant(offset: .seconds(4)))
        #expect(clock.sleepers == 0)
    }

    @Test func aCancelledSleeperWakesWithAnError() async {
        let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
        await clock.waitForSleepers(1)
        sleeper.cancel()
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(clock.sleepers == 0)
    }

    @Test func cancellationAtAnyMomentLeavesNobodyAsleep() async {
        await withTaskGroup { group in
            for round in 0..<2000 {
                group.addTask {
                    let sleeper = Task { try await clock.sleep(for: .seconds(round % 3)) }
                    if round % 2 == 0 { await Task.yield() }
                    sleeper.cancel()
                    _ = await sleeper.result
                }
            }
        }
        #expect(clock.sleepers == 0)
    }

    @Test func wakesEverybodyEarly() async throws {
        let sleeper = Task { try await clock.sleep(for: .seconds(1)) }
        await clock.waitForSleepers(1)
        clock.wakeEarly()
        try await sleeper.value
        #expect(clock.now == ManualClock.Instant())
    }

    @Test func tellsWhenSomebodySleepsUntilAMoment() async throws {
        clock.advance(by: .seconds(1))
        let waiter = Task { await clock.waitForSleeper(until: .seconds(3)) }
        let other = Task { try await clock.sleep(for: .seconds(1)) }
        let sleeper = Task { try await clock.sleep(for: .seconds(2)) }
        await waiter.value
        clock.advance(by: .seconds(2))
        try await other.value
        try await sleeper.value
    }

    @Test func waitingForSleepersWhoAreThereIsNoWait() async {
        await clock.waitForSleepers(0)
    }
}
