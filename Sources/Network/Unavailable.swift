// Connections are none of this package's business. Declared so that the compiler says what to use instead of "cannot find in scope".

@available(*, unavailable, message: "this module watches the network on Linux; for connections use SwiftNIO or sockets")
public final class NWConnection {}

@available(*, unavailable, message: "this module watches the network on Linux; to listen use SwiftNIO or sockets")
public final class NWListener {}

@available(*, unavailable, message: "this module watches the network on Linux; to browse for services use Avahi")
public final class NWBrowser {}

@available(*, unavailable, message: "this module watches the network on Linux; for multicast use SwiftNIO or sockets")
public final class NWConnectionGroup {}

@available(*, unavailable, message: "this module watches the network on Linux; for connections use SwiftNIO or sockets")
public final class NWParameters {}
