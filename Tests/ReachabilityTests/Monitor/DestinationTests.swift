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
}
