import Glibc
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

    // MARK: Answers

    @Test func theRouteToAnAddressNeedNotBeTheOneToEverywhere() throws {
        try kernel.connect("eth0", address: "10.9.0.2/24", metric: 700)
        let monitor = kernel.makeMonitor()
        let path = try monitor.path(to: printer)
        #expect(path.status == .wired)
        #expect(path.interface?.name == "eth0")
        #expect(path.gateways.isEmpty)
        #expect(try monitor.path(to: IPAddress(192, 0, 2, 1)).status == .wifi)
        #expect(kernel.openConversations == 0)
    }

    @Test func anAddressOfThisMachineIsReachedOverLoopback() throws {
        let path = try kernel.makeMonitor().path(to: IPAddress(10, 1, 0, 2))
        #expect(path.status == .other)
        #expect(path.interface?.name == "lo")
    }

    @Test func aQuestionThatCannotBeAskedIsAnError() throws {
        kernel.fail(.lookUpRoute, with: ENOBUFS)
        let monitor = kernel.makeMonitor()
        #expect(throws: NetlinkError.self) { try monitor.path(to: printer) }
        #expect(throws: NetlinkError.self) { try monitor.explanation() }
        #expect(kernel.openConversations == 0)
    }

    @Test func thePathsToAnAddressFollowItsOwnRoutes() async throws {
        let monitor = kernel.makeMonitor()
        var paths = monitor.paths(to: printer).makeAsyncIterator()
        #expect(await paths.next()?.status == .wifi)
        try kernel.addRoute(SimulatedKernel.Route("10.9.0.0/24", kind: .unreachable))
        #expect(await paths.next()?.reason == .unreachableRoute)
        #expect(monitor.currentPath.status == .wifi)
        try kernel.removeRoute(SimulatedKernel.Route("10.9.0.0/24", kind: .unreachable))
        #expect(await paths.next()?.status == .wifi)
        monitor.stop()
        #expect(await paths.next() == nil)
    }

    @Test func anExplanationTellsWhatThePathRestsOn() throws {
        kernel.nameservers = [IPAddress(10, 1, 0, 53)]
        let monitor = kernel.makeMonitor()
        let explanation = try monitor.explanation(of: printer)
        #expect(explanation.path == (try monitor.path(to: printer)))
        let findings = Dictionary(explanation.steps.map { ($0.subject, $0.finding) }, uniquingKeysWith: { $0 + $1 })
        #expect(findings["route to 10.9.0.7"]?.contains("10.1.0.1") == true)
        #expect(findings["link wlan0"]?.contains("10.1.0.2") == true)
        #expect(findings["name servers"] == "10.1.0.53")
        #expect(explanation.description.hasSuffix("→ \(explanation.path)"))
        #expect(try monitor.explanation().steps.contains { $0.subject == "route to 8.8.8.8" })
        #expect(kernel.openConversations == 0)
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
