import Netlink
import TestSupport
import Testing

@testable import Reachability

/// When a link is looked at again, and when not.
@Suite(.takingTurns) struct ReclassificationTests {
    /// What the device files say, and how often they were asked.
    private final class Devices {
        var facts: [Int32: DeviceFacts] = [:]
        private(set) var questions = 0

        func of(_ link: LinkMessage) -> DeviceFacts {
            questions += 1
            return facts[link.index] ?? DeviceFacts()
        }
    }

    private static func ppp(_ index: Int32, flags: LinkFlags = []) -> LinkMessage {
        LinkMessage(index: index, name: "ppp\(index)", hardwareType: ARPHRD.ppp, flags: flags, kind: "ppp")
    }

    private let devices = Devices()
    private var state = MachineState(rules: [])

    private func type(_ index: Int32) -> NetworkInterface.InterfaceType? { state.classifications[index]?.type }
    private func evidence(_ index: Int32) -> Evidence? { state.classifications[index]?.evidence }

    @Test mutating func aNewNameIsNewEvidence() {
        state.update(LinkMessage(index: 5, name: "x", kind: "veth"), device: devices.of)
        #expect(type(5) == .other)
        state.update(LinkMessage(index: 5, name: "wlan9", kind: "veth"), device: devices.of)
        #expect(type(5) == .wifi)
        #expect(evidence(5) == .name("wlan9"))
    }

    @Test mutating func aRenameDoesNotMakeWiFiAnythingElse() {
        devices.facts[3] = DeviceFacts(wirelessMode: .station)
        state.update(LinkMessage(index: 3, name: "wlan0"), device: devices.of)
        state.update(LinkMessage(index: 3, name: "eth5"), device: devices.of)
        #expect(evidence(3) == .nl80211(mode: "station"))
    }

    @Test mutating func changesOfStateDoNotAskTheDeviceFilesAgain() {
        devices.facts[3] = DeviceFacts(devtype: "wlan")
        state.update(LinkMessage(index: 3, name: "wlan0"), device: devices.of)
        state.update(LinkMessage(index: 3, name: "wlan0", flags: [.up]), device: devices.of)
        state.update(LinkMessage(index: 3, name: "wlan0", flags: [.up, .running]), device: devices.of)
        #expect(devices.questions == 1)
    }

    @Test mutating func aDescriptionThatComesLateIsSeenWhenTheLinkBecomesUsable() {
        state.update(LinkMessage(index: 8, name: "lan8", bus: "usb"), device: devices.of)
        #expect(type(8) == .wired)
        devices.facts[8] = DeviceFacts(devtype: "wwan", hasDevice: true)
        state.update(LinkMessage(index: 8, name: "lan8", flags: [.up, .running], bus: "usb"), device: devices.of)
        #expect(type(8) == .wwan)
        #expect(devices.questions == 2)
    }

    @Test mutating func virtualLinksAreNotAskedAboutWhenTheyComeUp() {
        state.update(LinkMessage(index: 5, name: "veth1", kind: "veth"), device: devices.of)
        state.update(LinkMessage(index: 5, name: "veth1", flags: [.up, .running], kind: "veth"), device: devices.of)
        #expect(devices.questions == 1)
    }

    @Test mutating func aLateAnswerOfNl80211Counts() {
        state.update(LinkMessage(index: 3, name: "wlan0"), device: devices.of)
        #expect(evidence(3) == .name("wlan0"))
        devices.facts[3] = DeviceFacts(wirelessMode: .accessPoint)
        let changed = state.refreshDevice(3, device: devices.of)
        #expect(changed)
        #expect(state.classifications[3]?.role == .noWayOut)
        let changedAgain = state.refreshDevice(3, device: devices.of)
        #expect(!changedAgain)
    }

    @Test mutating func aModemThatIsRenamedIsStillFoundBeneathItsChannels() {
        devices.facts[4] = DeviceFacts(devtype: "wwan")
        devices.facts[9] = DeviceFacts(lowerLinks: ["wwan0"])
        state.update(LinkMessage(index: 4, name: "wwan0", flags: [.up, .running]), device: devices.of)
        state.update(
            LinkMessage(index: 9, name: "qmimux0", hardwareType: ARPHRD.none, flags: [.up, .running]),
            device: devices.of)
        #expect(state.medium(of: 9) == .physical(4))
        devices.facts[9] = DeviceFacts(lowerLinks: ["modem"])
        state.update(LinkMessage(index: 4, name: "modem", flags: [.up, .running]), device: devices.of)
        #expect(state.medium(of: 9) == .physical(4))
    }

    // MARK: PPP

    @Test mutating func asManySessionsAsLinksMeansThatAllArePPPoE() {
        for index: Int32 in [7, 8] { devices.facts[index] = DeviceFacts(pppoeDevices: ["eth0", "eth1"]) }
        state.update(Self.ppp(7), device: devices.of)
        state.update(Self.ppp(8), device: devices.of)
        #expect(type(7) == .wired)
        #expect(type(8) == .wired)
        #expect(evidence(8) == .pppoe(over: "eth0 or eth1"))
    }

    @Test mutating func fewerSessionsThanLinksMeansThatAnyMayBeTheModems() {
        for index: Int32 in [7, 8] { devices.facts[index] = DeviceFacts(pppoeDevices: ["eth0"]) }
        state.update(Self.ppp(7), device: devices.of)
        #expect(type(7) == .wired)
        state.update(Self.ppp(8), device: devices.of)
        #expect(type(7) == .wwan)
        #expect(type(8) == .wwan)
        _ = state.removeLink(8)
        #expect(type(7) == .wired)
    }

    @Test mutating func aSessionThatIsListedLaterThanTheLinkCounts() {
        state.update(Self.ppp(7), device: devices.of)
        #expect(type(7) == .wwan)
        devices.facts[7] = DeviceFacts(pppoeDevices: ["eth0"])
        state.update(Self.ppp(7, flags: [.up, .running]), device: devices.of)
        #expect(type(7) == .wired)
    }
}
