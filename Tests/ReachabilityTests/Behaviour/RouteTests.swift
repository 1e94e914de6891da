import Reachability
import TestSupport
import Testing

@Suite("Routes, on both kernels", .takingTurns, .timeLimit(.minutes(10)))
struct RouteTests {
    @Test(arguments: Bench.all) func aReplacedDefaultRouteShowsNoOffline(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1)
        try bench.nic("wlan0")
        try bench.ip("addr add 10.2.0.2/24 dev wlan0")
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wired, over: "eth0")
        try bench.ip("route replace default via 10.2.0.1 dev wlan0")
        try await watcher.expect(.wifi, over: "wlan0")
        #expect(watcher.statuses == [.wired, .wifi])
    }

    @Test(arguments: Bench.all) func anotherGatewayIsAnotherPath(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("wlan0", 1)
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wifi)
        try bench.ip("route replace default via 10.1.0.254 dev wlan0")
        let path = try await watcher.expect(
            "the other gateway", where: { $0.gateways == [IPAddress(10, 1, 0, 254)] })
        #expect(path.status == .wifi)
    }

    @Test(arguments: Bench.all) func aDeletedDefaultRouteIsOffline(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1)
        var watcher = try Watcher(bench.makeMonitor())
        for _ in 0..<5 {
            try await watcher.expect(.wired)
            try bench.ip("route del default")
            try await watcher.expect(.offline, .noRoute)
            try bench.ip("route add default via 10.1.0.1")
        }
        try await watcher.expect(.wired)
    }

    @Test(arguments: Bench.all, [true, false])
    func aDefaultThroughANexthopObjectIsSeen(_ kind: Bench, showingLegs: Bool) async throws {
        let bench = try kind.make()
        try bench.setShowsLegsOfNexthops(showingLegs)
        try bench.nic("eth0")
        try bench.ip([
            "addr add 10.1.0.2/24 dev eth0", "nexthop add id 1 via 10.1.0.1 dev eth0", "route add default nhid 1",
        ])
        var watcher = try Watcher(bench.makeMonitor())
        let path = try await watcher.expect(.wired, over: "eth0")
        #expect(path.gateways == [IPAddress(10, 1, 0, 1)])
        #expect(path.interfaces.map(\.name) == ["eth0"])
        // The kernel says that the object is gone, and nothing of the route.
        try bench.ip("nexthop del id 1")
        try await watcher.expect(.offline, .noRoute)
    }

    @Test(arguments: Bench.all, [true, false])
    func theCostliestLegOfAGroupGivesTheStatus(_ kind: Bench, showingLegs: Bool) async throws {
        let bench = try kind.make()
        try bench.setShowsLegsOfNexthops(showingLegs)
        for (number, name) in ["eth0", "wwan0"].enumerated() {
            try bench.nic(name)
            try bench.ip([
                "addr add 10.\(number).0.2/24 dev \(name)",
                "nexthop add id \(number + 1) via 10.\(number).0.1 dev \(name)",
            ])
        }
        try bench.ip(["nexthop add id 10 group 1/2", "route add default nhid 10"])
        var watcher = try Watcher(bench.makeMonitor())
        let path = try await watcher.expect(.wwan)
        #expect(path.isExpensive)
        #expect(Set(path.interfaces.map(\.name)) == ["eth0", "wwan0"])
        try bench.ip("nexthop del id 2")
        try await watcher.expect(.wired, over: "eth0")
    }

    @Test(arguments: Bench.all) func theCostliestLegOfAMultipathRouteGivesTheStatus(_ kind: Bench) async throws {
        let bench = try kind.make()
        for (number, name) in ["eth0", "wwan0"].enumerated() {
            try bench.nic(name)
            try bench.ip("addr add 10.\(number).0.2/24 dev \(name)")
        }
        try bench.ip("route add default nexthop via 10.0.0.1 dev eth0 nexthop via 10.1.0.1 dev wwan0")
        var watcher = try Watcher(bench.makeMonitor())
        let path = try await watcher.expect(.wwan, over: "wwan0")
        #expect(path.isExpensive)
        #expect(Set(path.gateways) == [IPAddress(10, 0, 0, 1), IPAddress(10, 1, 0, 1)])
        // One leg is enough to be online.
        try bench.ip("link set wwan0 down")
        let rest = try await watcher.expect(.wired, over: "eth0")
        #expect(!rest.isExpensive)
        try bench.ip("link set wwan0 up")
        try await watcher.expect(.wwan)
        try bench.ip("link set eth0 down")
        try await watcher.expect(
            "the modem alone", where: { $0.status == .wwan && $0.interfaces.map(\.name) == ["wwan0"] })
    }

    @Test(arguments: Bench.all) func anIPv6MultipathRouteIsSeenAndGoesLegByLeg(_ kind: Bench) async throws {
        let bench = try kind.make()
        for (number, name) in ["eth0", "wlan0"].enumerated() {
            try bench.nic(name)
            try bench.ip("addr add 2001:db8:\(number)::2/64 dev \(name) nodad")
        }
        try bench.ip(
            "-6 route add default nexthop via 2001:db8:0::1 dev eth0 nexthop via 2001:db8:1::1 dev wlan0")
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wifi)
        try bench.ip("-6 route del default via 2001:db8:1::1 dev wlan0")
        try await watcher.expect(.wired, over: "eth0")
        try bench.ip("-6 route del default via 2001:db8:0::1 dev eth0")
        try await watcher.expect(.offline, .noRoute)
    }

    @Test(arguments: Bench.all, ["unreachable", "blackhole", "prohibit"])
    func aRouteThatRefusesIsNoWayOut(_ kind: Bench, type: String) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1, metric: 100)
        try bench.ip([
            "addr add 2001:db8:1::2/64 dev eth0 nodad", "-6 route add default via 2001:db8:1::1 dev eth0 metric 100",
        ])
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect("both", where: { $0.supportsIPv4 && $0.supportsIPv6 })
        try bench.ip("route add \(type) default metric 50")
        try await watcher.expect("IPv6 alone", where: { !$0.supportsIPv4 && $0.supportsIPv6 })
        try bench.ip("-6 route add \(type) default metric 50")
        try await watcher.expect(.offline, .unreachableRoute)
        try bench.ip("route del \(type) default metric 50")
        try await watcher.expect("IPv4 alone", where: { $0.supportsIPv4 && !$0.supportsIPv6 })
        try bench.ip("-6 route del default metric 50")
        try await watcher.expect("both again", where: { $0.supportsIPv4 && $0.supportsIPv6 })
    }

    @Test(arguments: Bench.all) func oneBlackholedPrefixIsNotTheWholeInternet(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1)
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wired)
        try await watcher.expectNothing { try bench.ip("route add blackhole 8.8.8.0/24") }
        try bench.ip("route del default")
        try await watcher.expect(.offline, .noRoute)
    }

    @Test(arguments: Bench.all) func lookupsFollowRulesToOtherTables(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.nic("eth0")
        try bench.ip(["addr add 10.1.0.2/24 dev eth0", "route add default via 10.1.0.1 dev eth0 table 100"])
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.offline, .noRoute)
        try bench.ip("rule add from all table 100 pref 1000")
        try await watcher.expect(.wired, over: "eth0")
        try bench.ip("rule add to 0.0.0.0/0 prohibit pref 900")
        try await watcher.expect(.offline, .unreachableRoute)
        try bench.ip("rule del prohibit pref 900")
        try await watcher.expect(.wired)
        try bench.ip("rule del table 100 pref 1000")
        try await watcher.expect(.offline, .noRoute)
    }

    @Test(arguments: Bench.all) func interfacesAreInTheOrderOfTablesThenMetrics(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1, metric: 100)
        try bench.uplink("eth1", 2, metric: 50)
        try bench.nic("eth2")
        try bench.ip([
            "addr add 10.3.0.2/24 dev eth2", "route add default via 10.3.0.1 dev eth2 metric 900 table 100",
            "rule add from all table 100 pref 1000",
        ])
        var watcher = try Watcher(bench.makeMonitor())
        let path = try await watcher.expect(.wired, over: "eth2")
        #expect(path.interfaces.map(\.name) == ["eth2", "eth1", "eth0"])
        // With one more in front, the other table still comes before main.
        try bench.nic("eth3")
        try bench.ip(["addr add 10.4.0.2/24 dev eth3", "route add default via 10.4.0.1 dev eth3 table 100"])
        let more = try await watcher.expect(.wired, over: "eth3")
        #expect(more.interfaces.map(\.name) == ["eth3", "eth2", "eth1", "eth0"])
    }

    @Test(arguments: Bench.all) func theTwoHalvesOfOpenVPNAreAWayOut(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("wlan0", 1)
        try bench.tun("tun0")
        try bench.ip(["link set tun0 up", "addr add 10.8.0.2/24 dev tun0"])
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wifi, over: "wlan0")
        try bench.ip(["route add 0.0.0.0/1 via 10.8.0.1 dev tun0", "route add 128.0.0.0/1 via 10.8.0.1 dev tun0"])
        let path = try await watcher.expect(
            "the tunnel alone", where: { $0.interface?.name == "tun0" && $0.gateways == [IPAddress(10, 8, 0, 1)] })
        #expect(path.status == .wifi)
        #expect(path.interface?.type == .other)
        #expect(path.via?.name == "wlan0")
        try bench.ip(["route del 0.0.0.0/1", "route del 128.0.0.0/1"])
        try await watcher.expect("wlan0 alone", where: { $0.interfaces.map(\.name) == ["wlan0"] })
        #expect(watcher.statuses == [.wifi])
    }

    @Test(arguments: Bench.all) func theRulesOfWgQuickAreFollowed(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1)
        try bench.tun("tun0")
        try bench.ip(["link set tun0 up", "addr add 10.8.0.2/32 dev tun0"])
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wired, over: "eth0")
        try bench.ip([
            "route add default dev tun0 table 51820", "rule add not from all fwmark 51820 table 51820 pref 32765",
            "rule add from all table 254 suppress_prefixlength 0 pref 32764",
        ])
        let path = try await watcher.expect(.wired, over: "tun0")
        #expect(path.via?.name == "eth0")
        // The uplink is gone, and with it the tunnel, however up it is.
        try bench.carrier("eth0", false)
        try await watcher.expect(.offline, .noCarrier)
        try bench.carrier("eth0", true)
        try await watcher.expect(.wired, over: "tun0")
    }

    @Test(arguments: Bench.all) func theCostlierFamilyGivesTheStatus(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1)
        try bench.nic("wwan0")
        try bench.ip("addr add 2001:db8:2::2/64 dev wwan0 nodad")
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wired, over: "eth0")
        try bench.ip("-6 route add default via 2001:db8:2::1 dev wwan0")
        let path = try await watcher.expect(.wwan, over: "wwan0")
        #expect(path.isExpensive)
        #expect(path.supportsIPv4 && path.supportsIPv6)
        #expect(path.gateways == [IPAddress(10, 1, 0, 1), IPAddress("2001:db8:2::1")])
        try bench.ip("-6 route del default")
        try await watcher.expect(.wired, over: "eth0")
    }

    @Test(arguments: Bench.all) func onlyTheWayOutDecides(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.ip(["link add docker0 type bridge", "link set docker0 up", "addr add 172.17.0.1/16 dev docker0"])
        try bench.nic("veth1")
        try bench.ip("link set veth1 master docker0")
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect("no way out", where: { $0.status == .offline })
        try bench.uplink("eth0", 1)
        let path = try await watcher.expect(.wired, over: "eth0")
        #expect(path.interfaces.map(\.name) == ["eth0"])
    }

    @Test(arguments: Bench.all) func foreignRoutesDoNotWakeTheMonitor(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1)
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wired)
        _ = try await watcher.monitor.refresh()
        let before = watcher.monitor.statistics
        try bench.batch((0..<2000).map { "route add 10.\(100 + $0 / 200).\($0 % 200).0/24 via 10.1.0.1" })
        try bench.batch((0..<200).map { "route add 2001:db8:\(String($0 + 16, radix: 16))::/48 dev eth0" })
        _ = try await watcher.monitor.refresh()
        // One for the refresh itself, however many routes there were.
        #expect(watcher.monitor.statistics.evaluations == before.evaluations + 1)
        try bench.ip("route del default")
        try await watcher.expect(.offline, .noRoute)
    }
}
