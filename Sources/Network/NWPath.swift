/// How packets leave this machine, as Apple's Network framework has it.
///
/// Two paths are equal when their members are.
public struct NWPath: Equatable, Sendable {
    /// Whether there is a way out.
    public enum Status: Hashable, Sendable {
        /// There is a way out.
        case satisfied
        /// There is no way out.
        case unsatisfied
        /// There is no way out yet: a link waits for authentication (802.1X, or Wi-Fi before its keys).
        case requiresConnection
    }

    /// Why there is no way out. On Linux always ``notAvailable``, except for monitors that are to leave out some type of interface.
    public enum UnsatisfiedReason: Hashable, Sendable {
        /// Nothing that could be used has a way out.
        case notAvailable
        /// There is one over a modem, which the monitor was told not to use.
        case cellularDenied
        /// There is one over Wi-Fi, which the monitor was told not to use.
        case wifiDenied
        /// Never on Linux.
        case localNetworkDenied
        /// Never on Linux.
        case vpnInactive
    }

    /// How good the link is. Linux has no common measure for that, so it is always ``unknown``.
    public enum LinkQuality: Hashable, Sendable {
        case unknown
        case minimal
        case moderate
        case good
    }

    /// What programs can see, and compare.
    struct Facts: Equatable, Sendable {
        var status = Status.unsatisfied
        var unsatisfiedReason = UnsatisfiedReason.notAvailable
        var availableInterfaces: [NWInterface] = []
        var usedTypes: Set<NWInterface.InterfaceType> = []
        var gateways: [NWEndpoint] = []
        var supportsIPv4 = false
        var supportsIPv6 = false
        var supportsDNS = false
        var isExpensive = false
        var isConstrained = false
    }

    private let facts: Facts
    /// For people: why there is no way out, in more words than Apple has reasons.
    private let detail: String

    init(_ facts: Facts, detail: String = "") {
        self.facts = facts
        self.detail = detail
    }

    public static func == (one: NWPath, other: NWPath) -> Bool { one.facts == other.facts }

    /// Whether there is a way out.
    public var status: Status { facts.status }

    /// Why there is no way out; ``UnsatisfiedReason/notAvailable`` if there is one.
    public var unsatisfiedReason: UnsatisfiedReason { facts.unsatisfiedReason }

    /// All interfaces with a way out that the monitor may use, in the kernel's order of preference. A tunnel is followed by what
    /// lies beneath it.
    public var availableInterfaces: [NWInterface] { facts.availableInterfaces }

    /// Whether packets leave by an interface of that type. Through a tunnel they leave by two: the tunnel (`other`), and what lies
    /// beneath it. Where the address families go different ways, the costlier one counts.
    public func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool { facts.usedTypes.contains(type) }

    /// The routers that packets are handed to: addresses without a port (0), IPv4 first. Link-local ones name their interface
    /// where there is but one.
    public var gateways: [NWEndpoint] { facts.gateways }

    /// There is a way out for IPv4.
    public var supportsIPv4: Bool { facts.supportsIPv4 }

    /// There is a way out for IPv6.
    public var supportsIPv6: Bool { facts.supportsIPv6 }

    /// There is a way out, and resolv.conf lists a name server.
    public var supportsDNS: Bool { facts.supportsDNS }

    /// Traffic costs money by volume: a modem, a tethered phone, or what the program has marked as such.
    public var isExpensive: Bool { facts.isExpensive }

    /// The program has marked an interface that carries traffic as one to be sparing on. Linux has no such setting.
    public var isConstrained: Bool { facts.isConstrained }

    /// Always `false`: Linux does not know such networks (satellites that carry some programs' traffic only).
    public var isUltraConstrained: Bool { false }

    /// Always ``LinkQuality/unknown``.
    public var linkQuality: LinkQuality { .unknown }

    /// Always `nil`, as for all paths of monitors.
    public var localEndpoint: NWEndpoint? { nil }

    /// Always `nil`, as for all paths of monitors.
    public var remoteEndpoint: NWEndpoint? { nil }
}

extension NWPath: CustomDebugStringConvertible {
    /// A line for people and logs, such as `satisfied, interfaces: wlan0[wifi], ipv4, dns, uses wifi`.
    public var debugDescription: String {
        // Nothing is interpolated that a program could have given a `description` of its own.
        let word =
            switch status {
            case .satisfied: "satisfied"
            case .unsatisfied: "unsatisfied"
            case .requiresConnection: "requiresConnection"
            }
        guard status == .satisfied else { return word + (detail.isEmpty ? "" : " (\(detail))") }
        let interfaces = availableInterfaces.map { "\($0.name)[\($0.type.debugDescription)]" }
        var words = [word, "interfaces: \(interfaces.joined(separator: ", "))"]
        let flags = [
            (supportsIPv4, "ipv4"), (supportsIPv6, "ipv6"), (supportsDNS, "dns"), (isExpensive, "expensive"),
            (isConstrained, "constrained"),
        ]
        words += flags.filter(\.0).map(\.1)
        words += facts.usedTypes.map { "uses \($0.debugDescription)" }.sorted()
        return words.joined(separator: ", ")
    }
}
