public import FoundationEssentials
internal import Glibc
internal import Reachability

/// An endpoint of Apple's C interface, of which there is none here.
// swift-format-ignore: TypeNamesShouldBeCapitalized
public enum nw_endpoint_t: Hashable, Sendable {}

/// What can be connected to, as Apple's Network framework has it. Here it is what ``NWPath/gateways`` are made of.
public enum NWEndpoint: Hashable, Sendable {
    /// A host and a port on it.
    case hostPort(host: Host, port: Port)
    /// A Bonjour service.
    case service(name: String, type: String, domain: String, interface: NWInterface?)
    /// A Unix domain socket.
    case unix(path: String)
    /// A URL.
    case url(URL)
    /// Never on Linux; it is there for programs that go through all cases.
    case opaque(nw_endpoint_t)

    /// The interface that the endpoint is meant on, if any.
    public var interface: NWInterface? {
        switch self {
        case .hostPort(let host, _): host.interface
        case .service(_, _, _, let interface): interface
        case .unix, .url, .opaque: nil
        }
    }

    /// A gateway: an address, and no port.
    init(gateway: Reachability.IPAddress, on interface: NWInterface?) {
        self = .hostPort(host: Host(ScopedAddress(gateway, interface)), port: .any)
    }

    /// An address, or a name.
    public enum Host: Hashable, Sendable {
        /// A name, and the interface that it is meant on, if any.
        case name(String, NWInterface?)
        case ipv4(IPv4Address)
        case ipv6(IPv6Address)

        /// An address where the text is one, otherwise a name. Names are not resolved.
        public init(_ string: String) {
            if let address = IPv4Address(string) {
                self = .ipv4(address)
            } else if let address = IPv6Address(string) {
                self = .ipv6(address)
            } else {
                self = .name(string, nil)
            }
        }

        init(_ scoped: ScopedAddress) {
            switch scoped.address.family {
            case .ipv4: self = .ipv4(IPv4Address(scoped))
            case .ipv6: self = .ipv6(IPv6Address(scoped))
            }
        }

        fileprivate var portSeparator: String { if case .ipv6 = self { "." } else { ":" } }

        /// The interface that the host is meant on, if any.
        public var interface: NWInterface? {
            switch self {
            case .name(_, let interface): interface
            case .ipv4(let address): address.interface
            case .ipv6(let address): address.interface
            }
        }
    }

    /// A port of TCP or UDP.
    public struct Port: Hashable, Sendable, RawRepresentable {
        /// The number in host order.
        public let rawValue: UInt16

        /// Any number is a port.
        public init?(rawValue: UInt16) { self.rawValue = rawValue }

        private init(_ number: UInt16) { rawValue = number }

        /// A port from its number in decimal, or from the name of its service (`/etc/services`); `nil` for anything else.
        public init?(_ service: String) {
            if service.utf8.allSatisfy({ (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }) {
                guard let number = UInt16(service) else { return nil }
                rawValue = number
                return
            }
            // Left to the system, numbers with signs and spaces would be numbers, too.
            guard service.contains(where: \.isLetter) else { return nil }
            var hints = addrinfo()
            // Names of services are looked up in a file; names of hosts would be asked for.
            hints.ai_flags = AI_PASSIVE
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
            var list: UnsafeMutablePointer<addrinfo>?
            guard getaddrinfo(nil, service, &hints, &list) == 0, let list else { return nil }
            defer { freeaddrinfo(list) }
            // `sockaddr_in` and `sockaddr_in6` have it in the same place.
            let offset = MemoryLayout<sockaddr_in>.offset(of: \.sin_port) ?? 0
            rawValue = UInt16(
                bigEndian: UnsafeRawPointer(list.pointee.ai_addr).loadUnaligned(fromByteOffset: offset, as: UInt16.self)
            )
        }

        /// 0: any port.
        public static let any = Port(0)
        public static let ssh = Port(22)
        public static let smtp = Port(25)
        public static let http = Port(80)
        public static let pop = Port(110)
        public static let imap = Port(143)
        public static let https = Port(443)
        public static let imaps = Port(993)
        public static let socks = Port(1080)
    }
}

extension NWEndpoint.Host: ExpressibleByStringLiteral, ExpressibleByExtendedGraphemeClusterLiteral,
    ExpressibleByUnicodeScalarLiteral
{
    /// As ``init(_:)``.
    public init(stringLiteral value: String) { self.init(value) }
}

extension NWEndpoint.Port: ExpressibleByIntegerLiteral {
    public init(integerLiteral value: UInt16) { self.init(value) }
}

extension NWEndpoint: CustomDebugStringConvertible {
    /// `192.0.2.1:443`; with a dot for IPv6, as Apple has it (`2001:db8::1.443`); a service's full name; a path; a URL.
    public var debugDescription: String {
        switch self {
        case .hostPort(let host, let port):
            // Spelt out, because a program can have given them a `description` of its own.
            host.debugDescription + host.portSeparator + port.debugDescription
        case .service(let name, let type, let domain, let interface):
            [name, type, domain].filter { !$0.isEmpty }.joined(separator: ".") + (interface.map { "@\($0.name)" } ?? "")
        case .unix(let path): path
        case .url(let url): url.absoluteString
        case .opaque: ""
        }
    }
}

extension NWEndpoint.Host: CustomDebugStringConvertible {
    /// The name, or the text of the address; with `%` and the name of the interface if there is one.
    public var debugDescription: String {
        switch self {
        case .name(let name, let interface): name + (interface.map { "%\($0.name)" } ?? "")
        case .ipv4(let address): address.debugDescription
        case .ipv6(let address): address.debugDescription
        }
    }
}

extension NWEndpoint.Port: CustomDebugStringConvertible {
    /// The number in decimal.
    public var debugDescription: String { String(rawValue) }
}
