import Network
import Reachability
import ReachabilityTestKit
import TestSupport
import Testing

/// What the three kinds of monitors say of a simulated machine.
@Suite(.takingTurns) struct PathTests {
    private let kernel = SimulatedKernel()

    private func path() -> NWPath { NWPathMonitor(monitor: kernel.makeMonitor()).currentPath }

    private func path(requiring type: NWInterface.InterfaceType) -> NWPath {
        NWPathMonitor(monitor: kernel.makeMonitor(), requiredInterfaceType: type).currentPath
    }

    private func path(prohibiting types: NWInterface.InterfaceType...) -> NWPath {
        NWPathMonitor(monitor: kernel.makeMonitor(), prohibitedInterfaceTypes: types).currentPath
    }

    private func connect(_ name: String, _ network: Int, metric: Int = 100) throws {
        try kernel.connect(name, address: "10.\(network).0.2/24", gateway: "10.\(network).0.1", metric: metric)
    }

    private func used(_ path: NWPath) -> [NWInterface.InterfaceType] {
        [.other, .wifi, .cellular, .wiredEthernet, .loopback].filter(path.usesInterfaceType)
    }

    @Test func hasNothingToOfferWithoutAWayOut() {
        let path = path()
        #expect(path.status == .unsatisfied)
        #expect(path.unsatisfiedReason == .notAvailable)
        #expect(path.availableInterfaces.isEmpty)
        #expect(path.gateways.isEmpty)
        #expect(used(path).isEmpty)
        #expect(!path.supportsIPv4 && !path.supportsIPv6 && !path.supportsDNS)
        #expect(!path.isExpensive && !path.isConstrained && !path.isUltraConstrained)
        #expect(path.debugDescription == "unsatisfied (noInterface)")
    }

    @Test func describesWiFi() throws {
        try connect("wlan0", 1)
        kernel.nameservers = [IPAddress(10, 1, 0, 1)]
        let path = path()
        #expect(path.status == .satisfied)
        #expect(path.availableInterfaces.map(\.name) == ["wlan0"])
        #expect(path.availableInterfaces.map(\.type) == [.wifi])
        #expect(path.availableInterfaces.map(\.index) == [2])
        #expect(used(path) == [.wifi])
        #expect(path.gateways == [.hostPort(host: "10.1.0.1", port: 0)])
        #expect(path.supportsIPv4 && !path.supportsIPv6 && path.supportsDNS)
        #expect(!path.isExpensive && !path.isConstrained)
        #expect(path.linkQuality == .unknown)
        #expect(path.localEndpoint == nil && path.remoteEndpoint == nil)
        #expect(path.debugDescription == "satisfied, interfaces: wlan0[wifi], ipv4, dns, uses wifi")
    }

    @Test func callsAModemCellularAndExpensive() throws {
        try kernel.connect("wwan0", address: "100.64.0.2/32")
        let path = path()
        #expect(used(path) == [.cellular])
        #expect(path.isExpensive)
        #expect(path.gateways.isEmpty)
    }

    @Test func tellsWhatTheProgramHasMarkedAsConstrained() throws {
        try connect("wlan0", 1)
        let rule = InterfaceRule("wlan0", isConstrained: true)
        let monitor = kernel.makeMonitor(configuration: ReachabilityMonitor.Configuration(rules: [rule]))
        #expect(NWPathMonitor(monitor: monitor).currentPath.isConstrained)
    }

    @Test func listsInterfacesInOrderOfPreferenceAndUsesTheFirst() throws {
        try connect("wlan0", 1, metric: 600)
        try connect("eth0", 2, metric: 100)
        try kernel.connect("wwan0", address: "100.64.0.2/32", metric: 700)
        let path = path()
        #expect(path.availableInterfaces.map(\.type) == [.wiredEthernet, .wifi, .cellular])
        #expect(used(path) == [.wiredEthernet])
        #expect(!path.isExpensive)
    }

    @Test func showsAVPNAsOtherFollowedByWhatLiesBeneathAndUsesBoth() throws {
        try connect("wlan0", 1, metric: 600)
        try connect("wg0", 2, metric: 50)
        let path = path()
        #expect(path.availableInterfaces.map(\.name) == ["wg0", "wlan0"])
        #expect(path.availableInterfaces.map(\.type) == [.other, .wifi])
        #expect(used(path) == [.other, .wifi])
    }

    @Test func requiresAConnectionWhileALinkWaitsForAuthentication() throws {
        try connect("wlan0", 1)
        try kernel.setDormant("wlan0", true)
        #expect(path().status == .requiresConnection)
        #expect(path().unsatisfiedReason == .notAvailable)
        #expect(path(requiring: .wifi).status == .requiresConnection)
        #expect(path(requiring: .cellular).status == .unsatisfied)
    }

    @Test func namesTheInterfaceOfALinkLocalGatewayWhereThereIsButOne() throws {
        try kernel.connect("wlan0", address: "2001:db8::2/64", gateway: "fe80::1")
        let gateway = try #require(path().gateways.first)
        #expect("\(gateway)" == "fe80::1%wlan0.0")
        #expect(gateway.interface?.type == .wifi)
    }

    // MARK: Required types

    @Test func isUnsatisfiedWhereNothingHasTheRequiredType() throws {
        try connect("wlan0", 1)
        let path = path(requiring: .cellular)
        #expect(path.status == .unsatisfied)
        #expect(path.unsatisfiedReason == .notAvailable)
        #expect(path.availableInterfaces.isEmpty)
        #expect(self.path(requiring: .loopback).status == .unsatisfied)
    }

    @Test func isSatisfiedByTheRequiredTypeAlthoughTheKernelPrefersAnother() throws {
        try connect("eth0", 1, metric: 100)
        try connect("wlan0", 2, metric: 600)
        try kernel.connect("wlan0", address: "2001:db8::2/64", gateway: "2001:db8::1", metric: 600)
        try kernel.connect("wwan0", address: "100.64.0.2/32", metric: 700)
        let wifi = path(requiring: .wifi)
        #expect(wifi.status == .satisfied)
        #expect(wifi.availableInterfaces.map(\.name) == ["wlan0"])
        #expect(used(wifi) == [.wifi])
        #expect(wifi.supportsIPv4 && wifi.supportsIPv6)
        #expect(wifi.gateways.map { "\($0)" } == ["10.2.0.1:0", "2001:db8::1.0"])
        #expect(!wifi.isExpensive)
        let cellular = path(requiring: .cellular)
        #expect(cellular.status == .satisfied)
        #expect(cellular.supportsIPv4 && !cellular.supportsIPv6)
        #expect(cellular.isExpensive)
        #expect(used(path(requiring: .wiredEthernet)) == [.wiredEthernet])
    }

    @Test func isSatisfiedByWhatLiesBeneathAVPN() throws {
        try connect("wlan0", 1, metric: 600)
        try connect("wg0", 2, metric: 50)
        #expect(path(requiring: .wifi).availableInterfaces.map(\.name) == ["wlan0"])
        #expect(path(requiring: .other).availableInterfaces.map(\.name) == ["wg0"])
        #expect(path(requiring: .cellular).status == .unsatisfied)
    }

    @Test func tellsFamiliesApartThatGoDifferentWays() throws {
        try connect("eth0", 1, metric: 100)
        try kernel.connect("wlan0", address: "2001:db8::2/64", gateway: "2001:db8::1", metric: 600)
        let both = path(prohibiting: .cellular)
        #expect(both.supportsIPv4 && both.supportsIPv6)
        let wired = path(prohibiting: .wifi)
        #expect(wired.supportsIPv4 && !wired.supportsIPv6)
        #expect(used(wired) == [.wiredEthernet])
        let wifi = path(requiring: .wifi)
        #expect(!wifi.supportsIPv4 && wifi.supportsIPv6)
    }

    // MARK: Prohibited types

    @Test func saysWhatWasDenied() throws {
        try kernel.connect("wwan0", address: "100.64.0.2/32")
        #expect(path(prohibiting: .cellular).status == .unsatisfied)
        #expect(path(prohibiting: .cellular).unsatisfiedReason == .cellularDenied)
        #expect(path(prohibiting: .wifi).status == .satisfied)
        try kernel.removeLink("wwan0")
        try connect("wlan0", 1)
        #expect(path(prohibiting: .wifi, .cellular).unsatisfiedReason == .wifiDenied)
        #expect(path(prohibiting: .cellular).status == .satisfied)
        try kernel.removeLink("wlan0")
        #expect(path(prohibiting: .wifi).unsatisfiedReason == .notAvailable)
        try connect("eth0", 1)
        #expect(path(prohibiting: .wiredEthernet).unsatisfiedReason == .notAvailable)
    }

    @Test func leavesTheProhibitedOutAndTakesTheNext() throws {
        try kernel.connect("wwan0", address: "100.64.0.2/32", metric: 50)
        try connect("wlan0", 1, metric: 600)
        let path = path(prohibiting: .cellular)
        #expect(path.status == .satisfied)
        #expect(path.availableInterfaces.map(\.name) == ["wlan0"])
        #expect(used(path) == [.wifi])
        #expect(!path.isExpensive)
        #expect(path.gateways == [.hostPort(host: "10.1.0.1", port: .any)])
    }

    @Test func takesNoTunnelOverTheProhibited() throws {
        try kernel.connect("wwan0", address: "100.64.0.2/32", metric: 600)
        try connect("wg0", 2, metric: 50)
        let path = path(prohibiting: .cellular)
        #expect(path.status == .unsatisfied)
        #expect(path.unsatisfiedReason == .cellularDenied)
        #expect(self.path(prohibiting: .other).availableInterfaces.map(\.name) == ["wwan0"])
    }

    @Test func keepsWhatAVPNUsesWhereOnlySomethingElseIsProhibited() throws {
        try connect("wlan0", 1, metric: 600)
        try connect("wg0", 2, metric: 50)
        try kernel.connect("wwan0", address: "100.64.0.2/32", metric: 700)
        let path = path(prohibiting: .cellular)
        #expect(path.availableInterfaces.map(\.name) == ["wg0", "wlan0"])
        #expect(used(path) == [.other, .wifi])
        #expect(path.supportsIPv4)
    }
}
