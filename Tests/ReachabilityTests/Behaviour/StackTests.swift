import Reachability
import TestSupport
import Testing

@Suite("What is stacked on what, on both kernels", .takingTurns, .timeLimit(.minutes(10)))
struct StackTests {
    @Test(arguments: Bench.all) func aBridgeThatTakesTheUplinkOver(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("wlan0", 1)
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wifi, over: "wlan0")
        try bench.ip([
            "link add br0 type bridge", "link set br0 up", "link set wlan0 master br0",
            "addr del 10.1.0.2/24 dev wlan0", "addr add 10.1.0.2/24 dev br0", "route add default via 10.1.0.1 dev br0",
        ])
        let path = try await watcher.expect(.wifi, over: "br0")
        #expect(path.via?.name == "wlan0")
        #expect(path.interface?.type == .wifi)
        // A container's port is no medium.
        try bench.nic("veth7")
        try await watcher.expectNothing { try bench.ip("link set veth7 master br0") }
        try bench.carrier("wlan0", false)
        try await watcher.expect("no wlan0 any more", where: { $0.via?.name != "wlan0" })
        try bench.carrier("wlan0", true)
        try await watcher.expect(.wifi, over: "br0")
    }

    @Test(arguments: Bench.all) func aPortThatLeavesItsBridgeLivesOn(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.ip(["link add br0 type bridge", "link set br0 up"])
        try bench.nic("eth0")
        try bench.ip("link set eth0 master br0")
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect("no way out", where: { $0.status == .offline })
        try bench.ip([
            "link set eth0 nomaster", "addr add 10.1.0.2/24 dev eth0", "route add default via 10.1.0.1 dev eth0",
        ])
        let path = try await watcher.expect(.wired, over: "eth0")
        #expect(path.interfaces.map(\.name) == ["eth0"])
        #expect(watcher.monitor.statistics.irrelevantMessages > 0)
    }

    @Test(arguments: Bench.all) func aMacvlanIsWhatItsParentIs(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.nic("wlan0")
        try bench.ip([
            "link add link wlan0 name mv0 type macvlan", "link set mv0 up", "addr add 10.1.0.2/24 dev mv0",
            "route add default via 10.1.0.1 dev mv0",
        ])
        var watcher = try Watcher(bench.makeMonitor())
        let path = try await watcher.expect(.wifi, over: "mv0")
        #expect(path.via?.name == "wlan0")
        try bench.carrier("wlan0", false)
        try await watcher.expect(.offline, .noCarrier)
        try bench.carrier("wlan0", true)
        try await watcher.expect(.wifi, over: "mv0")
    }

    @Test(arguments: Bench.all) func aTunnelIsOnlyAsGoodAsWhatIsBeneath(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("wwan0", 1, metric: 100)
        try bench.tun("tun0")
        try bench.ip(["link set tun0 up", "addr add 10.8.0.2/24 dev tun0", "route add default dev tun0"])
        var watcher = try Watcher(bench.makeMonitor())
        let path = try await watcher.expect(.wwan, over: "tun0")
        #expect(path.via?.name == "wwan0")
        #expect(path.isExpensive)
        #expect(path.interfaces.map(\.name) == ["tun0", "wwan0"])
        try bench.uplink("wlan0", 2, metric: 50)
        try await watcher.expect(.wifi, over: "tun0")
        try bench.ip(["link del wlan0"])
        try await watcher.expect(.wwan, over: "tun0")
        try bench.ip("link set wwan0 down")
        try await watcher.expect(.offline, .linkDown)
    }

    @Test(arguments: Bench.all) func aTunnelAloneInItsNamespaceIsOther(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.tun("tun0")
        try bench.ip(["link set tun0 up", "addr add 10.8.0.2/24 dev tun0", "route add default dev tun0"])
        var watcher = try Watcher(bench.makeMonitor())
        let path = try await watcher.expect(.other, over: "tun0")
        #expect(path.via?.name == "tun0")
    }
}
