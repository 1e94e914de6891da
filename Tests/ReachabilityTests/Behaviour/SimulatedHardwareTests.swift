import Reachability
import ReachabilityTestKit
import TestSupport
import Testing

/// What no test machine has in it: radios, modems, bonds. The facts are those that were recorded from real ones.
@Suite("Hardware, simulated", .takingTurns, .timeLimit(.minutes(10)))
struct SimulatedHardwareTests {
    private let kernel = SimulatedKernel()

    private func uplink(_ name: String, _ network: Int = 1, metric: Int? = nil) throws {
        try kernel.setUp(name)
        try kernel.addAddress("10.\(network).0.2/24", to: name)
        try kernel.addRoute(SimulatedKernel.Route("default", via: "10.\(network).0.1", over: name, metric: metric))
    }

    @Test(
        arguments: [
            (.ethernet, .wired, false), (.wifi, .wifi, false), (.wwan, .wwan, true), (.usbModem, .wwan, true),
            (.rawIPModem, .wwan, true), (.ppp, .wwan, true), (.tetheredPhone(driver: "rndis_host"), .wired, true),
            (.tetheredPhone(driver: "ipheth"), .wired, true),
        ] as [(SimulatedKernel.LinkKind, NetworkPath.Status, Bool)])
    func eachKindOfLinkHasItsStatusAndItsCost(
        _ kind: SimulatedKernel.LinkKind, status: NetworkPath.Status, isExpensive: Bool
    ) async throws {
        // A name that says nothing.
        try kernel.addLink("lan7", kind)
        try uplink("lan7")
        var watcher = try Watcher(kernel.makeMonitor())
        let path = try await watcher.expect(status, over: "lan7")
        #expect(path.isExpensive == isExpensive)
        #expect(path.via == path.interface)
    }

    @Test(arguments: [SimulatedKernel.LinkKind.accessPoint, .dummy, .other("ifb")])
    func whatLeadsNowhereIsNoWayOut(_ kind: SimulatedKernel.LinkKind) async throws {
        try kernel.addLink("x0", kind)
        try kernel.setUp("x0")
        try kernel.addAddress("10.1.0.2/24", to: "x0")
        let monitor = kernel.makeMonitor()
        try monitor.start()
        #expect(monitor.currentPath.status == .offline)
        #expect(monitor.currentPath.interfaces == [])
        monitor.stop()
    }

    @Test func linksWhoseStateNobodyLearnsAreUp() async throws {
        try kernel.addLink("wwan0", .rawIPModem)
        try kernel.setUp("wwan0")
        try kernel.addAddress("100.64.0.2/32", to: "wwan0")
        try kernel.addRoute(SimulatedKernel.Route("default", over: "wwan0"))
        var watcher = try Watcher(kernel.makeMonitor())
        let path = try await watcher.expect(.wwan)
        #expect(path.gateways == [])
        #expect(path.sourceAddresses == [IPAddress(100, 64, 0, 2)])
    }

    @Test func wifiIsUsableOnlyOnceItHasItsKeys() async throws {
        try kernel.addLink("wlan0", .wifi)
        try kernel.setCarrier("wlan0", false)
        try uplink("wlan0")
        var watcher = try Watcher(kernel.makeMonitor())
        try await watcher.expect(.offline, .noCarrier)
        // Associated: carrier, and authentication pending.
        try kernel.together {
            try kernel.setDormant("wlan0", true)
            try kernel.setCarrier("wlan0", true)
        }
        try await watcher.expect(.offline, .dormant)
        try kernel.setDormant("wlan0", false)
        try await watcher.expect(.wifi)
        #expect(watcher.statuses == [.offline, .wifi])
    }

    @Test func roamingShowsInTheRawStream() async throws {
        try kernel.addLink("wlan0", .wifi)
        try uplink("wlan0")
        var watcher = try Watcher(kernel.makeMonitor())
        try await watcher.expect(.wifi)
        try kernel.setCarrier("wlan0", false)
        try await watcher.expect(.offline, .noCarrier)
        kernel.sendPartialMessage()
        try kernel.setCarrier("wlan0", true)
        try await watcher.expect(.wifi)
    }

    @Test func theRadioSwitchIsLinkDown() async throws {
        try kernel.addLink("wlan0", .wifi)
        try uplink("wlan0")
        var watcher = try Watcher(kernel.makeMonitor())
        try await watcher.expect(.wifi)
        try kernel.setUp("wlan0", false)
        try await watcher.expect(.offline, .linkDown)
    }

    @Test func aBondIsItsActivePort() async throws {
        try kernel.addLink("bond0", .bond, up: true)
        try kernel.addLink("eth0", .ethernet, up: true)
        try kernel.addLink("wlan0", .wifi, up: true)
        try kernel.setMaster("eth0", "bond0")
        try kernel.setMaster("wlan0", "bond0")
        try kernel.setActivePort(ofBond: "bond0", "eth0")
        try uplink("bond0")
        var watcher = try Watcher(kernel.makeMonitor())
        let path = try await watcher.expect(.wired, over: "bond0")
        #expect(path.via?.name == "eth0")
        // The cable goes, and the bond fails over.
        try kernel.together {
            try kernel.setCarrier("eth0", false)
            try kernel.setActivePort(ofBond: "bond0", "wlan0")
        }
        try await watcher.expect(.wifi, over: "bond0")
        try kernel.setCarrier("wlan0", false)
        try await watcher.expect(.offline, .noCarrier)
        #expect(watcher.statuses == [.wired, .wifi, .offline])
    }

    @Test func aVLANIsWhatItsParentIs() async throws {
        try kernel.addLink("wlan0", .wifi, up: true)
        try kernel.addLink("wlan0.5", .vlan(on: "wlan0"))
        try uplink("wlan0.5")
        var watcher = try Watcher(kernel.makeMonitor())
        let path = try await watcher.expect(.wifi, over: "wlan0.5")
        #expect(path.via?.name == "wlan0")
        try kernel.setCarrier("wlan0", false)
        try await watcher.expect(.offline, .noCarrier)
    }

    @Test func aParentInAnotherNamespaceIsInvisible() async throws {
        // The index of the parent is that of a link here, which it is not.
        try kernel.addLink("wlan0", .wifi)
        try kernel.addLink("eth0", .macvlanFromElsewhere)
        try uplink("eth0")
        var watcher = try Watcher(kernel.makeMonitor())
        let path = try await watcher.expect(.wired, over: "eth0")
        #expect(path.via?.name == "eth0")
    }

    @Test func aTunnelBoundToALinkSharesItsFate() async throws {
        try kernel.addLink("eth0", .ethernet)
        try uplink("eth0")
        try kernel.addLink("wwan0", .wwan, up: true)
        try kernel.addAddress("10.9.0.2/24", to: "wwan0")
        try kernel.addLink("ipip0", .tunnel("ipip", over: "wwan0"), up: true)
        try kernel.addAddress("10.8.0.2/32", to: "ipip0")
        try kernel.replaceRoute(SimulatedKernel.Route("default", over: "ipip0"))
        var watcher = try Watcher(kernel.makeMonitor())
        let path = try await watcher.expect(.wwan, over: "ipip0")
        #expect(path.via?.name == "wwan0")
        #expect(path.isExpensive)
    }

    @Test func aBroadbandLineIsWiredAndFollowsItsCable() async throws {
        try kernel.addLink("eth0", .ethernet, up: true)
        try kernel.addLink("ppp0", .pppoe(over: "eth0"), up: true)
        try kernel.addAddress("100.64.0.2/32", to: "ppp0", peer: "100.64.0.1")
        try kernel.addRoute(SimulatedKernel.Route("default", over: "ppp0"))
        var watcher = try Watcher(kernel.makeMonitor())
        let path = try await watcher.expect(.wired, over: "ppp0")
        #expect(path.via?.name == "eth0")
        #expect(!path.isExpensive)
        // ppp0 would notice after seven seconds.
        try kernel.setCarrier("eth0", false)
        try await watcher.expect(.offline, .noCarrier)
    }

    @Test func wireguardOverAModemIsExpensive() async throws {
        try kernel.connect("wwan0", address: "10.1.0.2/24", gateway: "10.1.0.1", metric: 700)
        try kernel.addLink("wg0", .wireguard, up: true)
        try kernel.addAddress("10.8.0.2/32", to: "wg0")
        var watcher = try Watcher(kernel.makeMonitor())
        try await watcher.expect(.wwan, over: "wwan0")
        try kernel.addRoute(SimulatedKernel.Route("default", over: "wg0"))
        let path = try await watcher.expect(.wwan, over: "wg0")
        #expect(path.isExpensive)
        #expect(path.interface?.type == .other)
        #expect(path.interfaces.map(\.name) == ["wg0", "wwan0"])
    }

    @Test func whatNl80211LearnsLaterCounts() async throws {
        // A driver without DEVTYPE looks like Ethernet, until somebody says otherwise.
        try kernel.addLink("eth1", .ethernet)
        try uplink("eth1")
        var watcher = try Watcher(kernel.makeMonitor())
        try await watcher.expect(.wired)
        try kernel.setHardware(SimulatedKernel.Hardware(hasPhy80211: true), of: "eth1")
        try await watcher.expect(.wifi)
    }

    @Test func theProgramKnowsBetter() async throws {
        try kernel.connect("eth0", address: "10.1.0.2/24", gateway: "10.1.0.1", metric: 100)
        let configuration = ReachabilityMonitor.Configuration(rules: [
            InterfaceRule("eth*", type: .wwan), InterfaceRule("*", isConstrained: true),
            InterfaceRule("cheap", isExpensive: false) { $0.name == "eth0" },
        ])
        var watcher = try Watcher(kernel.makeMonitor(configuration: configuration))
        let path = try await watcher.expect(.wwan)
        #expect(!path.isExpensive)
        #expect(path.isConstrained)
        #expect(path.interface?.evidence == .rule("eth*"))
        #expect(path.interface?.costEvidence == .rule("cheap"))
    }

    @Test func theTypeOfALinkFollowsItsName() async throws {
        try kernel.addLink("wlan0", .veth)
        try uplink("wlan0")
        var watcher = try Watcher(kernel.makeMonitor())
        try await watcher.expect(.wifi)
        try kernel.rename("wlan0", to: "eth9")
        try await watcher.expect(.wired, over: "eth9")
    }

    @Test func aDuplicateAddressIsNoAddress() async throws {
        kernel.detectsDuplicateAddresses = true
        try kernel.addLink("eth0", .ethernet, up: true)
        try kernel.addRoute(SimulatedKernel.Route("default", via: "fe80::1", over: "eth0"))
        try kernel.addAddress("2001:db8::2/64", to: "eth0")
        var watcher = try Watcher(kernel.makeMonitor())
        try await watcher.expect(.offline, .noAddress)
        try await watcher.expectNothing {
            try kernel.finishDuplicateDetection(of: "2001:db8::2", on: "eth0", isDuplicate: true)
        }
        try kernel.addAddress("2001:db8::3/64", to: "eth0")
        try kernel.finishDuplicateDetection(of: "2001:db8::3", on: "eth0")
        try await watcher.expect(.wired)
    }
}
