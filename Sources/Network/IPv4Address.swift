public import FoundationEssentials
internal import Reachability

/// An IPv4 address, as Apple's Network framework has it.
public struct IPv4Address: IPAddress, Hashable, Sendable {
    let scoped: ScopedAddress

    init(_ scoped: ScopedAddress) { self.scoped = scoped }

    private init(_ a: UInt8, _ b: UInt8, _ c: UInt8, _ d: UInt8) {
        scoped = ScopedAddress(Reachability.IPAddress(a, b, c, d))
    }

    /// An address from its 4 bytes in network order; `nil` for any other number of bytes.
    public init?(_ rawValue: Data, _ interface: NWInterface? = nil) {
        guard let scoped = ScopedAddress(rawValue, interface, .ipv4) else { return nil }
        self.scoped = scoped
    }

    /// An address from its dotted quad, with the name of an interface behind a `%` if need be; `nil` for anything else.
    public init?(_ string: String) {
        guard let scoped = ScopedAddress(string, .ipv4) else { return nil }
        self.scoped = scoped
    }

    /// 0.0.0.0
    public static let any = IPv4Address(0, 0, 0, 0)
    /// 255.255.255.255
    public static let broadcast = IPv4Address(255, 255, 255, 255)
    /// 127.0.0.1
    public static let loopback = IPv4Address(127, 0, 0, 1)
    /// 224.0.0.1: all hosts on the link.
    public static let allHostsGroup = IPv4Address(224, 0, 0, 1)
    /// 224.0.0.2: all routers on the link.
    public static let allRoutersGroup = IPv4Address(224, 0, 0, 2)
    /// 224.0.0.22: membership reports of IGMPv3 (RFC 3376).
    public static let allReportsGroup = IPv4Address(224, 0, 0, 22)
    /// 224.0.0.251: multicast DNS (RFC 6762).
    public static let mdnsGroup = IPv4Address(224, 0, 0, 251)

    /// The 4 bytes in network order.
    public var rawValue: Data { scoped.rawValue }
    /// The interface that the address is meant on, if any.
    public var interface: NWInterface? { scoped.interface }
    /// 127.0.0.0/8
    public var isLoopback: Bool { scoped.address.isLoopback }
    /// 169.254.0.0/16 (RFC 3927)
    public var isLinkLocal: Bool { scoped.address.isLinkLocal }
    /// 224.0.0.0/4
    public var isMulticast: Bool { scoped.address.isMulticast }
}

extension IPv4Address: CustomDebugStringConvertible {
    /// The dotted quad, with `%` and the name of the interface if there is one.
    public var debugDescription: String { scoped.text }
}
