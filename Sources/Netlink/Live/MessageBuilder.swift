import CNetlink
import Glibc

/// Builds one request with libnl.
struct MessageBuilder: ~Copyable {
    private let message: OpaquePointer
    private let operation: NetlinkError.Operation

    init<Header: BitwiseCopyable>(
        _ operation: NetlinkError.Operation, type: CInt, flags: CInt, header: Header
    ) throws(NetlinkError) {
        guard let message = nlmsg_alloc_simple(type, NLM_F_REQUEST | flags) else {
            throw NetlinkError(operation, errno: ENOMEM)
        }
        let appended = withUnsafeBytes(of: header) {
            nlmsg_append(message, UnsafeMutableRawPointer(mutating: $0.baseAddress), $0.count, CInt(NLMSG_ALIGNTO))
        }
        guard appended == 0 else {
            nlmsg_free(message)
            throw NetlinkError(operation, errno: ENOMEM)
        }
        self.message = message
        self.operation = operation
    }

    deinit { nlmsg_free(message) }

    mutating func put(_ attribute: UInt16, _ value: UInt32) throws(NetlinkError) {
        guard nla_put_u32(message, CInt(attribute), value) == 0 else { throw NetlinkError(operation, errno: ENOMEM) }
    }

    mutating func put(_ attribute: UInt16, _ bytes: [UInt8]) throws(NetlinkError) {
        guard nla_put(message, CInt(attribute), CInt(bytes.count), bytes) == 0 else {
            throw NetlinkError(operation, errno: ENOMEM)
        }
    }

    /// nlmsg_seq.
    var sequence: UInt32 {
        get { nlmsg_hdr(message).pointee.nlmsg_seq }
        set { nlmsg_hdr(message).pointee.nlmsg_seq = newValue }
    }

    /// The message as it goes into a datagram, padding included.
    var bytes: [UInt8] {
        let header: UnsafeMutablePointer<nlmsghdr> = nlmsg_hdr(message)
        let length = (Int(header.pointee.nlmsg_len) + Int(NLMSG_ALIGNTO) - 1) & ~(Int(NLMSG_ALIGNTO) - 1)
        var bytes = [UInt8](UnsafeRawBufferPointer(start: header, count: Int(header.pointee.nlmsg_len)))
        bytes += [UInt8](repeating: 0, count: length - bytes.count)
        return bytes
    }
}
