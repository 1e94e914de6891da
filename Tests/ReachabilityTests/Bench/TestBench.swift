import NamespaceTools
import Netlink
import Reachability
import TestSupport
import Testing

/// A machine whose network a test can take apart: simulated, or the real kernel in namespaces of its own.
protocol TestBench: AnyObject {
    /// Makes an Ethernet-like link with a cable in it, up; with an ifindex of its own, if it is to have one.
    func nic(_ name: String, index: Int?) throws
    /// Makes a layer-3 tunnel that somebody reads from, as a VPN client does; not up yet.
    func tun(_ name: String) throws
    /// The reader of a tunnel goes, or comes back.
    func setReader(_ name: String, _ isThere: Bool) throws
    /// Plugs in or unplugs a cable.
    func carrier(_ name: String, _ hasCarrier: Bool) throws
    /// A command of iproute2, without the first word.
    func ip(_ command: String) throws
    /// What resolv.conf lists.
    func setNameservers(_ addresses: [String]) throws
    /// `net.ipv4.nexthop_compat_mode`
    func setShowsLegsOfNexthops(_ shows: Bool) throws
    /// Moves a link to another namespace.
    func moveAway(_ name: String) throws
    /// Makes new IPv6 addresses wait for duplicate detection, which finds nothing.
    func detectDuplicates() throws
    /// Another process than the kernel says that a link is gone.
    func forge(deletionOf name: String) throws
    /// Many commands of iproute2 at once.
    func batch(_ commands: [String]) throws
    /// Duplicate detection has found nothing. The real kernel comes to that by itself.
    func finishDuplicateDetection(of address: String, on link: String) throws
    /// The kernel, for monitors and for questions.
    var feed: any NetlinkFeed { get }
}

extension TestBench {
    func nic(_ name: String) throws { try nic(name, index: nil) }

    func ip(_ commands: [String]) throws { for command in commands { try ip(command) } }

    /// A link with a cable, an address and a default route.
    func uplink(_ name: String, _ network: Int, metric: Int = 0) throws {
        try nic(name)
        try ip("addr add 10.\(network).0.2/24 dev \(name)")
        try ip("route add default via 10.\(network).0.1 dev \(name) metric \(metric)")
    }

    func makeMonitor(
        _ configuration: ReachabilityMonitor.Configuration = ReachabilityMonitor.Configuration()
    ) -> ReachabilityMonitor {
        ReachabilityMonitor(configuration: configuration, feed: AnyFeed(feed: feed))
    }
}

/// A feed as a value of a type that can be named.
struct AnyFeed: NetlinkFeed {
    let feed: any NetlinkFeed

    func open(watching destinations: [IPAddress]) throws(NetlinkError) -> sending any NetlinkConversation {
        try feed.open(watching: destinations)
    }
}

/// The benches there are.
enum Bench: String, CaseIterable, CustomTestStringConvertible {
    case simulated
    case live

    /// The live one is left out where it cannot be had, which `LiveBenchTests` says, but never in CI, where it has to fail.
    static var all: [Bench] { LiveBench.isPossible || isEverythingRequired ? [.simulated, .live] : [.simulated] }

    var testDescription: String { rawValue }

    func make() throws -> any TestBench {
        switch self {
        case .simulated: SimulatedBench()
        case .live: try LiveBench()
        }
    }
}
