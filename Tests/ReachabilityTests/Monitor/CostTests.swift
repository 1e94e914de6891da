import Reachability
import ReachabilityTestKit
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
