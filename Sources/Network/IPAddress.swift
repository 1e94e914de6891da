public import FoundationEssentials
internal import Glibc
internal import Reachability

/// What IPv4 and IPv6 addresses have in common, as in Apple's Network framework.
///
/// Modules that import Reachability as well say `Network.IPAddress` or `Reachability.IPAddress`.
public protocol IPAddress: Sendable {
    /// The bytes in network order: 4 or 16 of them.
    var rawValue: Data { get }

    /// An address from its bytes in network order; `nil` unless there are as many as the family has.
    init?(_ rawValue: Data, _ interface: NWInterface?)

    /// An address from its text, such as `10.1.0.1` or `fe80::1%wlan0`. Names are not resolved.
    init?(_ string: String)

    /// The interface that the address is meant on, if any.
    var interface: NWInterface? { get }

    /// This machine itself.
    var isLoopback: Bool { get }

    /// Good for the cable it is on, and no further.
    var isLinkLocal: Bool { get }

    /// A group.
    var isMulticast: Bool { get }
}

/// An address and its zone, which is what both families consist of.
struct ScopedAddress: Hashable, Sendable {
    let address: Reachability.IPAddress
    let interface: NWInterface?

    init(_ address: Reachability.IPAddress, _ interface: NWInterface? = nil) {
        self.address = address
        self.interface = interface
    }

    init?(_ rawValue: Data, _ interface: NWInterface?, _ family: Reachability.IPAddress.Family) {
        guard let address = Reachability.IPAddress(bytes: rawValue), address.family == family else { return nil }
        self.init(address, interface)
    }

    /// - Parameter text: an address, and an interface that exists behind a `%` if need be (RFC 4007, section 11).
    init?(_ text: String, _ family: Reachability.IPAddress.Family) {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        guard let address = Reachability.IPAddress(String(parts[0])), address.family == family else { return nil }
        guard parts.count == 2 else {
            self.init(address)
            return
        }
        let name = String(parts[1])
        let index = if_nametoindex(name)
        guard index > 0 else { return nil }
        self.init(address, NWInterface(type: name == "lo" ? .loopback : .other, name: name, index: Int(index)))
    }

    var rawValue: Data { Data(address.bytes) }

    var text: String { address.description + (interface.map { "%\($0.name)" } ?? "") }
}
