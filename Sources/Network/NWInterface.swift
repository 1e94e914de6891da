internal import Reachability

/// A network interface, as Apple's Network framework has it.
public struct NWInterface: Hashable, Sendable {
    /// The kind of medium.
    public enum InterfaceType: Hashable, Sendable {
        /// A tunnel such as a VPN's, or a medium that can't be told.
        case other
        case wifi
        /// A modem.
        case cellular
        case wiredEthernet
        case loopback
    }

    /// The kind of medium; for bridges, bonds and VLANs, that of the link beneath. An interface that comes from a zone in an address
    /// (`fe80::1%eth0`) is not looked into and has the type ``InterfaceType/other``, unless it is loopback.
    public let type: InterfaceType

    /// The name, such as `wlan0`.
    public let name: String

    /// The kernel's number for it.
    public let index: Int
}

extension NWInterface {
    init(_ interface: NetworkInterface) {
        self.init(type: InterfaceType(interface.type), name: interface.name, index: interface.index)
    }
}

extension NWInterface.InterfaceType {
    init(_ type: NetworkInterface.InterfaceType) {
        switch type {
        case .wifi: self = .wifi
        case .wwan: self = .cellular
        case .wired: self = .wiredEthernet
        case .other: self = .other
        case .loopback: self = .loopback
        }
    }
}

// Apple's types have no `description`, so programs give them one of their own; there must be none here.

extension NWInterface: CustomDebugStringConvertible {
    /// The name.
    public var debugDescription: String { name }
}

extension NWInterface.InterfaceType: CustomDebugStringConvertible {
    /// The name of the case, such as `wiredEthernet`.
    public var debugDescription: String {
        switch self {
        case .other: "other"
        case .wifi: "wifi"
        case .cellular: "cellular"
        case .wiredEthernet: "wiredEthernet"
        case .loopback: "loopback"
        }
    }
}
