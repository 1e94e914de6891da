import NamespaceTools
import Reachability
import TestSupport
import Testing

@Suite("Links, on both kernels", .takingTurns, .timeLimit(.minutes(10)))
struct LinkTests {
    @Test(arguments: Bench.all) func aMachineWithNothingButLoopbackIsOfflineFromTheFirstWord(_ kind: Bench) async throws
    {
        let bench = try kind.make()
        let monitor = bench.makeMonitor()
        #expect(monitor.currentPath.status == .unknown)
        var watcher = try Watcher(monitor)
        #expect(monitor.currentPath.status == .offline)
        try await watcher.expect(.offline, .noInterface)
        try await watcher.expectNothing {}
        #expect(watcher.statuses == [.offline])
    }

    @Test(arguments: Bench.all) func aLinkMayAppearAfterTheMonitor(_ kind: Bench) async throws {
        let bench = try kind.make()
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.offline, .noInterface)
        try bench.nic("eth0")
        try await watcher.expect(.offline, .noAddress)
        try bench.ip("addr add 10.1.0.2/24 dev eth0")
        try await watcher.expect(.offline, .noRoute)
        try bench.ip("route add default via 10.1.0.1")
        let path = try await watcher.expect(.wired, over: "eth0")
        #expect(path.supportsIPv4)
        #expect(path.gateways == [IPAddress(10, 1, 0, 1)])
        #expect(path.sourceAddresses == [IPAddress(10, 1, 0, 2)])
        #expect(path.via == path.interface)
    }

    @Test(arguments: Bench.all) func reportsOfflineWhenTheCarrierGoes(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1)
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wired, over: "eth0")
        try bench.carrier("eth0", false)
        try await watcher.expect(.offline, .noCarrier)
        try bench.carrier("eth0", true)
        try await watcher.expect(.wired)
        #expect(watcher.statuses == [.wired, .offline, .wired])
    }

    @Test(arguments: Bench.all) func reportsOfflineWhenTheLinkIsSetDown(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1)
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wired)
        try bench.ip("link set eth0 down")
        try await watcher.expect(.offline, .linkDown)
        // The subnet's route comes back, the default does not.
        try bench.ip("link set eth0 up")
        try await watcher.expect(.offline, .noRoute)
        try bench.ip("route add default via 10.1.0.1")
        try await watcher.expect(.wired)
    }

    @Test(arguments: Bench.all) func reportsOfflineWhenTheLinkIsDeleted(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1)
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wired)
        try bench.ip("link del eth0")
        try await watcher.expect(.offline, .noInterface)
    }

    @Test(arguments: Bench.all) func reportsOfflineWhenTheLinkMovesToAnotherNamespace(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1)
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wired)
        try bench.moveAway("eth0")
        try await watcher.expect(.offline, .noInterface)
    }

    @Test(arguments: Bench.all) func aRenamedLinkIsTheSameLink(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1)
        var watcher = try Watcher(bench.makeMonitor())
        let before = try await watcher.expect(.wired, over: "eth0")
        try bench.ip("link set eth0 name lan7")
        let after = try await watcher.expect("the new name", where: { $0.interface?.name == "lan7" })
        #expect(after.interface?.index == before.interface?.index)
        #expect(after.isOnline)
        #expect(after.gateways == before.gateways)
    }

    @Test(arguments: Bench.all) func swappedNamesFollowTheLinks(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1, metric: 100)
        try bench.uplink("eth1", 2, metric: 200)
        var watcher = try Watcher(bench.makeMonitor())
        let before = try await watcher.expect(.wired, over: "eth0")
        try bench.ip(["link set eth0 name x", "link set eth1 name eth0", "link set x name eth1"])
        let after = try await watcher.expect(
            "both names", where: { $0.interfaces.map(\.name) == ["eth1", "eth0"] })
        #expect(after.interfaces.map(\.index) == before.interfaces.map(\.index))
    }

    @Test(arguments: Bench.all) func aReusedIndexIsAnotherLink(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.nic("wlan0", index: 77)
        try bench.ip(["addr add 10.1.0.2/24 dev wlan0", "route add default via 10.1.0.1"])
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wifi)
        try bench.ip("link del wlan0")
        try bench.nic("eth5", index: 77)
        try bench.ip(["addr add 10.2.0.2/24 dev eth5", "route add default via 10.2.0.1"])
        let path = try await watcher.expect(.wired, over: "eth5")
        #expect(path.interface?.index == 77)
        #expect(path.sourceAddresses == [IPAddress(10, 2, 0, 2)])
    }

    @Test(arguments: Bench.all) func aDeadVPNClientShowsAsNoWayOut(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.tun("tun0")
        try bench.ip([
            "link set tun0 up", "addr add 10.8.0.2/24 dev tun0", "route add default dev tun0",
        ])
        var watcher = try Watcher(bench.makeMonitor())
        // Nothing else is there to say what is beneath.
        try await watcher.expect(.other, over: "tun0")
        try bench.setReader("tun0", false)
        try await watcher.expect(.offline, .noCarrier)
        try bench.setReader("tun0", true)
        try await watcher.expect(.other, over: "tun0")
    }

    @Test(arguments: Bench.all) func makeBeforeBreakShowsNoOffline(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("wlan0", 1, metric: 600)
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wifi)
        try bench.uplink("wwan0", 2, metric: 700)
        try await watcher.expect(
            "both", where: { $0.status == .wifi && $0.interfaces.map(\.name) == ["wlan0", "wwan0"] })
        try bench.ip("route del default dev wlan0")
        let path = try await watcher.expect(.wwan, over: "wwan0")
        #expect(path.isExpensive)
        #expect(path.interfaces.map(\.name) == ["wwan0"])
        try await watcher.expectNothing { try bench.ip("link set wlan0 down") }
        #expect(watcher.statuses == [.wifi, .wwan])
    }

    @Test(arguments: Bench.all) func linkMessagesThatChangeNothingAreNoNews(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1)
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wired)
        try await watcher.expectNothing {
            try bench.ip(["link set eth0 txqueuelen 77", "link set eth0 txqueuelen 78"])
        }
    }

    @Test(arguments: Bench.all) func manyFlipsEndInTheTruth(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1)
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wired)
        let flip = ["route del default", "route add default via 10.1.0.1 dev eth0"]
        try bench.batch((0..<250).flatMap { _ in flip } + ["route del default"])
        _ = try await watcher.monitor.refresh()
        #expect(watcher.monitor.currentPath.reason == .noRoute)
        try bench.batch(["route add default via 10.1.0.1 dev eth0"] + (0..<250).flatMap { _ in flip })
        #expect(try await watcher.monitor.refresh().status == .wired)
        #expect(watcher.monitor.currentPath.status == .wired)
    }
}
