import Netlink

/// Finds the addresses of host names without keeping anybody waiting: the seam between paths to host names and the system.
package protocol HostResolver: Sendable {
    /// Asks for the addresses of a name, and returns at once.
    ///
    /// - Parameter answer: called once, on a thread of the resolver's, however long it takes: the addresses in order of preference,
    ///   none where there are none.
    func resolve(_ name: String, answer: @escaping @Sendable ([IPAddress]) -> Void)
}

/// What a program calls a host: its address, or its name.
enum Host: Sendable, Hashable {
    case address(IPAddress)
    case name(String)
    /// Neither: nobody needs to be asked about it.
    case nonsense

    /// - Parameter text: an address in any form that ``IPAddress`` reads, or a name of letters, digits, hyphens, underscores, dots
    ///   and anything that is not ASCII, up to the 253 bytes that DNS can carry (RFC 1035, section 2.3.4) and a final dot. So a URL
    ///   is no name, and neither is a name with a port.
    init(_ text: String) {
        if let address = IPAddress(text) {
            self = .address(address)
            return
        }
        let bytes = text.utf8.last == UInt8(ascii: ".") ? text.utf8.dropLast() : text.utf8[...]
        let isName = (1...253).contains(bytes.count) && bytes.allSatisfy(Self.isNameByte)
        self = isName ? .name(text) : .nonsense
    }

    private static func isNameByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"):
            true
        default: byte >= 0x80
        }
    }
}
