import Reachability
import TestSupport
import Testing

@Suite("Addresses, on both kernels", .takingTurns, .timeLimit(.minutes(10)))
struct AddressTests {
    @Test(arguments: Bench.all) func theLastAddressTakesTheDefaultRouteAlong(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1)
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wired)
        try bench.ip("addr del 10.1.0.2/24 dev eth0")
        try await watcher.expect(.offline, .noAddress)
        // Not even with the address back is there a way out.
        try bench.ip("addr add 10.1.0.2/24 dev eth0")
        try await watcher.expect(.offline, .noRoute)
    }

    @Test(arguments: Bench.all) func renewalsAreNoNews(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1)
        try bench.ip([
            "addr add 2001:db8:1::2/64 dev eth0 nodad", "-6 route add default via 2001:db8:1::1 dev eth0",
        ])
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect("both families", where: { $0.supportsIPv4 && $0.supportsIPv6 })
        try await watcher.expectNothing {
            for lifetime in [1000, 1001, 1002] {
                try bench.ip([
                    "addr change 10.1.0.2/24 dev eth0 valid_lft \(lifetime) preferred_lft \(lifetime)",
                    "addr change 2001:db8:1::2/64 dev eth0 valid_lft forever preferred_lft forever",
                    "route replace default via 10.1.0.1 dev eth0 metric 0",
                    "-6 route replace default via 2001:db8:1::1 dev eth0",
                ])
            }
        }
    }

    @Test(arguments: Bench.all) func linkLocalAddressesReachNobodyBeyond(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.nic("eth0")
        try bench.ip(["addr add 169.254.7.7/16 dev eth0", "route add default dev eth0"])
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.offline, .noAddress)
        // And neither does IPv6, with a route and nothing but its own link-local address.
        try bench.ip("-6 route add default via fe80::1 dev eth0")
        try await watcher.expectNothing {}
        try bench.ip("addr add 2001:db8:1::2/64 dev eth0 nodad")
        let path = try await watcher.expect(.wired)
        #expect(path.supportsIPv6)
        #expect(!path.supportsIPv4)
    }

    @Test(arguments: Bench.all) func theLoopbackAddressReachesNobody(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.nic("eth0")
        // Without an address on the link the kernel would send from ::1.
        try bench.ip([
            "link set eth0 down", "link set eth0 addrgenmode none", "link set eth0 up",
            "-6 route add default via fe80::1 dev eth0",
        ])
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.offline, .noAddress)
        #expect(watcher.statuses == [.offline])
    }

    @Test(arguments: Bench.all) func anIPv6OnlyMachineIsOnline(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.nic("eth0")
        try bench.ip([
            "addr add 2001:db8:1::2/64 dev eth0 nodad", "-6 route add default via fe80::1 dev eth0",
        ])
        var watcher = try Watcher(bench.makeMonitor())
        let path = try await watcher.expect(.wired)
        #expect(path.supportsIPv6)
        #expect(!path.supportsIPv4)
        #expect(path.gateways == [IPAddress("fe80::1")])
        #expect(path.sourceAddresses == [IPAddress("2001:db8:1::2")])
        try bench.ip("-6 route del default")
        try await watcher.expect(.offline, .noRoute)
    }

    @Test(arguments: Bench.all) func aTentativeAddressCountsOnlyOnceItIsFree(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.nic("eth0")
        try bench.ip("-6 route add default via fe80::1 dev eth0")
        try bench.detectDuplicates()
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.offline, .noAddress)
        try bench.ip("addr add 2001:db8:1::2/64 dev eth0")
        // The real kernel needs about a second, which is not to be relied on.
        if kind == .simulated { try await watcher.expectNothing {} }
        try bench.finishDuplicateDetection(of: "2001:db8:1::2", on: "eth0")
        let path = try await watcher.expect(.wired)
        #expect(path.sourceAddresses == [IPAddress("2001:db8:1::2")])
        #expect(watcher.statuses == [.offline, .wired])
    }

    @Test(arguments: Bench.all) func theSameAddressOnTwoLinksIsTwoAddresses(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1)
        try bench.nic("eth1")
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wired, over: "eth0")
        try await watcher.expectNothing {
            try bench.ip(["addr add 10.1.0.2/24 dev eth1", "addr del 10.1.0.2/24 dev eth1"])
        }
        try bench.ip("route del default")
        // eth0 has kept its address: only the route is missing.
        try await watcher.expect(.offline, .noRoute)
    }

    @Test(arguments: Bench.all) func anAddressWithTwoPeersIsThereUntilBothAreGone(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.tun("tun0")
        try bench.ip([
            "link set tun0 up", "addr add 10.8.0.2 peer 10.8.0.1/32 dev tun0",
            "addr add 10.8.0.2 peer 10.9.0.1/32 dev tun0",
            "route add default dev tun0",
        ])
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.other)
        try await watcher.expectNothing { try bench.ip("addr del 10.8.0.2 peer 10.9.0.1/32 dev tun0") }
        try bench.ip("route del default")
        // The address is left: only the route is missing.
        try await watcher.expect(.offline, .noRoute)
        try bench.ip("addr del 10.8.0.2 peer 10.8.0.1/32 dev tun0")
        try await watcher.expect(.offline, .noAddress)
    }

    @Test(arguments: Bench.all) func aGatewayOfTheOtherFamilyIsAGateway(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.nic("eth0")
        try bench.ip(["addr add 10.1.0.2/32 dev eth0", "-4 route add default via inet6 fe80::1 dev eth0"])
        var watcher = try Watcher(bench.makeMonitor())
        let path = try await watcher.expect(.wired)
        #expect(path.supportsIPv4)
        #expect(path.gateways == [IPAddress("fe80::1")])
    }

    @Test(arguments: Bench.all) func anotherSourceAddressIsAnotherPath(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("wlan0", 1)
        var watcher = try Watcher(bench.makeMonitor())
        try await watcher.expect(.wifi)
        // The next network of the same access point vendor: other subnet, same gateway address to look at.
        try bench.ip([
            "addr add 10.1.0.9/25 dev wlan0", "route replace default via 10.1.0.1 dev wlan0 src 10.1.0.9",
        ])
        let path = try await watcher.expect(
            "the other source", where: { $0.sourceAddresses == [IPAddress(10, 1, 0, 9)] })
        #expect(path.status == .wifi)
    }

    @Test(arguments: Bench.all) func aSourceFromAnotherLinkWillDo(_ kind: Bench) async throws {
        let bench = try kind.make()
        // An unnumbered link: the address sits on loopback.
        try bench.nic("eth0")
        try bench.ip(["addr add 192.0.2.7/32 dev lo", "route add default dev eth0"])
        var watcher = try Watcher(bench.makeMonitor())
        let path = try await watcher.expect(.wired, over: "eth0")
        #expect(path.sourceAddresses == [IPAddress(192, 0, 2, 7)])
    }

    @Test(arguments: Bench.all) func theListOfNameServersIsFollowed(_ kind: Bench) async throws {
        let bench = try kind.make()
        try bench.uplink("eth0", 1)
        var watcher = try Watcher(bench.makeMonitor())
        let before = try await watcher.expect(.wired)
        #expect(!before.supportsDNS)
        try bench.setNameservers(["10.1.0.1"])
        try await watcher.expect("a name server", where: \.supportsDNS)
        // Another one is no other path.
        try await watcher.expectNothing { try bench.setNameservers(["10.1.0.1", "10.1.0.53"]) }
        try bench.setNameservers([])
        try await watcher.expect("no name server", where: { !$0.supportsDNS })
    }
}
