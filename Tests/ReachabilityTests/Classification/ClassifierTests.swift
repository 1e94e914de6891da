import Netlink
import TestSupport
import Testing

@testable import Reachability

/// The ladder of evidence, on what the kernel shows of each kind of device (recorded on Linux 6.1 and 6.12).
@Suite(.takingTurns) struct ClassifierTests {
    private func classify(_ link: LinkMessage, _ facts: DeviceFacts = DeviceFacts(), rules: [InterfaceRule] = [])
        -> Classification
    {
        Classifier(rules: rules).classify(link, facts)
    }

    private static let hardware = DeviceFacts(hasDevice: true)

    struct Case: Sendable, CustomTestStringConvertible {
        var what: String
        var link: LinkMessage
        var facts = DeviceFacts()
        var type: NetworkInterface.InterfaceType
        var evidence: Evidence
        var isExpensive = false

        var testDescription: String { what }
    }

    static let cases: [Case] = [
        Case(
            what: "Wi-Fi station renamed", link: LinkMessage(index: 3, name: "lan7"),
            facts: DeviceFacts(wirelessMode: .station, devtype: "wlan", hasPhy80211: true, hasDevice: true),
            type: .wifi,
            evidence: .nl80211(mode: "station")),
        Case(
            what: "Wi-Fi without nl80211", link: LinkMessage(index: 3, name: "lan7"),
            facts: DeviceFacts(devtype: "wlan", hasPhy80211: true, hasDevice: true), type: .wifi,
            evidence: .devtype("wlan")),
        Case(
            what: "Wi-Fi driver without DEVTYPE", link: LinkMessage(index: 3, name: "lan7"),
            facts: DeviceFacts(hasPhy80211: true, hasDevice: true), type: .wifi, evidence: .phy80211),
        Case(
            what: "PCI Ethernet", link: LinkMessage(index: 2, name: "enp3s0", bus: "pci"), facts: hardware,
            type: .wired,
            evidence: .name("enp3s0")),
        Case(
            what: "PCI Ethernet renamed", link: LinkMessage(index: 2, name: "lan0", bus: "pci"), facts: hardware,
            type: .wired, evidence: .ethernetDevice),
        Case(
            what: "veth renamed like Wi-Fi", link: LinkMessage(index: 5, name: "wlan9", kind: "veth"), type: .wifi,
            evidence: .name("wlan9")),
        Case(
            what: "veth with a name that says nothing", link: LinkMessage(index: 5, name: "x-veth", kind: "veth"),
            type: .other, evidence: .nothing),
        Case(
            what: "cdc_ether modem", link: LinkMessage(index: 8, name: "usb0", bus: "usb"),
            facts: DeviceFacts(devtype: "wwan", driver: "cdc_ether", hasDevice: true), type: .wwan,
            evidence: .devtype("wwan"), isExpensive: true),
        Case(
            what: "qmi_wwan modem in raw IP mode",
            link: LinkMessage(index: 8, name: "wwp0s20u4", hardwareType: ARPHRD.none, bus: "usb"),
            facts: DeviceFacts(devtype: "wwan", driver: "qmi_wwan", hasDevice: true), type: .wwan,
            evidence: .devtype("wwan"), isExpensive: true),
        Case(
            what: "modem known by its driver alone", link: LinkMessage(index: 8, name: "lan9", bus: "usb"),
            facts: DeviceFacts(driver: "cdc_mbim", hasDevice: true), type: .wwan, evidence: .driver("cdc_mbim"),
            isExpensive: true),
        Case(
            what: "channel of the WWAN framework",
            link: LinkMessage(index: 9, name: "modem2", hardwareType: ARPHRD.none, kind: "wwan"), type: .wwan,
            evidence: .kind("wwan"), isExpensive: true),
        Case(
            what: "raw IP by hardware type", link: LinkMessage(index: 9, name: "data0", hardwareType: ARPHRD.rawIP),
            type: .wwan, evidence: .hardwareType(519), isExpensive: true),
        Case(
            what: "qmimux channel whose modem is out of sight",
            link: LinkMessage(index: 9, name: "qmimux0", hardwareType: ARPHRD.none),
            facts: DeviceFacts(lowerLinks: ["wwan0"]), type: .wwan, evidence: .lowerLink("wwan0"), isExpensive: true),
        Case(
            what: "serial PPP", link: LinkMessage(index: 9, name: "uplink", hardwareType: ARPHRD.ppp, kind: "ppp"),
            type: .wwan, evidence: .kind("ppp"), isExpensive: true),
        Case(
            what: "PPPoE", link: LinkMessage(index: 9, name: "ppp0", hardwareType: ARPHRD.ppp, kind: "ppp"),
            facts: DeviceFacts(pppoeDevices: ["dsl"]), type: .wired, evidence: .pppoe(over: "dsl")),
        Case(
            what: "phone on rndis_host", link: LinkMessage(index: 9, name: "usb1", bus: "usb"),
            facts: DeviceFacts(driver: "rndis_host", hasDevice: true), type: .wired, evidence: .driver("rndis_host"),
            isExpensive: true),
        Case(
            what: "phone on cdc_ncm", link: LinkMessage(index: 9, name: "enx0200", bus: "usb"),
            facts: DeviceFacts(driver: "cdc_ncm", hasDevice: true), type: .wired, evidence: .driver("cdc_ncm"),
            isExpensive: true),
        Case(
            what: "iPhone on ipheth", link: LinkMessage(index: 9, name: "eth1", bus: "usb"),
            facts: DeviceFacts(driver: "ipheth", hasDevice: true), type: .wired, evidence: .driver("ipheth"),
            isExpensive: true),
        Case(
            what: "Bluetooth PAN", link: LinkMessage(index: 9, name: "bnep0"),
            facts: DeviceFacts(devtype: "bluetooth", hasDevice: true), type: .other, evidence: .devtype("bluetooth"),
            isExpensive: true),
        Case(
            what: "WireGuard", link: LinkMessage(index: 9, name: "eth7", hardwareType: ARPHRD.none, kind: "wireguard"),
            type: .other, evidence: .kind("wireguard")),
        Case(
            what: "ipip", link: LinkMessage(index: 9, name: "tunl0", hardwareType: ARPHRD.tunnel, kind: "ipip"),
            type: .other, evidence: .kind("ipip")),
    ]

    @Test(arguments: cases) func tellsWhatADeviceIs(_ device: Case) {
        let result = classify(device.link, device.facts)
        #expect(result.type == device.type)
        #expect(result.evidence == device.evidence)
        #expect(result.isExpensive == device.isExpensive)
    }

    @Test(arguments: [DeviceFacts.WirelessMode.accessPoint, .monitor, .mesh])
    func wirelessModesThatLeadNowhereAreNoWayOut(_ mode: DeviceFacts.WirelessMode) {
        #expect(classify(LinkMessage(index: 3, name: "wlan0"), DeviceFacts(wirelessMode: mode)).role == .noWayOut)
    }

    @Test(arguments: [DeviceFacts.WirelessMode.station, .p2p, .adHoc, .other])
    func otherWirelessModesLeadOut(_ mode: DeviceFacts.WirelessMode) {
        #expect(classify(LinkMessage(index: 3, name: "wlan0"), DeviceFacts(wirelessMode: mode)).role == .own)
    }

    @Test func whatTheProgramSaysComesFirst() {
        let result = classify(
            LinkMessage(index: 3, name: "wlan0"), DeviceFacts(wirelessMode: .station),
            rules: [InterfaceRule("wl*", type: .wwan, isExpensive: false)])
        #expect(result.type == .wwan)
        #expect(result.evidence == .rule("wl*"))
        #expect(!result.isExpensive)
    }

    @Test func aMultiplexedChannelIsCarriedByWhatLiesBeneath() {
        let link = LinkMessage(index: 9, name: "qmimux0", hardwareType: ARPHRD.none)
        #expect(classify(link, DeviceFacts(lowerLinks: ["modem"])).role == .session(over: ["modem"]))
    }
}
