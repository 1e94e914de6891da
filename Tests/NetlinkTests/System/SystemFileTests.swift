import Foundation
import TestSupport
import Testing

@testable import Netlink

@Suite(.takingTurns) struct SystemFileTests {
    @Test func nameserversAreReadAsTheResolverReadsThem() {
        let text = """
            # made by hand
            search example.org
            nameserver 10.1.0.1
            nameserver\t2001:db8::53
            nameserver fe80::1%eth0
            #nameserver 10.9.9.9
            nameserver
            nameserver example.org
            options nameserver 10.8.8.8
            """
        #expect(
            ResolverFile.nameservers(in: text).map(\.description) == ["10.1.0.1", "2001:db8::53", "fe80::1"])
        #expect(ResolverFile.nameservers(in: "") == [])
    }

    @Test func deviceFilesOfAnotherNamespaceAreNotBelieved() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("sys-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let link = folder.appendingPathComponent("class/net/wlan0")
        try FileManager.default.createDirectory(
            at: link.appendingPathComponent("phy80211"), withIntermediateDirectories: true)
        try "DEVTYPE=wlan\nINTERFACE=wlan0\nIFINDEX=3\n".write(
            to: link.appendingPathComponent("uevent"), atomically: true, encoding: .utf8)
        let tree = DeviceTree(sysfs: folder.path, procfs: folder.path)
        let facts = tree.facts(of: LinkMessage(index: 3, name: "wlan0"))
        #expect(facts.devtype == "wlan")
        #expect(facts.hasPhy80211)
        // The same name, and another index: another link.
        #expect(tree.facts(of: LinkMessage(index: 4, name: "wlan0")) == DeviceFacts())
        #expect(tree.facts(of: LinkMessage(index: 3, name: "eth0")) == DeviceFacts())
    }

    @Test func theDriverIsTheEndOfALink() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("sys-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let link = folder.appendingPathComponent("class/net/usb0")
        try FileManager.default.createDirectory(
            at: link.appendingPathComponent("device"), withIntermediateDirectories: true)
        try "IFINDEX=5\n".write(to: link.appendingPathComponent("uevent"), atomically: true, encoding: .utf8)
        try FileManager.default.createSymbolicLink(
            atPath: link.appendingPathComponent("device/driver").path,
            withDestinationPath: "../../../bus/usb/drivers/rndis_host")
        let facts = DeviceTree(sysfs: folder.path, procfs: folder.path).facts(of: LinkMessage(index: 5, name: "usb0"))
        #expect(facts.driver == "rndis_host")
        #expect(facts.hasDevice)
    }

    @Test func aWakeDescriptorRingsUntilItIsSilenced() throws {
        func isRinging(_ wake: WakeDescriptor) -> Bool {
            var descriptor = pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0)
            return poll(&descriptor, 1, 0) == 1
        }
        let wake = try WakeDescriptor()
        #expect(!isRinging(wake))
        wake.ring()
        wake.ring()
        #expect(isRinging(wake))
        wake.silence()
        #expect(!isRinging(wake))
        wake.silence()
        wake.ring()
        #expect(isRinging(wake))
    }
}

@Suite(.takingTurns) struct NetlinkErrorTests {
    @Test(arguments: [
        (EMFILE, "ulimit -n"), (ENFILE, "this system"), (EPERM, "AF_NETLINK"), (EACCES, "AF_NETLINK"),
        (EAFNOSUPPORT, "no rtnetlink"), (ENOMEM, "memory"), (EAGAIN, "ulimit -u"), (EIO, "try again"),
    ]) func theTextSaysWhatFailedAndWhatToDo(_ errno: CInt, advice: String) {
        let error = NetlinkError(.lookUpRoute, errno: errno)
        #expect(error.description.contains("cannot look up a route"))
        #expect(error.description.contains(String(cString: strerror(errno))))
        #expect(error.description.contains("errno \(errno)"))
        #expect(error.description.contains(advice))
    }
}
