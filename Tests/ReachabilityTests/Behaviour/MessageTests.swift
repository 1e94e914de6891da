import Reachability
import TestSupport
import Testing

@Suite("What can happen to messages, on both kernels", .takingTurns, .timeLimit(.minutes(10)))
struct MessageTests {
    @Test(arguments: Bench.all) func anOverrunIsMadeGoodByASnapshot(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1)
        try bench.uplink("wlan0", 2, metric: 100)
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wired)
        let gate = Gate()
        let blocked = Task(executorPreference: watcher.monitor.readerExecutor) { gate.block() }
        await gate.waitForVisitor()
        let flip = ["addr add 10.9.0.2/24 dev eth0", "addr del 10.9.0.2/24 dev eth0"]
        try bench.batch((0..<2000).flatMap { _ in flip })
        try bench.ip("link del eth0")
        gate.open()
        await blocked.value
        let path = try await watcher.expect(.wifi, over: "wlan0")
        #expect(path.interfaces.map(\.name) == ["wlan0"])
        // The routing tables tell of the change before all that was queued has been read.
        _ = try await watcher.monitor.refresh()
        #expect(watcher.monitor.statistics.overruns == 1)
        // The stream goes on.
        try bench.ip("route del default")
        try await watcher.expect(.offline, .noRoute)
    }

    @Test(arguments: Bench.all) func forgedMessagesAreDroppedAndCounted(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1)
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wired)
        try await watcher.expectNothing { try bench.forge(deletionOf: "eth0") }
        #expect(watcher.monitor.statistics.forgedMessages == 1)
        try bench.ip("route del default")
        try await watcher.expect(.offline, .noRoute)
    }
}
