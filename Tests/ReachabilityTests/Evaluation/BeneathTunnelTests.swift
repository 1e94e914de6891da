import Reachability
import ReachabilityTestKit
import TestSupport
import Testing

/// What carries a tunnel's packets, and why nothing does.
@Suite("Beneath a tunnel", .takingTurns, .timeLimit(.minutes(10)))
struct BeneathTunnelTests {
    private let kernel = SimulatedKernel()

    /// A tunnel with the default route, over whatever there is.
    private func addTunnel() throws {
        try kernel.addLink("wg0", .wireguard, up: true)
        try kernel.addAddress("10.66.0.2/32", to: "wg0")
        try kernel.addRoute(SimulatedKernel.Route("default", over: "wg0", metric: 1))
    }

    @Test func aBridgeOfContainersCarriesNoTunnelInPlaceOfAPulledCable() async throws {
        try kernel.connect("eth0", address: "10.1.0.2/24", gateway: "10.1.0.1", metric: 100)
        try kernel.addLink("docker0", .bridge, up: true)
        try kernel.addAddress("172.17.0.1/16", to: "docker0")
        try kernel.addLink("vethab12", .veth, up: true)
        try kernel.setMaster("vethab12", "docker0")
        try addTunnel()
        var watcher = try Watcher(kernel.makeMonitor())
        let path = try await watcher.expect(.wired, over: "wg0")
        #expect(path.via?.name == "eth0")
        try kernel.setCarrier("eth0", false)
        try await watcher.expect(.offline, .noCarrier)
        #expect(watcher.statuses == [.wired, .offline])
    }

    @Test func theReasonIsThatOfTheLinkWithAnAddress() async throws {
        try kernel.connect("eth0", address: "10.1.0.2/24", gateway: "10.1.0.1", metric: 100)
        try kernel.addLink("eth1", up: true)
        try addTunnel()
        try kernel.setCarrier("eth0", false)
        var watcher = try Watcher(kernel.makeMonitor())
        try await watcher.expect(.offline, .noCarrier)
    }

    @Test func whereNothingElseIsKnownAnythingMayCarryIt() async throws {
        try kernel.addLink("up1", .veth, up: true)
        try kernel.addAddress("10.1.0.2/24", to: "up1")
        try addTunnel()
        var watcher = try Watcher(kernel.makeMonitor())
        let path = try await watcher.expect(.other, over: "wg0")
        #expect(path.via?.name == "up1")
    }

    @Test func aTunnelCostsWhatCarriesIt() async throws {
        try kernel.addLink("wwan0", .wwan, up: true)
        try kernel.addAddress("10.64.0.2/32", to: "wwan0")
        try kernel.addRoute(SimulatedKernel.Route("default", over: "wwan0", metric: 700))
        try addTunnel()
        var watcher = try Watcher(kernel.makeMonitor())
        let path = try await watcher.expect(.wwan, over: "wg0")
        #expect(path.interface?.isExpensive == true)
        #expect(path.interface?.type == .other)
    }
}
