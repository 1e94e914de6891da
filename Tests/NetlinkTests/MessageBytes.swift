import CNetlink

/// Netlink messages put together byte by byte, as the kernel would send them.
struct MessageBytes {
    private(set) var bytes: [UInt8]

    init(type: Int, flags: UInt16 = 0, header: [UInt8]) {
        bytes =
            [0, 0, 0, 0] + Self.number(UInt16(type)) + Self.number(flags) + [UInt8](repeating: 0, count: 8) + header
        close()
    }

    /// A generic netlink message.
    init(family: Int, command: Int) {
        self.init(type: family, header: [UInt8(command), 1, 0, 0])
    }

    mutating func put(_ type: Int, _ payload: [UInt8]) {
        bytes += Self.attribute(type, payload)
        close()
    }

    /// The length of the message, as its header says.
    private mutating func close() { bytes.replaceSubrange(0..<4, with: Self.number(UInt32(bytes.count))) }

    static func attribute(_ type: Int, _ payload: [UInt8]) -> [UInt8] {
        let length = 4 + payload.count
        return number(UInt16(length)) + number(UInt16(type)) + payload
            + [UInt8](repeating: 0, count: (4 - length % 4) % 4)
    }

    static func number<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number) { Array($0) }
    }

    static func text(_ text: String) -> [UInt8] { Array(text.utf8) + [0] }

    func parsed<Result>(_ parse: (UnsafeMutablePointer<nlmsghdr>) -> Result) -> Result {
        withUnsafeTemporaryAllocation(byteCount: bytes.count, alignment: 16) { buffer in
            buffer.copyBytes(from: bytes)
            // The buffer is not empty: a message has a header at least.
            return parse(buffer.baseAddress!.assumingMemoryBound(to: nlmsghdr.self))
        }
    }
}
