import ReachabilityTestKit
import TestSupport
import Testing

@testable import Reachability

@Suite("Paths that have lasted", .takingTurns, .timeLimit(.minutes(10)))
struct SettlingTests {
    private let kernel = SimulatedKernel()
    private let clock = ManualClock()
    private let online = SimulatedKernel.Route("default", via: "10.1.0.1")

    init() throws {
        try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1")
    }

    private func settled(_ monitor: ReachabilityMonitor) -> SettledPaths {
        monitor.paths(settling: .seconds(1), clock: clock)
    }

    @Test func aChangeIsReportedOnceItHasLasted() async throws {
        let monitor = kernel.makeMonitor()
        var paths = settled(monitor).makeAsyncIterator()
        #expect(await paths.next()?.status == .wifi)
        try kernel.removeRoute(online)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(1))
        #expect(await paths.next()?.status == .offline)
        monitor.stop()
    }

    @Test func aCostlierNetworkIsReportedAtOnceAndNothingOfTheGapBefore() async throws {
        let monitor = kernel.makeMonitor()
        var paths = settled(monitor).makeAsyncIterator()
        #expect(await paths.next()?.status == .wifi)
        try kernel.disconnect("wlan0")
        await clock.waitForSleepers(1)
        try kernel.connect("wwan0", address: "10.2.0.2/24", gateway: "10.2.0.1")
        #expect(await paths.next()?.status == .wwan)
        // The gap's time has come now, and it is over.
        clock.advance(by: .seconds(1))
        try kernel.disconnect("wwan0")
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(1))
        #expect(await paths.next()?.status == .offline)
        monitor.stop()
    }

    @Test func eachIterationGetsEverything() async throws {
        let monitor = kernel.makeMonitor()
        let settled = settled(monitor)
        var one = settled.makeAsyncIterator()
        var other = settled.makeAsyncIterator()
        #expect(await one.next()?.status == .wifi)
        #expect(await other.next()?.status == .wifi)
        try kernel.removeRoute(online)
        await clock.waitForSleepers(2)
        clock.advance(by: .seconds(1))
        #expect(await one.next()?.status == .offline)
        #expect(await other.next()?.status == .offline)
        monitor.stop()
    }

    @Test func itStartsWithTheIterationAndEndsWithIt() {
        let monitor = kernel.makeMonitor()
        let settled = settled(monitor)
        #expect(kernel.openConversations == 0)
        do {
            let paths = settled.makeAsyncIterator()
            #expect(kernel.openConversations == 1)
            withExtendedLifetime(paths) {}
        }
        #expect(kernel.openConversations == 0)
    }

    @Test func nothingArrivesAfterStop() async throws {
        let monitor = kernel.makeMonitor()
        var paths = settled(monitor).makeAsyncIterator()
        #expect(await paths.next()?.status == .wifi)
        try kernel.removeRoute(online)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(1))
        // Back, but not as before: when this one waits for its time, the path before it has been passed on, if ever.
        try kernel.connect("eth0", address: "10.3.0.2/24", gateway: "10.3.0.1")
        await clock.waitForSleepers(1)
        monitor.stop()
        #expect(await paths.next() == nil)
        #expect(await paths.next() == nil)
    }

    // MARK: What is decided, without a clock

    /// What happens at a moment, in seconds: a path comes in, or the alarm rings.
    enum Input: Sendable {
        case path(NetworkPath)
        case alarm
    }

    struct Line: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let inputs: [(at: Int, Input)]
        /// What is shown, in order, each with its moment.
        let shown: [(at: Int, NetworkPath)]
        /// Alarms that are set, as moments.
        let alarms: [Int]
    }

    private static let wifi = NetworkPath(status: .wifi)
    private static let wired = NetworkPath(status: .wired)
    private static let wwan = NetworkPath(status: .wwan, isExpensive: true)
    private static let tethered = NetworkPath(status: .wifi, isExpensive: true)
    private static let noRoute = NetworkPath(status: .offline, reason: .noRoute)
    private static let noCarrier = NetworkPath(status: .offline, reason: .noCarrier)

    /// With a settling time of 10 seconds.
    static let lines: [Line] = [
        Line(
            testDescription: "the first path at once", inputs: [(0, .path(noRoute))], shown: [(0, noRoute)], alarms: []),
        Line(
            testDescription: "offline has to last", inputs: [(0, .path(wifi)), (1, .path(noRoute)), (11, .alarm)],
            shown: [(0, wifi), (11, noRoute)], alarms: [11]),
        Line(
            testDescription: "back in time is no change",
            inputs: [(0, .path(wifi)), (1, .path(noCarrier)), (2, .path(wifi)), (11, .alarm)],
            shown: [(0, wifi)], alarms: [11]),
        Line(
            testDescription: "a costlier network at once",
            inputs: [(0, .path(wifi)), (1, .path(wwan))], shown: [(0, wifi), (1, wwan)], alarms: []),
        Line(
            testDescription: "expensive is costlier, whatever the status",
            inputs: [(0, .path(wifi)), (1, .path(tethered))], shown: [(0, wifi), (1, tethered)], alarms: []),
        Line(
            testDescription: "a cheaper network has to last",
            inputs: [(0, .path(wwan)), (1, .path(wired)), (11, .alarm)], shown: [(0, wwan), (11, wired)], alarms: [11]),
        Line(
            testDescription: "from offline to a costly network has to last",
            inputs: [(0, .path(noRoute)), (1, .path(wwan)), (11, .alarm)],
            shown: [(0, noRoute), (11, wwan)], alarms: [11]),
        Line(
            testDescription: "another reason starts nothing anew, and the last one is shown",
            inputs: [(0, .path(wifi)), (1, .path(noRoute)), (9, .path(noCarrier)), (11, .alarm)],
            shown: [(0, wifi), (11, noCarrier)], alarms: [11]),
        Line(
            testDescription: "another status starts anew, with one alarm at a time",
            inputs: [(0, .path(wifi)), (1, .path(noRoute)), (9, .path(wired)), (11, .alarm), (19, .alarm)],
            shown: [(0, wifi), (19, wired)], alarms: [11, 19]),
        Line(
            testDescription: "a costlier network ends what was waiting",
            inputs: [(0, .path(wifi)), (1, .path(noRoute)), (2, .path(wwan)), (11, .alarm)],
            shown: [(0, wifi), (2, wwan)], alarms: [11]),
    ]

    @Test(arguments: lines) func whatIsShownAndWhen(_ line: Line) {
        var settler = Settler<ManualClock.Instant>(duration: .seconds(10))
        var shown: [(at: Int, NetworkPath)] = []
        var alarms: [Int] = []
        for (moment, input) in line.inputs {
            let now = ManualClock.Instant(offset: .seconds(moment))
            let action =
                switch input {
                case .path(let path): settler.take(path, at: now)
                case .alarm: settler.alarm(at: now)
                }
            if let path = action.show { shown.append((moment, path)) }
            if let deadline = action.sleepUntil { alarms.append(Int(deadline.offset.components.seconds)) }
        }
        #expect(shown.elementsEqual(line.shown, by: ==))
        #expect(alarms == line.alarms)
    }
}
