import TestSupport
import Testing

@testable import DownloadPolicy

/// Moments as seconds.
private func s(_ seconds: Double) -> Duration { .seconds(seconds) }

@Suite(.takingTurns) struct PathTimingTests {
    private var timing = PathTiming(at: .zero)

    private static let wifi = PathFacts(.wifi)
    private static let cellular = PathFacts(.wwan)
    private static let offline = PathFacts(.offline)

    @Test mutating func anUnknownPathIsTakenForAnotherAfterHalfASecond() {
        #expect(timing.nextDeadline == .milliseconds(500))
        timing.advance(to: .milliseconds(499))
        #expect(timing.fetching == PathFacts(.unknown))
        timing.advance(to: .milliseconds(500))
        #expect(timing.fetching == .assumedWhenUnknown)
        #expect(timing.displaying == .assumedWhenUnknown)
        #expect(timing.nextDeadline == nil)
    }

    @Test(arguments: [wifi, cellular, offline])
    mutating func theFirstPathTakesEffectAtOnce(_ path: PathFacts) {
        timing.observe(path, at: s(0.1))
        #expect(timing.fetching == path)
        #expect(timing.displaying == path)
        #expect(timing.nextDeadline == nil)
    }

    @Test mutating func whatIsCostlierTakesEffectAtOnce() {
        timing.observe(Self.wifi, at: s(0.1))
        timing.observe(Self.cellular, at: s(10))
        #expect(timing.fetching == Self.cellular)
        #expect(timing.hold == nil)
    }

    @Test mutating func whatIsCheaperHasToHoldForThreeSeconds() {
        timing.observe(Self.cellular, at: s(0.1))
        timing.observe(Self.wifi, at: s(10))
        #expect(timing.fetching.isExpensive)
        #expect(timing.nextDeadline == s(13))
        timing.advance(to: s(12.999))
        #expect(timing.fetching.isExpensive)
        timing.advance(to: s(13))
        #expect(timing.fetching == Self.wifi)
        #expect(timing.hold == nil)
    }

    @Test mutating func anyChangeBeginsTheStabilityAnew() {
        timing.observe(Self.cellular, at: s(0.1))
        timing.observe(Self.wifi, at: s(10))
        timing.observe(PathFacts(.wired), at: s(12))
        timing.advance(to: s(14.9))
        #expect(timing.fetching.isExpensive)
        timing.advance(to: s(15))
        #expect(timing.fetching == PathFacts(.wired))
    }

    @Test mutating func sayingTheSameAgainIsNoChange() {
        timing.observe(Self.cellular, at: s(0.1))
        timing.observe(Self.wifi, at: s(10))
        timing.observe(Self.wifi, at: s(12))
        #expect(timing.nextDeadline == s(13))
    }

    @Test mutating func aRelapseIsImmediate() {
        timing.observe(Self.cellular, at: s(0.1))
        timing.observe(Self.wifi, at: s(10))
        timing.observe(Self.cellular, at: s(11))
        #expect(timing.fetching == Self.cellular)
        #expect(timing.hold == nil)
    }

    @Test mutating func offlineStopsFetchingAtOnceAndIsShownAfterTwoSeconds() {
        timing.observe(Self.wifi, at: s(0.1))
        timing.observe(Self.offline, at: s(10))
        #expect(timing.fetching == Self.offline)
        #expect(timing.displaying == Self.wifi)
        timing.advance(to: s(11.999))
        #expect(timing.displaying == Self.wifi)
        timing.advance(to: s(12))
        #expect(timing.displaying == Self.offline)
    }

    @Test mutating func aShortOutageIsNeverShown() {
        timing.observe(Self.wifi, at: s(0.1))
        timing.observe(Self.offline, at: s(10))
        timing.observe(Self.wifi, at: s(11.9))
        #expect(timing.fetching == Self.wifi)
        #expect(timing.displaying == Self.wifi)
        #expect(timing.nextDeadline == nil)
    }

    @Test mutating func offlineForAnotherReasonDoesNotBeginTheGraceAnew() {
        timing.observe(Self.wifi, at: s(0.1))
        timing.observe(Self.offline, at: s(10))
        timing.observe(PathFacts(.offline, metered: .no), at: s(11))
        timing.advance(to: s(12))
        #expect(timing.displaying.status == .offline)
    }

    @Test mutating func afterAnOutageFetchingGoesOnAtOnce() {
        timing.observe(Self.wifi, at: s(0.1))
        timing.observe(Self.offline, at: s(10))
        timing.observe(Self.wifi, at: s(100))
        #expect(timing.fetching == Self.wifi)
        #expect(timing.hold == nil)
    }

    @Test mutating func anOutageDoesNotMakeACheaperPathStable() {
        timing.observe(Self.cellular, at: s(0.1))
        timing.observe(Self.offline, at: s(10))
        timing.observe(Self.wifi, at: s(100))
        #expect(timing.fetching.isExpensive)
        #expect(timing.fetching.status.isOnline)
        timing.advance(to: s(103))
        #expect(timing.fetching == Self.wifi)
    }

    @Test mutating func constraintAndRoamingHaveToHoldAsWell() {
        timing.observe(PathFacts(.wifi, constrained: .yes, roaming: .yes), at: s(0.1))
        timing.observe(PathFacts(.wifi, constrained: .no, roaming: .yes), at: s(10))
        #expect(timing.fetching.constrained == .yes)
        timing.observe(PathFacts(.wifi, metered: .yes, constrained: .no, roaming: .no), at: s(11))
        #expect(timing.fetching == PathFacts(.wifi, metered: .yes, constrained: .yes, roaming: .yes))
        timing.advance(to: s(14))
        #expect(timing.fetching == PathFacts(.wifi, metered: .yes, constrained: .no, roaming: .no))
    }

    @Test mutating func twoFreePathsDoNotMakeAnExpensiveOne() {
        timing.observe(PathFacts(.wwan, metered: .no), at: s(0.1))
        timing.observe(Self.wifi, at: s(10))
        #expect(timing.fetching == Self.wifi)
        #expect(timing.hold == nil)
    }

    @Test mutating func flappingHoldsUpgradesLongerEachTime() {
        timing.observe(Self.wifi, at: s(0.1))
        var now = 100.0
        var holds: [Duration?] = []
        for _ in 0..<7 {
            timing.observe(Self.offline, at: s(now))
            timing.observe(Self.wifi, at: s(now + 1))
            holds.append(timing.hold.map { $0.until - s(now + 1) })
            now += 2
        }
        #expect(holds == [nil, s(10), s(40), s(60), s(60), s(60), s(60)])
        #expect(timing.hold?.isForFlapping == true)
    }

    @Test mutating func threeChangesIn30SecondsAreFlapping() {
        timing.observe(Self.cellular, at: s(0.1))
        timing.observe(Self.wifi, at: s(100))
        timing.observe(Self.cellular, at: s(110))
        timing.observe(Self.wifi, at: s(129.9))
        #expect(timing.hold == PathTiming.Hold(until: s(134.9), isForFlapping: true))
    }

    @Test mutating func threeChangesInMoreThan30SecondsAreNot() {
        timing.observe(Self.cellular, at: s(0.1))
        timing.observe(Self.wifi, at: s(100))
        timing.observe(Self.cellular, at: s(110))
        timing.observe(Self.wifi, at: s(130))
        #expect(timing.hold == PathTiming.Hold(until: s(133), isForFlapping: false))
    }

    @Test mutating func anotherNetworkWithTheSameFactsIsNoChange() {
        timing.observe(Self.cellular, at: s(0.1))
        timing.observe(Self.wifi, at: s(10))
        for name in ["a", "b", "c"] { timing.observe(PathFacts(.wifi, network: name), at: s(11)) }
        #expect(timing.hold == PathTiming.Hold(until: s(13), isForFlapping: false))
        #expect(timing.fetching.isExpensive)
        #expect(timing.fetching.network == "c")
        timing.advance(to: s(13))
        #expect(timing.fetching == PathFacts(.wifi, network: "c"))
    }

    @Test mutating func quietEndsTheFlapping() {
        timing.observe(Self.cellular, at: s(0.1))
        for step in 0..<8 { timing.observe(step % 2 == 0 ? Self.wifi : Self.cellular, at: s(100 + Double(step))) }
        timing.observe(Self.wifi, at: s(200))
        #expect(timing.hold == PathTiming.Hold(until: s(203), isForFlapping: false))
    }

    @Test mutating func aPathThatBecomesUnknownHoldsEverythingForHalfASecond() {
        timing.observe(PathFacts(.wifi, constrained: .yes), at: s(0.1))
        timing.observe(PathFacts(.unknown), at: s(10))
        #expect(timing.fetching == PathFacts(.unknown))
        timing.advance(to: s(10.5))
        // Nothing says that the constraint is gone.
        #expect(timing.fetching == PathFacts(.other, constrained: .yes))
        timing.observe(Self.wifi, at: s(11))
        #expect(timing.fetching.constrained == .yes)
        #expect(timing.hold?.until == s(14))
    }
}

@Suite(.takingTurns) struct AdmissionTests {
    @Test func growsWithSuccessesAfterAnOutage() {
        var admission = Admission()
        #expect(admission.limit == 6)
        admission.outageBegan()
        #expect(admission.limit == 0)
        admission.outageEnded()
        #expect(admission.isProbing)
        var limits = [admission.limit]
        for _ in 0..<9 {
            admission.transferSucceeded()
            limits.append(admission.limit)
        }
        #expect(limits == [1, 1, 2, 2, 4, 4, 4, 4, 6, 6])
        #expect(!admission.isProbing)
        admission.outageBegan()
        admission.transferSucceeded()
        admission.outageEnded()
        #expect(admission.limit == 1)
        #expect(admission.isProbing)
    }
}

@Suite(.takingTurns) struct ThroughputTests {
    @Test func isTheMedianByWeight() {
        var estimate = ThroughputEstimate()
        #expect(estimate.bytesPerSecond(on: nil) == nil)
        estimate.record(bytes: 1_000_000, in: .seconds(1), on: nil)
        estimate.record(bytes: 1_000_000, in: .seconds(2), on: nil)
        estimate.record(bytes: 1_000_000, in: .seconds(100), on: nil)
        #expect(estimate.bytesPerSecond(on: nil) == 500_000)
        // Two small ones do not outweigh a large one.
        var weighted = ThroughputEstimate()
        weighted.record(bytes: 10_000, in: .seconds(1), on: nil)
        weighted.record(bytes: 10_000, in: .seconds(1), on: nil)
        weighted.record(bytes: 1_000_000, in: .seconds(1), on: nil)
        #expect(weighted.bytesPerSecond(on: nil) == 1_000_000)
    }

    @Test func keepsNetworksApart() {
        var estimate = ThroughputEstimate()
        estimate.record(bytes: 100_000, in: .seconds(1), on: "wlan0")
        estimate.record(bytes: 200_000, in: .seconds(1), on: "wwan0")
        #expect(estimate.bytesPerSecond(on: "wlan0") == 100_000)
        #expect(estimate.bytesPerSecond(on: "wwan0") == 200_000)
        #expect(estimate.bytesPerSecond(on: nil) == nil)
    }

    @Test func slides() {
        var estimate = ThroughputEstimate()
        for _ in 0..<ThroughputEstimate.samplesKept { estimate.record(bytes: 100_000, in: .seconds(1), on: nil) }
        for _ in 0..<ThroughputEstimate.samplesKept { estimate.record(bytes: 100_000, in: .seconds(2), on: nil) }
        #expect(estimate.bytesPerSecond(on: nil) == 50_000)
    }

    @Test func leavesOutWhatTellsNothing() {
        var estimate = ThroughputEstimate()
        estimate.record(bytes: 100, in: .seconds(1), on: nil)
        estimate.record(bytes: -1, in: .seconds(1), on: nil)
        estimate.record(bytes: 100_000, in: .zero, on: nil)
        estimate.record(bytes: 100_000, in: .seconds(-1), on: nil)
        #expect(estimate.bytesPerSecond(on: nil) == nil)
        #expect(estimate.ignored == 4)
        estimate.record(bytes: .max, in: .nanoseconds(1), on: nil)
        #expect(estimate.bytesPerSecond(on: nil) == .max)
    }

    @Test func forgetsTheNetworkUsedLeastRecently() {
        var estimate = ThroughputEstimate()
        for index in 0..<ThroughputEstimate.networksKept {
            estimate.record(bytes: 100_000, in: .seconds(1), on: "\(index)")
        }
        estimate.record(bytes: 100_000, in: .seconds(1), on: "0")
        estimate.record(bytes: 100_000, in: .seconds(1), on: "new")
        #expect(estimate.bytesPerSecond(on: "0") != nil)
        #expect(estimate.bytesPerSecond(on: "1") == nil)
        #expect(estimate.networksDropped == 1)
    }
}

/// Draws the largest numbers there are.
struct Largest: RandomNumberGenerator {
    mutating func next() -> UInt64 { .max }
}

@Suite(.takingTurns) struct FailureMemoryTests {
    private var generator = Largest()

    @Test mutating func waitsTwiceAsLongEachTime() {
        var memory = FailureMemory()
        var waits: [Duration?] = []
        for _ in 0..<9 {
            memory.failed("a", at: .zero, using: &generator)
            waits.append(memory.notBefore("a", at: .zero).map { .milliseconds(Int(($0 / .milliseconds(1)).rounded())) })
        }
        #expect(waits == [0.5, 1, 2, 4, 8, 16, 30, 30, 30].map { .milliseconds(Int($0 * 1000)) })
        #expect(memory.notBefore("b", at: .zero) == nil)
        memory.succeeded("a")
        #expect(memory.notBefore("a", at: .zero) == nil)
    }

    @Test mutating func waitsAsLongAsTheServerAsks() {
        var memory = FailureMemory()
        memory.failed("a", at: .seconds(10), retryAfter: .seconds(60), using: &generator)
        #expect(memory.notBefore("a", at: .seconds(10)) == .seconds(70))
        memory.failed("b", at: .seconds(10), retryAfter: .seconds(600), using: &generator)
        #expect(memory.notBefore("b", at: .seconds(10)) == .seconds(130))
        #expect(memory.notBefore("b", at: .seconds(130)) == nil)
    }

    @Test mutating func isBounded() {
        var memory = FailureMemory()
        for index in 0..<FailureMemory.resourcesKept + 3 {
            memory.leaveAlone(ResourceID("\(index)"), until: .seconds(index), at: .zero)
        }
        #expect(memory.notBefore("2", at: .zero) == nil)
        #expect(memory.notBefore("3", at: .zero) != nil)
        // The first one was no longer to be left alone, so nothing was lost by it.
        #expect(memory.dropped == 2)
    }
}
