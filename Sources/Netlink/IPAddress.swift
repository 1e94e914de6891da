import Glibc

/// An IPv4 or IPv6 address, as a value.
///
/// Parsed from and printed as text the way `inet_pton` and `inet_ntop` do it, so IPv6 comes out in the form of RFC 5952.
/// There is no scope (zone): an interface index travels beside an address where one is needed.
public struct IPAddress: Sendable, Hashable {
    /// The address families of the kernel that this package knows.
    public enum Family: Sendable, Hashable, CaseIterable {
        case ipv4
        case ipv6
    }

    // An IPv4 address is in the upper 32 bits of `high`; bits beyond an address are 0. Network order reads left to right.
    private let high: UInt64
    private let low: UInt64

    /// Whether this is an IPv4 or an IPv6 address.
    public let family: Family

    /// The IPv4 address `a.b.c.d`.
    public init(_ a: UInt8, _ b: UInt8, _ c: UInt8, _ d: UInt8) {
        family = .ipv4
        high = UInt64(a) << 56 | UInt64(b) << 48 | UInt64(c) << 40 | UInt64(d) << 32
        low = 0
    }

    /// An address from its bytes in network order; `nil` unless there are 4 or 16 of them.
    public init?(bytes: some Collection<UInt8>) {
        switch bytes.count {
        case 4: family = .ipv4
        case 16: family = .ipv6
        default: return nil
        }
        var halves: (UInt64, UInt64) = (0, 0)
        for (position, byte) in bytes.enumerated() {
            if position < 8 {
                halves.0 |= UInt64(byte) << (56 - 8 * position)
            } else {
                halves.1 |= UInt64(byte) << (56 - 8 * (position - 8))
            }
        }
        (high, low) = halves
    }

    /// An address from its text: dotted quad, or IPv6 in any form of RFC 4291; `nil` for anything else, names included.
    public init?(_ text: String) {
        var raw4 = in_addr()
        if inet_pton(AF_INET, text, &raw4) == 1 {
            self.init(rawAddress: raw4)
            return
        }
        var raw6 = in6_addr()
        guard inet_pton(AF_INET6, text, &raw6) == 1 else { return nil }
        self.init(rawAddress: raw6)
    }

    private init?<Raw>(rawAddress: Raw) {
        let address = withUnsafeBytes(of: rawAddress) { IPAddress(bytes: $0) }
        guard let address else { return nil }
        self = address
    }

    /// The bytes in network order: 4 or 16 of them.
    public var bytes: [UInt8] {
        let all = [high, low].flatMap { half in (0..<8).map { UInt8(truncatingIfNeeded: half >> (56 - 8 * $0)) } }
        return Array(all.prefix(bitWidth / 8))
    }

    /// The number of bits: 32 or 128.
    public var bitWidth: Int { family == .ipv4 ? 32 : 128 }

    /// 0.0.0.0 or `::`.
    public var isUnspecified: Bool { high == 0 && low == 0 }

    /// 127.0.0.0/8 or `::1`.
    public var isLoopback: Bool {
        family == .ipv4 ? high >> 56 == 127 : high == 0 && low == 1
    }

    /// 169.254.0.0/16 (RFC 3927) or fe80::/10 (RFC 4291): valid on one link only.
    public var isLinkLocal: Bool {
        family == .ipv4 ? high >> 48 == 0xA9FE : high >> 54 == 0xFE80 >> 6
    }

    /// 224.0.0.0/4 or ff00::/8.
    public var isMulticast: Bool {
        family == .ipv4 ? high >> 60 == 0xE : high >> 56 == 0xFF
    }

    /// Whether the first `length` bits are those of `prefix`; never across families.
    public func isIn(_ prefix: IPAddress, length: Int) -> Bool {
        guard family == prefix.family, (0...bitWidth).contains(length) else { return false }
        return masked(to: length) == prefix.masked(to: length)
    }

    /// The address with all but the first `length` bits cleared.
    package func masked(to length: Int) -> IPAddress {
        // Swift's smart shift turns a shift by the whole width into 0, which is what an empty mask needs.
        let highMask = ~UInt64(0) << UInt64(max(0, 64 - length))
        let lowMask = length <= 64 ? 0 : ~UInt64(0) << UInt64(max(0, 128 - length))
        return IPAddress(family: family, high: high & highMask, low: low & lowMask)
    }

    private init(family: Family, high: UInt64, low: UInt64) {
        self.family = family
        self.high = high
        self.low = low
    }

    /// The four 32-bit words of an IPv6 address, or the one of an IPv4 address, in host order: what a socket filter compares.
    package var words: [UInt32] {
        let all = [high, low].flatMap { [UInt32(truncatingIfNeeded: $0 >> 32), UInt32(truncatingIfNeeded: $0)] }
        return Array(all.prefix(bitWidth / 32))
    }
}

extension IPAddress: CustomStringConvertible, LosslessStringConvertible {
    /// The text of the address, such as `10.1.0.1` or `2001:db8::1`.
    public var description: String {
        let raw = bytes
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: Int(INET6_ADDRSTRLEN)) { buffer in
            guard let base = buffer.baseAddress,
                inet_ntop(family == .ipv4 ? AF_INET : AF_INET6, raw, base, socklen_t(buffer.count)) != nil
            else { return "" }
            return String(cString: base)
        }
    }
}
