public import Netlink

/// An IPv4 or IPv6 address, as a value.
public typealias IPAddress = Netlink.IPAddress

/// A failed conversation with the kernel: what was being asked, and the error number.
public typealias NetlinkError = Netlink.NetlinkError

/// How the next packet would leave this machine, and what it costs.
///
/// A value: two paths are equal when no program could tell them apart. Address lifetimes, statistics, neighbours and routes that
/// change nothing are not part of it, so refreshes by DHCP or router advertisements leave it as it was.
public struct NetworkPath: Sendable, Hashable {
    /// The kind of network that packets leave by.
    ///
    /// It never understates the cost: where several links carry traffic (one for each address family, or several legs of a
    /// multipath route) it is that of the costliest: `wwan`, then `other`, then `wifi`, then `wired`.
    public enum Status: String, Sendable, Hashable, Codable, CaseIterable {
        /// Nothing has been read yet. Never seen after the first snapshot.
        case unknown
        /// No way out. ``NetworkPath/reason`` says how far the best candidate got.
        case offline
        case wifi
        /// A modem: cellular, or a dial-up line.
        case wwan
        /// Ethernet, and what is stacked on it.
        case wired
        /// A way out over a medium that cannot be told, such as a tunnel in a namespace that has nothing else.
        case other
    }

    /// How far the best candidate for a way out got, from least to most.
    public enum OfflineReason: String, Sendable, Hashable, Codable, CaseIterable {
        /// There is no interface that leads out: none but loopback, access points, monitors and dummies.
        case noInterface
        /// Not switched on (IFF_UP is missing).
        case linkDown
        /// Switched on, and no cable, access point or line at the other end.
        case noCarrier
        /// Carrier, and authentication is pending: Wi-Fi before its keys, 802.1X (operstate DORMANT).
        case dormant
        /// Usable, and no address that reaches beyond the link.
        case noAddress
        /// An address, and no route.
        case noRoute
        /// The routing tables say blackhole, unreachable or prohibit.
        case unreachableRoute
        /// The machine has a way out, and the name of the host no address. Only in paths to host names.
        case unresolvedName
    }

    /// How the monitor learns of changes.
    public enum Updates: Sendable, Hashable {
        /// The kernel sends notifications: changes arrive in a fraction of a millisecond.
        case events
        /// The kernel can be asked but sends no notifications here (some sandboxes), because of the given error: changes arrive at
        /// the next poll.
        case polling(because: NetlinkError)
        /// The kernel could not be asked again, because of the given error: the path is the last one known, and attempts go on.
        case stale(because: NetlinkError)
    }

    /// The kind of network, `offline` or `unknown`.
    public var status: Status { box.facts.status }

    /// Why there is no way out; `nil` unless ``status`` is `offline`.
    public var reason: OfflineReason? { box.facts.reason }

    /// The interface the kernel hands packets to, such as a VPN's tunnel or a bridge; `nil` when offline.
    ///
    /// Where the address families use different interfaces it is the one that gives the status.
    public var interface: NetworkInterface? { box.facts.interface }

    /// The physical interface beneath ``interface``; the same where nothing is stacked.
    public var via: NetworkInterface? { box.facts.via }

    /// All interfaces with a way out, in the kernel's order of preference. A tunnel is followed by what lies beneath it.
    public var interfaces: [NetworkInterface] { box.facts.interfaces }

    /// The next hops, from the answers to the route lookups: IPv4 first. Empty on links without one, such as modems.
    public var gateways: [IPAddress] { box.facts.gateways }

    /// The source addresses that new connections get, from the same answers.
    public var sourceAddresses: [IPAddress] { box.facts.sourceAddresses }

    /// There is a way out for IPv4: a route, a usable link and a source address.
    public var supportsIPv4: Bool { box.facts.supportsIPv4 }

    /// There is a way out for IPv6: a route, a usable link and a source address.
    public var supportsIPv6: Bool { box.facts.supportsIPv6 }

    /// There is a way out, and resolv.conf lists a name server.
    public var supportsDNS: Bool { box.facts.supportsDNS }

    /// Any interface that carries traffic costs money by volume; ``NetworkInterface/costEvidence`` says how that is known.
    public var isExpensive: Bool { box.facts.isExpensive }

    /// Any interface that carries traffic has been marked by the program as one to be sparing on (``InterfaceRule``).
    public var isConstrained: Bool { box.facts.isConstrained }

    /// How changes are learnt of.
    public var updates: Updates { box.facts.updates }

    // MARK: Storage

    /// What a path consists of; the properties above say what it means.
    private struct Facts: Sendable, Hashable {
        var status: Status
        var reason: OfflineReason?
        var interface: NetworkInterface?
        var via: NetworkInterface?
        var interfaces: [NetworkInterface]
        var gateways: [IPAddress]
        var sourceAddresses: [IPAddress]
        var supportsIPv4: Bool
        var supportsIPv6: Bool
        var supportsDNS: Bool
        var isExpensive: Bool
        var isConstrained: Bool
        var updates: Updates
    }

    private final class Box: Sendable {
        let facts: Facts

        init(_ facts: Facts) { self.facts = facts }
    }

    /// One reference, so that to hand a path to a subscriber costs a retain, not a copy of every name in it.
    private let box: Box

    public static func == (one: NetworkPath, other: NetworkPath) -> Bool {
        one.box === other.box || one.box.facts == other.box.facts
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(box.facts) }

    package init(
        status: Status, reason: OfflineReason? = nil, interface: NetworkInterface? = nil, via: NetworkInterface? = nil,
        interfaces: [NetworkInterface] = [], gateways: [IPAddress] = [], sourceAddresses: [IPAddress] = [],
        supportsIPv4: Bool = false, supportsIPv6: Bool = false, supportsDNS: Bool = false, isExpensive: Bool = false,
        isConstrained: Bool = false, updates: Updates = .events
    ) {
        let facts = Facts(
            status: status, reason: reason, interface: interface, via: via, interfaces: interfaces, gateways: gateways,
            sourceAddresses: sourceAddresses, supportsIPv4: supportsIPv4, supportsIPv6: supportsIPv6,
            supportsDNS: supportsDNS, isExpensive: isExpensive, isConstrained: isConstrained, updates: updates)
        box = Box(facts)
    }

    private init(_ facts: Facts) { box = Box(facts) }

    /// The same path, learnt of in another way.
    func updated(by updates: Updates) -> NetworkPath {
        var facts = box.facts
        facts.updates = updates
        return NetworkPath(facts)
    }

    /// The path before anything has been read.
    package static let unknown = NetworkPath(status: .unknown)

    /// There is a way out: the status is neither `unknown` nor `offline`.
    public var isOnline: Bool { status.isOnline }
}

extension NetworkPath.OfflineReason: Comparable {
    /// Further along the way to a working network is greater.
    public static func < (one: Self, other: Self) -> Bool {
        // `allCases` is in the order of the declaration, which is the order of progress.
        let order = Self.allCases
        return (order.firstIndex(of: one) ?? 0) < (order.firstIndex(of: other) ?? 0)
    }
}

extension NetworkPath.Status {
    /// There is a way out: neither `unknown` nor `offline`.
    public var isOnline: Bool { self != .unknown && self != .offline }

    /// Costlier is greater; without a way out there is no cost.
    package var costRank: Int {
        switch self {
        case .unknown, .offline: 0
        case .wired: 1
        case .wifi: 2
        case .other: 3
        case .wwan: 4
        }
    }
}

extension NetworkPath: CustomStringConvertible {
    /// One line for people, such as `wifi over wlan0 via 10.1.0.1, IPv4 IPv6 DNS`.
    public var description: String {
        guard isOnline else {
            return reason.map { "\(status.rawValue) (\($0.rawValue))" } ?? status.rawValue
        }
        var text = status.rawValue
        if let interface { text += " over \(interface.name)" }
        if let via, via.index != interface?.index { text += " on \(via.name)" }
        if !gateways.isEmpty { text += " via " + gateways.map(\.description).joined(separator: ", ") }
        let facts: [(Bool, String)] = [
            (supportsIPv4, "IPv4"), (supportsIPv6, "IPv6"), (supportsDNS, "DNS"), (isExpensive, "expensive"),
            (isConstrained, "constrained"),
        ]
        return text + ", " + facts.filter(\.0).map(\.1).joined(separator: " ")
    }
}
