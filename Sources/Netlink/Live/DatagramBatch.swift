import CNetlink
import Glibc

/// Room for several datagrams, filled by one system call.
struct DatagramBatch: ~Copyable {
    private let bytes: UnsafeMutableRawPointer
    private let headers: UnsafeMutablePointer<cnl_mmsghdr>
    private let vectors: UnsafeMutablePointer<iovec>
    private let senders: UnsafeMutablePointer<sockaddr_nl>
    private let slotSize: Int
    let capacity: Int

    /// Pages that no datagram touches cost no memory.
    init(capacity: Int, slotSize: Int) {
        self.capacity = capacity
        self.slotSize = slotSize
        bytes = .allocate(byteCount: capacity * slotSize, alignment: 16)
        headers = .allocate(capacity: capacity)
        vectors = .allocate(capacity: capacity)
        senders = .allocate(capacity: capacity)
        headers.initialize(repeating: cnl_mmsghdr(), count: capacity)
        senders.initialize(repeating: sockaddr_nl(), count: capacity)
        for slot in 0..<capacity {
            (vectors + slot).initialize(to: iovec(iov_base: bytes + slot * slotSize, iov_len: slotSize))
            headers[slot].msg_hdr.msg_iov = vectors + slot
            headers[slot].msg_hdr.msg_iovlen = 1
            headers[slot].msg_hdr.msg_name = UnsafeMutableRawPointer(senders + slot)
        }
    }

    deinit {
        bytes.deallocate()
        headers.deallocate()
        vectors.deallocate()
        senders.deallocate()
    }

    /// Receives what is queued, up to `limit` datagrams, without waiting.
    ///
    /// - Returns: the number of datagrams, or the negated error number. Fewer than `limit` means that the queue was empty.
    func receive(from descriptor: CInt, limit: Int) -> Int {
        let limit = min(limit, capacity)
        for slot in 0..<limit { headers[slot].msg_hdr.msg_namelen = socklen_t(MemoryLayout<sockaddr_nl>.size) }
        while true {
            let count = cnl_recvmmsg(descriptor, headers, UInt32(limit), CInt(MSG_DONTWAIT))
            if count >= 0 { return Int(count) }
            if Glibc.errno != EINTR { return -Int(Glibc.errno) }
        }
    }

    /// nl_pid of the sender; 0 is the kernel.
    func sender(_ slot: Int) -> UInt32 { senders[slot].nl_pid }

    /// Whether the datagram was longer than its slot.
    func isTruncated(_ slot: Int) -> Bool { headers[slot].msg_hdr.msg_flags & CInt(MSG_TRUNC) != 0 }

    /// Calls `body` with each message of a datagram.
    func forEachMessage<Failure>(
        in slot: Int, _ body: (UnsafeMutablePointer<nlmsghdr>) throws(Failure) -> Void
    ) throws(Failure) {
        var message = (bytes + slot * slotSize).assumingMemoryBound(to: nlmsghdr.self)
        var remaining = CInt(headers[slot].msg_len)
        while nlmsg_ok(message, remaining) != 0 {
            try body(message)
            message = nlmsg_next(message, &remaining)
        }
    }
}
