import Foundation
import Glibc
import TestSupport
import Testing

@testable import Netlink

/// What the device files say, from files that a test has written.
@Suite(.takingTurns) struct DeviceTreeTests {
    /// A /sys and a /proc of its own.
    private final class Files {
        let root = FileManager.default.temporaryDirectory.appending(path: "devices-\(UUID().uuidString)")
        var tree: DeviceTree { DeviceTree(sysfs: root.path, procfs: root.path) }

        deinit { try? FileManager.default.removeItem(at: root) }

        func write(_ path: String, _ text: String) throws {
            let file = root.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data(text.utf8).write(to: file)
        }

        func link(_ path: String, to target: String) throws {
            let file = root.appending(path: path)
            try FileManager.default.createDirectory(
                at: file.deletingLastPathComponent(), withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(atPath: file.path, withDestinationPath: target)
        }
    }

    private let files = Files()

    @Test func readsTypeDriverAndRadio() throws {
        try files.write("class/net/wlan0/uevent", "DEVTYPE=wlan\nINTERFACE=wlan0\nIFINDEX=3\n")
        try files.write("class/net/wlan0/phy80211/index", "0\n")
        try files.link("class/net/wlan0/device/driver", to: "../../../../bus/pci/drivers/iwlwifi")
        let facts = files.tree.facts(of: LinkMessage(index: 3, name: "wlan0"))
        #expect(facts == DeviceFacts(devtype: "wlan", hasPhy80211: true, driver: "iwlwifi", hasDevice: true))
    }

    @Test func anotherLinkOfThatNameInAnotherNamespaceIsNotItsBusiness() throws {
        try files.write("class/net/eth0/uevent", "DEVTYPE=wlan\nINTERFACE=eth0\nIFINDEX=3\n")
        #expect(files.tree.facts(of: LinkMessage(index: 2, name: "eth0")) == DeviceFacts())
    }

    @Test func aVirtualLinkIsNotLookedUp() throws {
        try files.write("class/net/br0/uevent", "DEVTYPE=bridge\nINTERFACE=br0\nIFINDEX=4\n")
        #expect(files.tree.facts(of: LinkMessage(index: 4, name: "br0", kind: "bridge")) == DeviceFacts())
    }

    @Test func findsWhatIsBeneathAChannelOfAModem() throws {
        try files.write("class/net/qmimux0/uevent", "INTERFACE=qmimux0\nIFINDEX=9\n")
        try files.link("class/net/qmimux0/lower_wwp0s20", to: "../wwp0s20")
        let channel = LinkMessage(index: 9, name: "qmimux0", hardwareType: ARPHRD.none)
        #expect(files.tree.facts(of: channel).lowerLinks == ["wwp0s20"])
    }

    @Test func listsADeviceForEachPPPoESession() throws {
        try files.write(
            "thread-self/net/pppoe",
            "Id       Address              Device\n00000001 02:00:00:00:00:01     dsl\n00000002 02:00:00:00:00:01     dsl\n"
        )
        let link = LinkMessage(index: 9, name: "ppp0", hardwareType: ARPHRD.ppp, kind: "ppp")
        #expect(files.tree.facts(of: link).pppoeDevices == ["dsl", "dsl"])
    }

    @Test func withoutAnyFilesNothingIsKnown() {
        #expect(files.tree.facts(of: LinkMessage(index: 1, name: "lo")) == DeviceFacts())
    }
}

@Suite(.takingTurns) struct WirelessSocketTests {
    @Test func loopbackIsNoRadioWhetherThereAreRadiosOrNot() throws {
        var socket = try WirelessSocket()
        let loopback = LinkMessage(index: 1, name: "lo", hardwareType: ARPHRD.loopback)
        socket.links(are: [loopback])
        #expect(socket.mode(of: loopback) == nil)
        #expect(socket.details(of: 1) == nil)
        var events: [NetlinkEvent] = []
        let hasMore = try socket.drain(into: &events)
        #expect(!hasMore)
    }

    private static let module = "/sys/module/cfg80211"

    /// Whether the kernel would load the module for who asks for the family by its name.
    private static let wouldLoadTheModule: Bool = {
        var system = utsname()
        guard uname(&system) == 0, !FileManager.default.fileExists(atPath: module) else { return false }
        let release = withUnsafeBytes(of: system.release) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
        let aliases = try? String(contentsOfFile: "/lib/modules/\(release)/modules.alias", encoding: .utf8)
        return aliases?.contains("net-pf-16-proto-16-family-nl80211") ?? false
    }()

    @Test(.enabled(if: wouldLoadTheModule, "needs a kernel that has cfg80211 as a module and has not loaded it"))
    func asksForNoFamilyByNameSoThatNoModuleIsLoaded() throws {
        _ = try WirelessSocket()
        #expect(!FileManager.default.fileExists(atPath: Self.module))
    }
}
