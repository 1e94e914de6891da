import Reachability
import ReachabilityTestKit
import TestSupport
import Testing

/// Links over which nothing gets out, whatever the routes say.
@Suite("No way out", .takingTurns, .timeLimit(.minutes(10)))
struct NoWayOutTests {
    private let kernel = SimulatedKernel()

    @Test func aDefaultRouteOverAnAccessPointLeadsNowhere() async throws {
        try kernel.addLink("wlan0", .accessPoint, up: true)
        try kernel.addAddress("10.9.0.1/24", to: "wlan0")
        try kernel.addRoute(SimulatedKernel.Route("default", via: "10.9.0.2"))
        var watcher = try Watcher(kernel.makeMonitor())
        try await watcher.expect(.offline, .noInterface)
        // The reason is that of whatever could lead out.
        try kernel.addLink("eth0", up: true)
        try kernel.setCarrier("eth0", false)
        try await watcher.expect(.offline, .noCarrier)
        #expect(!watcher.statuses.contains { $0 != .offline })
    }

    @Test func aDefaultRouteOverADummyLeadsNowhere() async throws {
        try kernel.addLink("dummy0", .dummy, up: true)
        try kernel.addAddress("10.9.0.1/24", to: "dummy0")
        try kernel.addRoute(SimulatedKernel.Route("default", via: "10.9.0.2"))
        var watcher = try Watcher(kernel.makeMonitor())
        try await watcher.expect(.offline, .noInterface)
    }

    @Test func aRouterIsAsWiredAsItsCableWhateverItsAccessPointDoes() async throws {
        try kernel.addLink("br0", .bridge, up: true)
        for (name, kind) in [("eth0", SimulatedKernel.LinkKind.ethernet), ("wlan0", .accessPoint)] {
            try kernel.addLink(name, kind, up: true)
            try kernel.setMaster(name, "br0")
        }
        try kernel.addAddress("10.1.0.2/24", to: "br0")
        try kernel.addRoute(SimulatedKernel.Route("default", via: "10.1.0.1"))
        var watcher = try Watcher(kernel.makeMonitor())
        let path = try await watcher.expect(.wired, over: "br0")
        #expect(path.via?.name == "eth0")
    }

    @Test func aBridgeThatTapsKeepRunningIsNoWayOutWithoutItsCable() async throws {
        try kernel.addLink("br0", .bridge, up: true)
        for (name, kind) in [("eth0", SimulatedKernel.LinkKind.ethernet), ("tap0", .tun), ("vethab12", .veth)] {
            try kernel.addLink(name, kind, up: true)
            try kernel.setMaster(name, "br0")
        }
        try kernel.addAddress("10.1.0.2/24", to: "br0")
        try kernel.addRoute(SimulatedKernel.Route("default", via: "10.1.0.1"))
        var watcher = try Watcher(kernel.makeMonitor())
        try await watcher.expect(.wired, over: "br0")
        try kernel.setCarrier("eth0", false)
        try await watcher.expect(.offline, .noCarrier)
        try kernel.setCarrier("eth0", true)
        try await watcher.expect(.wired, over: "br0")
        #expect(watcher.statuses == [.wired, .offline, .wired])
    }
}
