import Netlink
import Reachability
import ReachabilityTestKit
import TestSupport
import Testing

@Suite("Paths to single destinations", .takingTurns, .timeLimit(.minutes(10)))
struct DestinationTests {
    private let kernel = SimulatedKernel()
    private let printer = IPAddress(10, 9, 0, 7)

    init() throws {
        try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1")
    }

    // MARK: Watches

    @Test func anAddressIsWatchedUntilTheLastListenerLeaves() throws {
        let feed = CountingFeed(feed: kernel)
        let monitor = ReachabilityMonitor(configuration: ReachabilityMonitor.Configuration(), feed: feed)
        try monitor.start()
        let probes = feed.count.watched
        do {
            let one = monitor.paths(to: printer).makeAsyncIterator()
            do {
                let other = monitor.paths(to: printer).makeAsyncIterator()
                #expect(feed.count.watched == probes + [printer])
                withExtendedLifetime(other) {}
            }
            #expect(feed.count.watched == probes + [printer])
            withExtendedLifetime(one) {}
        }
        #expect(feed.count.watched == probes)
        monitor.stop()
    }

    // MARK: Links that come up before they are heard of

    /// The default routes stay while the cable is out, so the routing tables answer the same throughout; only the link is news.
    private func unplugged() throws -> ReachabilityMonitor {
        try kernel.connect("eth0", address: "10.2.0.2/24", gateway: "10.2.0.1")
        try kernel.removeLink("wlan0")
        try kernel.setCarrier("eth0", false)
        let monitor = kernel.makeMonitor()
        try monitor.start()
        #expect(monitor.currentPath.reason == .noCarrier)
        return monitor
    }

    @Test func aQuestionAboutAnAddressIsAheadOfTheMessages() async throws {
        var watcher = try Watcher(unplugged())
        try kernel.together {
            try kernel.setCarrier("eth0", true)
            #expect(try watcher.monitor.path(to: printer).status == .wired)
        }
        // The message says nothing new by now, and the path to everywhere follows all the same.
        try await watcher.expect(.wired)
    }

    @Test func anExplanationIsAheadOfTheMessages() throws {
        let monitor = try unplugged()
        try kernel.together {
            try kernel.setCarrier("eth0", true)
            #expect(try monitor.explanation(of: nil).path.status == .wired)
        }
        monitor.stop()
    }

    @Test func theReachOfAnInterfaceIsAheadOfTheMessages() throws {
        let index = try kernel.addLink("eth1", up: true)
        try kernel.addAddress("10.3.0.2/24", to: "eth1")
        try kernel.addRoute(SimulatedKernel.Route("default", via: "10.3.0.1", over: "eth1", metric: 700))
        try kernel.setCarrier("eth1", false)
        let monitor = kernel.makeMonitor()
        try monitor.start()
        try kernel.together {
            try kernel.setCarrier("eth1", true)
            #expect(try monitor.reach(over: index).families == [.ipv4])
        }
        monitor.stop()
    }
}
