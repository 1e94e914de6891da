import Netlink
import Reachability
import ReachabilityTestKit
import Synchronization
import TestSupport
import Testing

/// What an event costs, counted in questions to the kernel, not in time.
@Suite("What an event costs", .takingTurns, .timeLimit(.minutes(10)))
struct CostTests {
    /// The most that an evaluation takes with one link: four probes, and of each the way, the entry, and the entry over that link.
    private static let evaluation = 12

    @Test func anEventCostsTheSameHoweverManyLinksThereAre() async throws {
        var costs: Set<Int> = []
        for others in [0, 10, 400] {
            let kernel = SimulatedKernel()
            try kernel.connect("eth0", address: "10.1.0.2/24", gateway: "10.1.0.1")
            try kernel.addLink("docker0", .bridge, up: true)
            for number in 0..<others {
                try kernel.addLink("veth\(number)", .veth, up: true)
                try kernel.setMaster("veth\(number)", "docker0")
            }
            let counter = CountingFeed(feed: kernel)
            let monitor = ReachabilityMonitor(configuration: ReachabilityMonitor.Configuration(), feed: counter)
            var watcher = try Watcher(monitor)
            try await watcher.expect(.wired)
            let before = counter.count
            try kernel.removeRoute(SimulatedKernel.Route("default"))
            try await watcher.expect(.offline)
            costs.insert(counter.count.questions - before.questions)
            #expect(counter.count.dumps == before.dumps)
        }
        #expect(costs.count == 1)
        #expect(costs.allSatisfy { (1...Self.evaluation).contains($0) })
    }

    @Test func whatCannotChangeAnAnswerIsNotAskedAbout() async throws {
        let kernel = SimulatedKernel()
        try kernel.connect("eth0", address: "10.1.0.2/24", gateway: "10.1.0.1")
        let counter = CountingFeed(feed: kernel)
        let monitor = ReachabilityMonitor(configuration: ReachabilityMonitor.Configuration(), feed: counter)
        var watcher = try Watcher(monitor)
        try await watcher.expect(.wired)
        let before = counter.count
        try kernel.together {
            for _ in 0..<50 {
                try kernel.announceLink("eth0")
                try kernel.refreshAddress("10.1.0.2", of: "eth0")
                kernel.sendPartialMessage()
                kernel.forgeMessage()
            }
        }
        try kernel.removeRoute(SimulatedKernel.Route("default"))
        try await watcher.expect(.offline)
        #expect(counter.count.questions - before.questions <= Self.evaluation)
        #expect(counter.count.dumps == before.dumps)
    }

    @Test func aBurstIsAskedAboutOnce() async throws {
        let kernel = SimulatedKernel()
        try kernel.connect("eth0", address: "10.1.0.2/24", gateway: "10.1.0.1")
        let counter = CountingFeed(feed: kernel)
        let monitor = ReachabilityMonitor(configuration: ReachabilityMonitor.Configuration(), feed: counter)
        var watcher = try Watcher(monitor)
        try await watcher.expect(.wired)
        let before = counter.count
        try kernel.together {
            for _ in 0..<500 {
                try kernel.removeRoute(SimulatedKernel.Route("default"))
                try kernel.addRoute(SimulatedKernel.Route("default", via: "10.1.0.1"))
            }
            try kernel.removeRoute(SimulatedKernel.Route("default"))
        }
        try await watcher.expect(.offline)
        #expect(counter.count.questions - before.questions <= Self.evaluation)
        #expect(watcher.seen.count == 2)
    }
}

/// A feed that counts what it is asked.
private final class CountingFeed: NetlinkFeed {
    struct Count: Sendable {
        var questions = 0
        var dumps = 0
    }

    private let feed: SimulatedKernel
    private let total = Mutex(Count())

    init(feed: SimulatedKernel) { self.feed = feed }

    var count: Count { total.withLock { $0 } }

    func add(_ change: (inout Count) -> Void) { total.withLock { change(&$0) } }

    func open(watching destinations: [IPAddress]) throws(NetlinkError) -> sending any NetlinkConversation {
        CountingConversation(try feed.open(watching: destinations), self)
    }
}

private final class CountingConversation: NetlinkConversation {
    private let conversation: any NetlinkConversation
    private let feed: CountingFeed

    init(_ conversation: sending any NetlinkConversation, _ feed: CountingFeed) {
        self.conversation = conversation
        self.feed = feed
    }

    var doorbells: [CInt] { conversation.doorbells }
    var deafness: NetlinkError? { conversation.deafness }

    func watch(_ destinations: [IPAddress]) throws(NetlinkError) { try conversation.watch(destinations) }

    func drain(_ doorbell: CInt, into events: inout [NetlinkEvent]) throws(NetlinkError) -> Bool {
        try conversation.drain(doorbell, into: &events)
    }

    func link(_ index: Int32) throws(NetlinkError) -> LinkMessage? { try conversation.link(index) }

    func links() throws(NetlinkError) -> Dump<LinkMessage> {
        feed.add { $0.dumps += 1 }
        return try conversation.links()
    }

    func addresses() throws(NetlinkError) -> Dump<AddressMessage> {
        feed.add { $0.dumps += 1 }
        return try conversation.addresses()
    }

    func lookUp(_ queries: [RouteQuery]) throws(NetlinkError) -> [RouteAnswer] {
        feed.add { $0.questions += queries.count }
        return try conversation.lookUp(queries)
    }

    func device(of link: LinkMessage) -> DeviceFacts { conversation.device(of: link) }
    func nameservers() -> [IPAddress] { conversation.nameservers() }
}
