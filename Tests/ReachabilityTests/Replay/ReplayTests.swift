import Netlink
import ReachabilityTestKit
import TestSupport
import Testing

@testable import Reachability

/// What the monitor makes of all that two real kernels said, recorded in a virtual machine: see Fixtures/README.md.
@Suite(.takingTurns) struct ReplayTests {
    @Test(arguments: expectations.keys.sorted(), ["6.1", "6.12"])
    func reportsEachStepOfARecordedScenario(_ scenario: String, kernel: String) throws {
        let replay = try Replay(scenario, kernel: kernel)
        let expected = (expectations[scenario] ?? []).map { differences[kernel]?[$0] ?? $0 }
        #expect(replay.summary == expected)
        #expect(replay.statistics.malformedMessages == 0)
    }

    @Test(arguments: ["6.1", "6.12"]) func wirelessEventsWithStaleFlagsChangeNothing(kernel: String) throws {
        let replay = try Replay("wifi", kernel: kernel)
        #expect(replay.statistics.irrelevantMessages > 30)
    }

    /// Bytes changed at random, the same ones each time: nothing of it is more than another state of affairs, and what is said
    /// without a mistake afterwards is understood.
    @Test func damagedMessagesAreNoReasonToStumble() throws {
        var random: UInt64 = 42
        func next(below bound: Int) -> Int {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(random >> 33) % bound
        }
        for scenario in ["routes", "virtual", "pppoe"] {
            var player = RecordingPlayer()
            var monitor = try SteppedMonitor(feed: player.kernel)
            for var datagram in try Replay.datagrams(scenario, kernel: "6.1") where !datagram.bytes.isEmpty {
                for _ in 0..<3 {
                    datagram.bytes[next(below: datagram.bytes.count)] = UInt8(next(below: 256))
                    player.play(datagram)
                    _ = monitor.step()
                }
            }
            #expect(monitor.path.reason != .noInterface)
            for note in [RecordingNote.snapshotBegins, .snapshotEnds] {
                player.play(RecordedDatagram(time: 0, family: .program, bytes: note.message))
                _ = monitor.step()
            }
            // A machine with nothing at all.
            #expect(monitor.path.reason == .noInterface)
        }
    }

    @Test(arguments: [
        ("wifi", "start access point 1 again", NetworkInterface.InterfaceType.wifi, Evidence.devtype("wlan")),
        ("wwan-usb", "the modem connects", .wwan, .devtype("wwan")),
        ("wwan-usb", "snapshot: qmi_wwan raw IP", .wwan, .devtype("wwan")),
        ("wwan-hwsim", "bring a channel up", .wwan, .kind("wwan")),
        ("tether", "snapshot: rndis_host", .wired, .driver("rndis_host")),
        ("tether", "snapshot: cdc_ncm", .wired, .driver("cdc_ncm")), ("ppp", "dial", .wwan, .kind("ppp")),
        ("pppoe", "dial", .wired, .pppoe(over: "dsl")), ("failover", "cable back", .wired, .name("eth0")),
    ])
    func knowsWhatADeviceIs(
        scenario: String, remark: String, type: NetworkInterface.InterfaceType, evidence: Evidence
    ) throws {
        for kernel in ["6.1", "6.12"] {
            let step = try #require(
                try Replay(scenario, kernel: kernel).steps.first { $0.remark.hasPrefix(remark) && !$0.paths.isEmpty })
            #expect(step.paths.last?.interface?.type == type)
            #expect(step.paths.last?.interface?.evidence == evidence)
        }
    }
}

/// A line for each step that brings a report: the paths, or the reasons for being offline, and the address families.
private let expectations: [String: [String]] = [
    "wifi": [
        "load mac80211_hwsim with 3 radios; wlan1 and wlan2 move to another namespace: linkDown",
        "start wpa_supplicant, no access point yet: noCarrier",
        "start access point 1: dormant, noAddress",
        "DHCP: noRoute, wifi lan7 4",
        "snapshot: associated, addresses: wifi lan7 46",
        "start access point 2 and roam to it: noCarrier, wifi lan7 46",
        "access point 2 deauthenticates the station: noCarrier, dormant, wifi lan7 46",
        "stop access point 2: the link goes down with a deauthentication: noCarrier",
        "start access point 1 again: joins by itself: dormant, wifi lan7 46",
        "walk out of range: beacons stop: noCarrier",
        "back in range: dormant, wifi lan7 46",
        "rfkill block: linkDown",
        "rfkill unblock: noCarrier, dormant, noRoute",
        "stop wpa_supplicant: noCarrier, linkDown",
        "unload mac80211_hwsim: unplugged: noInterface",
    ],
    "failover": [
        "Ethernet: noAddress, noRoute, wired eth0 4",
        "Wi-Fi: wired eth0 46, wired eth0 46",
        "modem: wired eth0 46",
        "pull the cable: noCarrier",
        "a network manager drops the wired route: wifi wlan0 4",
        "Wi-Fi out of range: noCarrier, wwan wwan0 4 expensive",
        "modem unplugged: nothing left: noCarrier",
        "cable back: wired eth0 6, wired eth0 46",
    ],
    "wwan-usb": [
        "plug in a modem driven by cdc_ether: linkDown",
        "bring wwan0 up, the modem not connected: noCarrier",
        "the modem connects: DHCP: noAddress, noRoute, wwan wwan0 4 expensive",
        "the modem loses the network: noCarrier",
        "unplug the modem: linkDown, noInterface",
        "plug in a modem driven by qmi_wwan: linkDown",
        "bring wwan0 up: noAddress",
        "snapshot: qmi_wwan modem, up: linkDown",
        "snapshot: qmi_wwan raw IP, down: noAddress, noRoute, wwan wwan0 4 expensive",
        "add multiplexed channel 1: linkDown, noRoute",
        "unplug the modem: linkDown, noInterface",
    ],
    "wwan-hwsim": [
        "load wwan_hwsim: linkDown",
        "bring a channel up with an address and a default route: noAddress, noRoute, wwan modem2 4 expensive, wwan modem2 46 expensive",
        "delete a channel: linkDown",
        "unplug the modem: noInterface",
    ],
    "tether": [
        "plug in a phone (rndis_host): linkDown",
        "snapshot: rndis_host, down: noAddress, noRoute, wired usb1 4 expensive",
        "unplug: linkDown, noInterface",
        "plug in a phone (cdc_ncm): linkDown",
        "snapshot: cdc_ncm, down: noCarrier, noAddress, noRoute, wired usb1 4 expensive",
        "unplug: linkDown, noInterface",
    ],
    "ppp": [
        "dial: linkDown, noAddress, noRoute, noAddress, noRoute, wwan ppp0 4 expensive",
        "hang up: noRoute, noAddress, linkDown, noInterface",
        "dial again, named uplink, no default route: linkDown, noAddress, noRoute, noAddress, noRoute",
        "the line drops: noAddress, linkDown, noInterface",
    ],
    "pppoe": [
        "Ethernet link to the access concentrator: linkDown, noCarrier, noAddress",
        "dial: noRoute, noAddress, noRoute, wired ppp0 on dsl 4",
        "cable pulled: carrier of dsl lost; ppp0 stays up until LCP echoes fail: noCarrier, noRoute, noAddress, noCarrier",
    ],
    "routes": [
        "ip address add 192.0.2.2/24 dev up1: noRoute",
        "ip route add default via 192.0.2.1 metric 100: other up1 4",
        "ip route add default via 198.51.100.1 metric 200: other up1 4",
        "ip route change default via 192.0.2.254 metric 100: other up1 4",
        "ip route replace default via 192.0.2.1 metric 100: other up1 4",
        "ip -6 route add default via 2001:db8:1::1 metric 100: other up1 46",
        "ip route add default metric 50 nexthop via 192.0.2.1 weight 1 nexthop via 198.51.100.1 weight 2: other up1 46",
        "ip route del default metric 50: other up1 46",
        "ip route add default nhid 10 metric 40: other up1 46",
        "delete nexthop 1 of the group: no route message: other up2 46",
        "delete the group: the route goes too: other up1 46",
        "ip route add unreachable default metric 10: other up1 6",
        "ip route del unreachable default metric 10: other up1 46",
        "ip -6 route add unreachable default metric 10: other up1 4",
        "ip -6 route del unreachable default metric 10: other up1 46",
        "ip route add 128.0.0.0/1 dev up1: other up1 46",
        "ip route del 0.0.0.0/1: other up1 46",
        "delete the address that route sources use: IPv4 routes go without a message: other up2 46",
        "carrier of up1 lost: routes stay, marked linkdown: other up2 4",
        "carrier of up1 back: other up2 46",
        "set up2 down: its IPv4 routes go without a message, its IPv6 routes with messages: other up1 6",
        "turn IPv6 off on up1: noRoute",
    ],
    "virtual": [
        "add x-veth: ip link add x-veth type veth peer name x-veth-peer: wired eth0 6"
    ],
]

/// Where the kernels differ: the newer one takes a moment longer, and the monitor sees it.
private let differences: [String: [String: String]] = [
    "6.12": [
        "start access point 2 and roam to it: noCarrier, wifi lan7 46":
            "start access point 2 and roam to it: noCarrier, dormant, wifi lan7 46",
        "Ethernet: noAddress, noRoute, wired eth0 4": "Ethernet: noCarrier, noAddress, noRoute, wired eth0 4",
    ]
]
