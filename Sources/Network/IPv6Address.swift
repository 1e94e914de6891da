public import FoundationEssentials
internal import Reachability

/// An IPv6 address, as Apple's Network framework has it.
public struct IPv6Address: IPAddress, Hashable, Sendable {
    /// How far a group reaches (RFC 4291, section 2.7).
    public enum Scope: UInt8, Sendable {
        case nodeLocal = 1
        case linkLocal = 2
        case siteLocal = 5
        case organizationLocal = 8
        case global = 14
    }

    let scoped: ScopedAddress

    init(_ scoped: ScopedAddress) { self.scoped = scoped }

    private init(_ first: UInt16, _ last: UInt16) {
        let words = [first, 0, 0, 0, 0, 0, 0, last]
        let bytes = words.flatMap { [UInt8(truncatingIfNeeded: $0 >> 8), UInt8(truncatingIfNeeded: $0)] }
        // 16 bytes always are an address.
        scoped = ScopedAddress(Reachability.IPAddress(bytes: bytes) ?? Reachability.IPAddress(0, 0, 0, 0))
    }

    /// An address from its 16 bytes in network order; `nil` for any other number of bytes.
    public init?(_ rawValue: Data, _ interface: NWInterface? = nil) {
        guard let scoped = ScopedAddress(rawValue, interface, .ipv6) else { return nil }
        self.scoped = scoped
    }

    /// An address from its text in any form of RFC 4291, with the name of an interface behind a `%` if need be; `nil` for
    /// anything else.
    public init?(_ string: String) {
        guard let scoped = ScopedAddress(string, .ipv6) else { return nil }
        self.scoped = scoped
    }

    /// `::`
    public static let any = IPv6Address(0, 0)
    /// `::`, as IPv6 has no broadcast.
    public static let broadcast = any
    /// `::1`
    public static let loopback = IPv6Address(0, 1)
    /// `ff01::1`: all nodes on this machine.
    public static let nodeLocalNodes = IPv6Address(0xFF01, 1)
    /// `ff02::1`: all nodes on the link.
    public static let linkLocalNodes = IPv6Address(0xFF02, 1)
    /// `ff02::2`: all routers on the link.
    public static let linkLocalRouters = IPv6Address(0xFF02, 2)

    /// The 16 bytes in network order.
    public var rawValue: Data { scoped.rawValue }
    /// The interface that the address is meant on, if any.
    public var interface: NWInterface? { scoped.interface }
    /// `::`
    public var isAny: Bool { scoped.address.isUnspecified }
    /// `::1`
    public var isLoopback: Bool { scoped.address.isLoopback }
    /// `fe80::/10`
    public var isLinkLocal: Bool { scoped.address.isLinkLocal }
    /// `ff00::/8`
    public var isMulticast: Bool { scoped.address.isMulticast }
    /// `fc00::/7` (RFC 4193)
    public var isUniqueLocal: Bool { bytes[0] & 0xFE == 0xFC }
    /// `2002::/16` (RFC 3056)
    public var is6to4: Bool { bytes.starts(with: [0x20, 0x02]) }
    /// An IPv4 address in the last 4 bytes and zeros before, `::` and `::1` apart. The spelling is Apple's.
    public var isIPv4Compatabile: Bool { bytes.prefix(12).allSatisfy { $0 == 0 } && !isAny && !isLoopback }
    /// `::ffff:0:0/96`
    public var isIPv4Mapped: Bool {
        bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
    }

    /// The IPv4 address in it, if it is mapped or compatible.
    public var asIPv4: IPv4Address? {
        isIPv4Mapped || isIPv4Compatabile ? IPv4Address(Data(bytes.suffix(4)), interface) : nil
    }

    /// How far the group reaches; `nil` for addresses that are no group, and for scopes that have no name here.
    public var multicastScope: Scope? { isMulticast ? Scope(rawValue: bytes[1] & 0x0F) : nil }

    private var bytes: [UInt8] { scoped.address.bytes }
}

extension IPv6Address: CustomDebugStringConvertible {
    /// The text of RFC 5952, with `%` and the name of the interface if there is one.
    public var debugDescription: String { scoped.text }
}
