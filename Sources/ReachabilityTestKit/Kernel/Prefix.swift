import Reachability

/// An address with a length, as in 10.1.0.2/24: a destination of routes, or an address and its subnet.
struct Prefix: Sendable, Hashable {
    var address: IPAddress
    var length: Int

    init(_ address: IPAddress, _ length: Int) {
        self.address = address
        self.length = length
    }

    /// A single address.
    init(_ address: IPAddress) { self.init(address, address.bitWidth) }

    /// The text `10.1.0.0/16` or, without a length, a single address.
    init(_ text: String) throws(SimulatedKernel.Refusal) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(String(first)), parts.count <= 2 else {
            throw .invalid("\(text) is no address")
        }
        guard let length = parts.count == 2 ? Int(parts[1]) : address.bitWidth, (0...address.bitWidth).contains(length)
        else { throw .invalid("\(text) has no length between 0 and \(address.bitWidth)") }
        self.init(address, length)
    }

    static func all(_ family: IPAddress.Family) -> Prefix {
        Prefix(family == .ipv4 ? IPAddress(0, 0, 0, 0) : IPAddress.unspecified6, 0)
    }

    var family: IPAddress.Family { address.family }

    /// The address with all bits beyond the length cleared.
    var network: IPAddress { address.masked(to: length) }

    /// The address with all bits beyond the length set.
    var broadcast: IPAddress {
        let bytes = address.bytes.enumerated().map { position, byte in
            byte | UInt8(truncatingIfNeeded: 0xFF >> min(max(length - position * 8, 0), 8))
        }
        return IPAddress(bytes: bytes) ?? address
    }

    var isHost: Bool { length == address.bitWidth }

    func contains(_ other: IPAddress) -> Bool { other.isIn(address, length: length) }
}

extension IPAddress {
    static let unspecified6 = IPAddress(bytes: [UInt8](repeating: 0, count: 16)) ?? IPAddress(0, 0, 0, 0)
}
