import CNetlink

/// The attributes of one message or nest, found by libnl, valid only while the bytes they point into are.
struct Attributes {
    private let table: UnsafeMutableBufferPointer<UnsafeMutablePointer<nlattr>?>

    /// Parses the attributes from `start` and hands them to `body`; `nil` where libnl finds them malformed.
    static func parse<Result>(
        from start: UnsafeMutablePointer<nlattr>?, length: CInt, upTo highest: Int, _ body: (Attributes) -> Result?
    ) -> Result? {
        withUnsafeTemporaryAllocation(of: UnsafeMutablePointer<nlattr>?.self, capacity: highest + 1) { table in
            // libnl clears the table before it fills it.
            guard nla_parse(table.baseAddress, CInt(highest), start, length, nil) == 0 else { return nil }
            return body(Attributes(table: table))
        }
    }

    /// Parses the attributes that follow a message's own header of `headerLength` bytes.
    static func parse<Result>(
        of message: UnsafeMutablePointer<nlmsghdr>, after headerLength: Int, upTo highest: Int,
        _ body: (Attributes) -> Result?
    ) -> Result? {
        guard nlmsg_valid_hdr(message, CInt(headerLength)) != 0 else { return nil }
        return parse(
            from: nlmsg_attrdata(message, CInt(headerLength)), length: nlmsg_attrlen(message, CInt(headerLength)),
            upTo: highest, body)
    }

    private func attribute(_ type: Int, atLeast size: Int = 0) -> UnsafeMutablePointer<nlattr>? {
        guard let found = table[type], Int(nla_len(found)) >= size else { return nil }
        return found
    }

    func has(_ type: Int) -> Bool { table[type] != nil }

    func uint8(_ type: Int) -> UInt8? { attribute(type, atLeast: 1).map { nla_get_u8($0) } }
    func uint16(_ type: Int) -> UInt16? { attribute(type, atLeast: 2).map { nla_get_u16($0) } }
    func uint32(_ type: Int) -> UInt32? { attribute(type, atLeast: 4).map { nla_get_u32($0) } }
    func int32(_ type: Int) -> Int32? { uint32(type).map { Int32(bitPattern: $0) } }

    /// The text up to the first NUL or the end of the attribute.
    func string(_ type: Int) -> String? {
        bytes(type).map { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
    }

    func bytes(_ type: Int) -> UnsafeRawBufferPointer? {
        attribute(type).map { UnsafeRawBufferPointer(start: nla_data($0), count: Int(nla_len($0))) }
    }

    func address(_ type: Int) -> IPAddress? { bytes(type).flatMap { IPAddress(bytes: $0) } }

    func nested<Result>(_ type: Int, upTo highest: Int, _ body: (Attributes) -> Result?) -> Result? {
        attribute(type).flatMap { Self.parse(nestedIn: $0, upTo: highest, body) }
    }

    static func parse<Result>(
        nestedIn attribute: UnsafeMutablePointer<nlattr>, upTo highest: Int, _ body: (Attributes) -> Result?
    ) -> Result? {
        parse(
            from: nla_data(attribute)?.assumingMemoryBound(to: nlattr.self), length: nla_len(attribute), upTo: highest,
            body)
    }
}
