import CNamespace
import CNetlink
import Foundation
import NamespaceTools
import Netlink
import Reachability

/// The real kernel, in two network namespaces: the machine, and what its cables lead to. Both go with the bench.
final class LiveBench: TestBench {
    /// Root, or at least its capabilities, and iproute2.
    static let isPossible: Bool = {
        guard FileManager.default.isExecutableFile(atPath: Namespace.iproute2) else { return false }
        return (try? Namespace()) != nil
    }()

    private let machine: Namespace
    private let farSide: Namespace
    private let folder: URL
    /// What holds tunnels open.
    private var readers: [String: CInt] = [:]
    let feed: any NetlinkFeed

    init() throws {
        machine = try Namespace()
        farSide = try Namespace()
        folder = FileManager.default.temporaryDirectory.appendingPathComponent("bench-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        let resolver = folder.appendingPathComponent("resolv.conf")
        try Data().write(to: resolver)
        // The device files of this machine are about other links than those in the namespace.
        let empty = folder.path
        feed = NamespaceFeed(
            namespace: machine,
            feed: LiveFeed(devices: DeviceTree(sysfs: empty, procfs: empty), resolverPath: resolver.path))
        // Duplicate detection takes a second, and nobody else is there.
        for scope in ["all", "default"] { try set("ipv6/conf/\(scope)/accept_dad", "0") }
        try set("ipv4/conf/default/promote_secondaries", "0")
        try ip("link set lo up")
        try far("link set lo up")
    }

    deinit {
        for descriptor in readers.values { close(descriptor) }
        try? FileManager.default.removeItem(at: folder)
    }

    /// A setting under /proc/sys/net of the machine.
    func set(_ setting: String, _ value: String) throws {
        try machine.inside { try value.write(toFile: "/proc/sys/net/\(setting)", atomically: false, encoding: .utf8) }
    }

    func nic(_ name: String, index: Int?) throws {
        let number = index.map { "index \($0)" } ?? ""
        try ip("link add name \(name) \(number) type veth peer name \(name) netns \(farSide.path)")
        // The address makes the link-local one the same as the simulated kernel's.
        try ip("link set \(name) address \(Self.hardwareAddress(machine.inside { if_nametoindex(name) }))")
        try far("link set \(name) up")
        try ip("link set \(name) up")
    }

    private static func hardwareAddress(_ index: UInt32) -> String {
        let digits = String(index, radix: 16)
        return "02:00:00:00:00:" + String(repeating: "0", count: 2 - digits.count) + digits
    }

    func tun(_ name: String) throws { try setReader(name, true) }

    func setReader(_ name: String, _ isThere: Bool) throws {
        if let descriptor = readers.removeValue(forKey: name) {
            // Without this the device would go with its reader.
            if !isThere { try persist(descriptor) }
            close(descriptor)
        }
        guard isThere else { return }
        let descriptor = machine.inside { namespace_open_tun(name) }
        guard descriptor >= 0 else {
            throw CommandFailed(command: "tun \(name)", answer: Namespace.text(-descriptor))
        }
        readers[name] = descriptor
    }

    private func persist(_ descriptor: CInt) throws {
        let error = namespace_keep_tun(descriptor)
        if error != 0 { throw CommandFailed(command: "keep the tun", answer: Namespace.text(error)) }
    }

    func carrier(_ name: String, _ hasCarrier: Bool) throws {
        try far("link set \(name) \(hasCarrier ? "up" : "down")")
    }

    func setNameservers(_ addresses: [String]) throws {
        let text = addresses.map { "nameserver \($0)\n" }.joined()
        try text.write(to: folder.appendingPathComponent("resolv.conf"), atomically: true, encoding: .utf8)
    }

    func setShowsLegsOfNexthops(_ shows: Bool) throws { try set("ipv4/nexthop_compat_mode", shows ? "1" : "0") }

    func moveAway(_ name: String) throws { try ip("link set \(name) netns \(farSide.path) name \(name)-moved") }

    func detectDuplicates() throws {
        for scope in ["all", "default"] { try set("ipv6/conf/\(scope)/accept_dad", "1") }
    }

    /// The kernel does that by itself, about a second later.
    func finishDuplicateDetection(of address: String, on link: String) {}

    func forge(deletionOf name: String) throws {
        try machine.inside {
            let descriptor = socket(AF_NETLINK, CInt(SOCK_RAW.rawValue), NETLINK_ROUTE)
            defer { close(descriptor) }
            // struct nlmsghdr, then struct ifinfomsg.
            var message = [UInt32](repeating: 0, count: 8)
            message[0] = 32
            message[1] = UInt32(RTM_DELLINK)
            message[5] = if_nametoindex(name)
            var group = sockaddr_nl()
            group.nl_family = UInt16(AF_NETLINK)
            group.nl_groups = 1
            let sent = withUnsafePointer(to: &group) { group in
                group.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    sendto(descriptor, message, 32, 0, $0, socklen_t(MemoryLayout<sockaddr_nl>.size))
                }
            }
            if sent != 32 { throw CommandFailed(command: "(forge)", answer: Namespace.text(errno)) }
        }
    }

    func batch(_ commands: [String]) throws {
        let file = folder.appendingPathComponent("batch")
        try commands.joined(separator: "\n").write(to: file, atomically: false, encoding: .utf8)
        try ip("-batch \(file.path)")
    }

    func ip(_ command: String) throws { try machine.ip(command) }

    func far(_ command: String) throws { try farSide.ip(command) }
}

/// Opens conversations in a namespace, whichever thread asks.
struct NamespaceFeed: NetlinkFeed {
    let namespace: Namespace
    let feed: LiveFeed

    func open(watching destinations: [IPAddress]) throws(NetlinkError) -> sending any NetlinkConversation {
        try namespace.inside { () throws(NetlinkError) in try feed.open(watching: destinations) }
    }
}
