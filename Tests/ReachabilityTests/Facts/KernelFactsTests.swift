import Glibc
import Netlink
import TestSupport
import Testing

/// What the kernel says, and what it leaves unsaid: the ground that the monitor stands on. IPv4 routes go without a word in more
/// ways than with one, so the monitor asks instead of keeping a table.
@Suite("What the kernel says and leaves unsaid, on both kernels", .takingTurns, .timeLimit(.minutes(10)))
struct KernelFactsTests {
    private static let nowhere = RouteAnswer.refused(errno: ENETUNREACH)

    /// An uplink without IPv6, whose routes would be spoken of.
    private func bench(_ kind: Bench) throws -> any TestBench {
        let bench = try kind.make()
        try bench.nic("eth0")
        try bench.ip([
            "link set eth0 down", "link set eth0 addrgenmode none", "link set eth0 up", "addr add 10.1.0.2/24 dev eth0",
            "route add default via 10.1.0.1",
        ])
        return bench
    }

    @Test(arguments: Bench.all) func aLinkSetDownTakesIPv4RoutesWithoutAWord(_ kind: Bench) throws {
        let bench = try bench(kind)
        let listener = try Listener(bench)
        let heard = try listener.hear { try bench.ip("link set eth0 down") }
        #expect(heard.contains("link eth0 down"))
        #expect(!heard.contains("route"))
        #expect(!heard.contains("no address eth0 10.1.0.2"))
        #expect(try listener.lookUp("8.8.8.8") == Self.nowhere)
    }

    @Test(arguments: Bench.all) func aLinkSetDownSpeaksOfItsIPv6RoutesAndAddresses(_ kind: Bench) throws {
        let bench = try bench(kind)
        try bench.ip(["addr add 2001:db8:1::2/64 dev eth0 nodad", "-6 route add default via 2001:db8:1::1"])
        let listener = try Listener(bench)
        let heard = try listener.hear { try bench.ip("link set eth0 down") }
        #expect(heard.contains("route"))
        #expect(heard.contains("no address eth0 2001:db8:1::2"))
    }

    @Test(arguments: Bench.all) func aLostCarrierLeavesRoutesThatAnswer(_ kind: Bench) throws {
        let bench = try bench(kind)
        let listener = try Listener(bench)
        _ = try listener.hear { try bench.carrier("eth0", false) }
        #expect(try listener.wait(for: "link eth0 up"))
        #expect(!listener.heard.contains("route"))
        #expect(try listener.lookUp("8.8.8.8") != Self.nowhere)
        _ = try listener.hear { try bench.carrier("eth0", true) }
        #expect(try listener.wait(for: "link eth0 up carrier running"))
        #expect(!listener.heard.contains("route"))
    }

    @Test(arguments: Bench.all) func aDeletedLinkTakesIPv4RoutesWithoutAWord(_ kind: Bench) throws {
        let bench = try bench(kind)
        let listener = try Listener(bench)
        let heard = try listener.hear { try bench.ip("link del eth0") }
        #expect(heard.first == "link eth0 down")
        #expect(heard.contains("no address eth0 10.1.0.2"))
        #expect(heard.last == "gone eth0")
        #expect(!heard.contains("route"))
        #expect(try listener.lookUp("8.8.8.8") == Self.nowhere)
    }

    @Test(arguments: Bench.all) func aLinkThatMovesAwayGoesLikeADeletedOne(_ kind: Bench) throws {
        let bench = try bench(kind)
        let listener = try Listener(bench)
        let heard = try listener.hear { try bench.moveAway("eth0") }
        #expect(heard.contains("gone eth0"))
        #expect(!heard.contains("route"))
        #expect(try listener.lookUp("8.8.8.8") == Self.nowhere)
    }

    @Test(arguments: Bench.all) func theLastAddressTakesTheDefaultWithoutAWord(_ kind: Bench) throws {
        let bench = try bench(kind)
        let listener = try Listener(bench)
        let heard = try listener.hear { try bench.ip("addr del 10.1.0.2/24 dev eth0") }
        // The connected route is spoken of, but covers none of the destinations that are watched.
        #expect(heard == ["no address eth0 10.1.0.2"])
        #expect(try listener.lookUp("8.8.8.8") == Self.nowhere)
    }

    @Test(arguments: Bench.all) func aPrimaryAddressTakesItsSecondariesAlong(_ kind: Bench) throws {
        let bench = try bench(kind)
        try bench.ip("addr add 10.1.0.3/24 dev eth0")
        let listener = try Listener(bench)
        let heard = try listener.hear { try bench.ip("addr del 10.1.0.2/24 dev eth0") }
        #expect(heard == ["no address eth0 10.1.0.3", "no address eth0 10.1.0.2"])
    }

    @Test(arguments: Bench.all) func aReplacedRouteIsOneMessage(_ kind: Bench) throws {
        let bench = try bench(kind)
        let listener = try Listener(bench)
        let heard = try listener.hear { try bench.ip("route replace default via 10.1.0.9") }
        #expect(heard == ["route"])
    }

    @Test(arguments: Bench.all) func aNexthopObjectTakesItsRoutesWithoutAWord(_ kind: Bench) throws {
        let bench = try bench(kind)
        try bench.ip([
            "route del default", "nexthop add id 1 via 10.1.0.1 dev eth0", "route add default nhid 1",
        ])
        let listener = try Listener(bench)
        let heard = try listener.hear { try bench.ip("nexthop del id 1") }
        #expect(heard == ["nexthop"])
        #expect(try listener.lookUp("8.8.8.8") == Self.nowhere)
    }

    @Test(arguments: Bench.all) func aNexthopObjectGoesWithTheCarrier(_ kind: Bench) throws {
        let bench = try bench(kind)
        try bench.ip([
            "route del default", "nexthop add id 1 via 10.1.0.1 dev eth0", "route add default nhid 1",
        ])
        let listener = try Listener(bench)
        _ = try listener.hear { try bench.carrier("eth0", false) }
        #expect(try listener.wait(for: "link eth0 up"))
        #expect(!listener.heard.contains("nexthop"))
        #expect(!listener.heard.contains("route"))
        #expect(try listener.lookUp("8.8.8.8") == Self.nowhere)
    }

    @Test(arguments: Bench.all) func aLegThatGoesDownIsALinkMessageAndNothingElse(_ kind: Bench) throws {
        let bench = try bench(kind)
        try bench.nic("eth1")
        try bench.ip([
            "link set eth1 down", "link set eth1 addrgenmode none", "link set eth1 up", "addr add 10.2.0.2/24 dev eth1",
            "route replace default nexthop via 10.1.0.1 dev eth0 nexthop via 10.2.0.1 dev eth1",
        ])
        let listener = try Listener(bench)
        let heard = try listener.hear { try bench.ip("link set eth0 down") }
        #expect(!heard.contains("route"))
        guard case .route(let route) = try listener.lookUp("8.8.8.8") else {
            Issue.record("no route over the other leg")
            return
        }
        #expect(route.hops.first?.gateway == IPAddress(10, 2, 0, 1))
    }

    @Test(arguments: Bench.all) func refusalsDifferByFamilyAndType(_ kind: Bench) throws {
        let bench = try bench(kind)
        try bench.ip("addr add 2001:db8:1::2/64 dev eth0 nodad")
        let listener = try Listener(bench)
        for (type, errno) in [("unreachable", EHOSTUNREACH), ("blackhole", EINVAL), ("prohibit", EACCES)] {
            let heard = try listener.hear {
                try bench.ip(["route replace \(type) default", "-6 route replace \(type) default"])
            }
            #expect(heard.filter { $0 == "route" }.count == 2)
            #expect(try listener.lookUp("8.8.8.8") == .refused(errno: errno))
            #expect(try listener.lookUp("2001:503:ba3e::2:30") == .refused(errno: errno))
        }
    }

    @Test(arguments: Bench.all) func aRenameIsALinkMessageAndAnAddressMessage(_ kind: Bench) throws {
        let bench = try bench(kind)
        let listener = try Listener(bench)
        let heard = try listener.hear { try bench.ip("link set eth0 name lan7") }
        #expect(heard.contains("link lan7 up carrier running"))
        #expect(heard.contains("address lan7 10.1.0.2"))
        #expect(!heard.contains("route"))
    }

    @Test(arguments: Bench.all) func aBridgePortIsSpokenOfInPartialMessages(_ kind: Bench) throws {
        let bench = try bench(kind)
        try bench.ip(["link add br0 type bridge", "link set br0 up"])
        let listener = try Listener(bench)
        let joined = try listener.hear { try bench.ip("link set eth0 master br0") }
        #expect(joined.contains("partial"))
        // The default stays on the port.
        #expect(try listener.lookUp("8.8.8.8") != Self.nowhere)
        let left = try listener.hear { try bench.ip("link set eth0 nomaster") }
        #expect(left.contains("partial"))
        #expect(!left.contains("gone eth0"))
    }

    @Test(arguments: Bench.all) func rulesAndOtherTablesAreSpokenOf(_ kind: Bench) throws {
        let bench = try bench(kind)
        let listener = try Listener(bench)
        let heard = try listener.hear {
            try bench.ip(["rule add from all table 100 pref 1000", "route add default via 10.1.0.1 table 100"])
        }
        #expect(heard == ["rule", "route"])
    }

    @Test(arguments: Bench.all) func theHalvesOfEverythingPassTheFilterAndForeignRoutesDoNot(_ kind: Bench) throws {
        let bench = try bench(kind)
        let listener = try Listener(bench)
        let heard = try listener.hear {
            try bench.ip([
                "route add 0.0.0.0/1 via 10.1.0.1", "route add 10.99.0.0/16 via 10.1.0.1",
                "route add 8.8.0.0/16 via 10.1.0.1", "route add 8.9.0.0/16 via 10.1.0.1",
                "route add 198.41.0.4/32 via 10.1.0.1", "route add 198.41.0.5/32 via 10.1.0.1",
            ])
        }
        #expect(heard == ["route", "route", "route"])
    }

    @Test(arguments: Bench.all) func upAgainBringsTheSubnetAndNotTheDefault(_ kind: Bench) throws {
        let bench = try bench(kind)
        try bench.ip("link set eth0 down")
        let listener = try Listener(bench)
        _ = try listener.hear { try bench.ip("link set eth0 up") }
        #expect(try listener.wait(for: "link eth0 up carrier running"))
        #expect(try listener.lookUp("8.8.8.8") == Self.nowhere)
        #expect(try listener.lookUp("10.1.0.1") != Self.nowhere)
    }

    @Test(arguments: Bench.all) func aRefreshIsTheSameMessageAgain(_ kind: Bench) throws {
        let bench = try bench(kind)
        let listener = try Listener(bench)
        let heard = try listener.hear {
            try bench.ip("addr change 10.1.0.2/24 dev eth0 valid_lft 1000 preferred_lft 1000")
        }
        #expect(heard.contains("address eth0 10.1.0.2"))
        #expect(!heard.contains("no address eth0 10.1.0.2"))
    }

    @Test(arguments: Bench.all) func aTentativeAddressIsAnnouncedTwice(_ kind: Bench) throws {
        let bench = try bench(kind)
        try bench.detectDuplicates()
        try bench.ip(["link set eth0 down", "link set eth0 up"])
        let listener = try Listener(bench)
        _ = try listener.hear { try bench.ip("addr add 2001:db8:1::2/64 dev eth0") }
        #expect(try listener.wait(for: "address eth0 2001:db8:1::2 tentative"))
        try bench.finishDuplicateDetection(of: "2001:db8:1::2", on: "eth0")
        #expect(try listener.wait(for: "address eth0 2001:db8:1::2"))
    }

    @Test(arguments: Bench.all) func aTunWithoutAReaderHasNoCarrier(_ kind: Bench) throws {
        let bench = try kind.make()
        try bench.tun("tun0")
        let listener = try Listener(bench)
        let up = try listener.hear { try bench.ip("link set tun0 up") }
        // Running, although nobody will ever know whether it is up.
        #expect(up.contains("link tun0 up carrier running"))
        _ = try listener.hear { try bench.setReader("tun0", false) }
        #expect(try listener.wait(for: "link tun0 up"))
    }
}
