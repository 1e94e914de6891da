import Reachability
import ReachabilityTestKit
import TestSupport
import Testing

/// PPP over Ethernet.
@Suite("PPPoE", .takingTurns, .timeLimit(.minutes(10)))
struct PPPoETests {
    private let kernel = SimulatedKernel()

    private func dial(over name: String) throws {
        try kernel.addLink("ppp0", .pppoe(over: name), up: true)
        try kernel.addAddress("100.64.0.2/32", to: "ppp0")
        try kernel.addRoute(SimulatedKernel.Route("default", over: "ppp0"))
    }

    @Test func aBroadbandLineIsOfflineTheMomentItsCableIsPulled() async throws {
        try kernel.addLink("eth0", up: true)
        try dial(over: "eth0")
        var watcher = try Watcher(kernel.makeMonitor())
        let path = try await watcher.expect(.wired, over: "ppp0")
        #expect(path.via?.name == "eth0")
        #expect(!path.isExpensive)
        // ppp0 itself stays up until its echoes fail.
        try kernel.setCarrier("eth0", false)
        try await watcher.expect(.offline, .noCarrier)
        try kernel.setCarrier("eth0", true)
        try await watcher.expect(.wired)
        #expect(watcher.statuses == [.wired, .offline, .wired])
    }

    @Test func aSessionOverALinkOfWhichNothingIsKnownIsABroadbandLineAllTheSame() async throws {
        try kernel.addLink("dsl", .veth, up: true)
        try dial(over: "dsl")
        var watcher = try Watcher(kernel.makeMonitor())
        let path = try await watcher.expect(.wired, over: "ppp0")
        #expect(path.interface?.evidence == .pppoe(over: "dsl"))
        #expect(path.via?.name == "dsl")
    }

    @Test func aSessionOverWiFiIsWiFi() async throws {
        try kernel.addLink("wlan0", .wifi, up: true)
        try dial(over: "wlan0")
        var watcher = try Watcher(kernel.makeMonitor())
        let path = try await watcher.expect(.wifi, over: "ppp0")
        #expect(path.interface?.evidence == .beneath("wlan0", .nl80211(mode: "station")))
    }
}
