// Connections are none of this package's business. What programs begin them with is declared all the same, with Apple's
// signatures, so that the compiler says what to use instead of that it can't find something.

@available(*, unavailable, message: "this module watches the network on Linux; for connections use SwiftNIO or sockets")
public final class NWConnection {
    public init(to endpoint: NWEndpoint, using parameters: NWParameters) {}
    public init(host: NWEndpoint.Host, port: NWEndpoint.Port, using parameters: NWParameters) {}
}

@available(*, unavailable, message: "this module watches the network on Linux; to listen use SwiftNIO or sockets")
public final class NWListener {
    public init(using parameters: NWParameters) throws {}
    public init(using parameters: NWParameters, on port: NWEndpoint.Port) throws {}
}

@available(*, unavailable, message: "this module watches the network on Linux; to browse for services use Avahi")
public final class NWBrowser {
    public enum Descriptor {
        case bonjour(type: String, domain: String?)
        case bonjourWithTXTRecord(type: String, domain: String?)
    }

    public init(for descriptor: Descriptor, using parameters: NWParameters) {}
}

@available(*, unavailable, message: "this module watches the network on Linux; for multicast use SwiftNIO or sockets")
public final class NWConnectionGroup {}

@available(*, unavailable, message: "this module watches the network on Linux; for connections use SwiftNIO or sockets")
public final class NWParameters {
    public static var tcp: NWParameters { NWParameters() }
    public static var udp: NWParameters { NWParameters() }
    public static var tls: NWParameters { NWParameters() }
    public static var dtls: NWParameters { NWParameters() }

    public init() {}
}
