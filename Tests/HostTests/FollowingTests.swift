import Reachability
import ReachabilityTestKit
import TestSupport
import Testing

@Suite(.takingTurns, .timeLimit(.minutes(10))) struct FollowingTests {
    @Test func saysWhyTheKernelCannotBeAskedAndTriesAgain() async throws {
        let kernel = SimulatedKernel()
        kernel.fail(.openSocket, with: 1)
        let monitor = kernel.makeMonitor()
        let clock = ManualClock()
        let (reports, report) = AsyncStream<Result<NetworkPath, NetlinkError>>.makeStream()
        let task = Task { await monitor.follow(monitor, retryingAfter: .seconds(2), on: clock) { report.yield($0) } }
        var iterator = reports.makeAsyncIterator()
        #expect(await iterator.next() == .failure(NetlinkError(.openSocket, errno: 1)))
        await clock.waitForSleepers(1)
        kernel.recover(.openSocket)
        clock.advance(by: .seconds(2))
        #expect(try await iterator.next()?.get().status == .offline)
        try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1")
        while let report = await iterator.next(), try report.get().status != .wifi {}
        task.cancel()
        await task.value
        while kernel.openConversations > 0 { await Task.yield() }
    }

    @Test func endsWhenTheMonitorIsStopped() async throws {
        let kernel = SimulatedKernel()
        let monitor = kernel.makeMonitor()
        let (reports, report) = AsyncStream<Result<NetworkPath, NetlinkError>>.makeStream()
        let task = Task { await monitor.follow(monitor) { report.yield($0) } }
        var iterator = reports.makeAsyncIterator()
        _ = await iterator.next()
        monitor.stop()
        await task.value
    }

    @Test func knowsThePresentPathWithoutBeingStarted() throws {
        let kernel = SimulatedKernel()
        try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1")
        let monitor = kernel.makeMonitor()
        #expect(try monitor.presentPath().status == .wifi)
        #expect(kernel.openConversations == 0)
    }

    @Test func tellsWhatThereIsToBeHadOverAnInterfaceThatCarriesNothing() throws {
        let kernel = SimulatedKernel()
        try kernel.connect("eth0", address: "10.1.0.2/24", gateway: "10.1.0.1", metric: 100)
        try kernel.connect("wlan0", address: "10.2.0.2/24", gateway: "10.2.0.1", metric: 600)
        try kernel.connect("wlan0", address: "2001:db8::2/64", gateway: "2001:db8::1", metric: 600)
        let monitor = kernel.makeMonitor()
        let path = try monitor.presentPath()
        let spare = try #require(path.interfaces.first { $0.name == "wlan0" })
        let reach = try monitor.reach(over: spare.index)
        #expect(reach.families == [.ipv4, .ipv6])
        #expect(Set(reach.gateways.map(\.description)) == ["10.2.0.1", "2001:db8::1"])
        let first = try #require(path.interfaces.first { $0.name == "eth0" })
        #expect(try monitor.reach(over: first.index).families == [.ipv4])
        #expect(try monitor.reach(over: 4711).families == [])
    }
}
