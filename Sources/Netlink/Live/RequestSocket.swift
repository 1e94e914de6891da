import CNetlink
import Glibc

/// The socket that asks: dumps and route lookups, with strict checking. It joins no group and has no filter, because a filter
/// would swallow whole dump replies, NLMSG_DONE included.
struct RequestSocket: ~Copyable {
    private let socket: NetlinkSocket
    private let answers: DatagramBatch
    private var sequence: UInt32 = 0
    /// The last lookups, ready to be sent again: one round is like the one before, most of the time.
    private var prepared: (queries: [RouteQuery], datagram: [UInt8], offsets: [Int]) = ([], [], [])

    /// More lookups than this go in several datagrams, so that the answers always fit the receive buffer.
    private static let lookupsPerDatagram = 32
    /// A dump that was interrupted this often is used as it is.
    private static let dumpAttempts = 4
    /// The kernel fills at most this much of a dump at a time.
    private static let slotSize = 32 * 1024

    /// - Parameter protocol: NETLINK_ROUTE, or NETLINK_GENERIC for the families that are no part of it.
    init(protocol number: CInt = NETLINK_ROUTE) throws(NetlinkError) {
        let socket = try NetlinkSocket(protocol: number)
        // Without strict checking, dumps ignore what they are asked to leave out. Kernels before 4.20 do that anyway.
        _ = socket.setOption(SOL_NETLINK, NETLINK_GET_STRICT_CHK, 1)
        _ = socket.setOption(SOL_NETLINK, NETLINK_CAP_ACK, 1)
        try socket.setReceiveBuffer(bytes: 1 << 20)
        try socket.connectToKernel()
        self.socket = socket
        answers = DatagramBatch(capacity: Self.lookupsPerDatagram, slotSize: Self.slotSize)
    }

    // MARK: Dumps

    /// The statistics are most of a link message, and nobody here reads them.
    static let withoutStatistics = (type: UInt16(IFLA_EXT_MASK), value: UInt32(RTEXT_FILTER_SKIP_STATS))

    mutating func links() throws(NetlinkError) -> Dump<LinkMessage> {
        try dump(.dumpLinks, CInt(RTM_GETLINK), ifinfomsg(), Self.withoutStatistics) { MessageParser.link(from: $0) }
    }

    /// Waits for changes of links that are under way: the kernel makes them, and answers this, under one lock.
    mutating func link(_ index: Int32) throws(NetlinkError) -> LinkMessage? {
        var header = ifinfomsg()
        header.ifi_index = index
        var request = try MessageBuilder(.dumpLinks, type: CInt(RTM_GETLINK), flags: 0, header: header)
        try request.put(Self.withoutStatistics.type, Self.withoutStatistics.value)
        sequence &+= 1
        request.sequence = sequence
        try send(request.bytes, .dumpLinks)
        let count = answers.receive(from: socket.descriptor, limit: 1)
        guard count > 0 else { throw NetlinkError(.dumpLinks, errno: count == 0 ? EPROTO : CInt(-count)) }
        var link: LinkMessage?
        answers.forEachMessage(in: 0) { message in
            if CInt(message.pointee.nlmsg_type) == RTM_NEWLINK { link = MessageParser.link(from: message) }
        }
        return link
    }

    mutating func addresses() throws(NetlinkError) -> Dump<AddressMessage> {
        try dump(.dumpAddresses, CInt(RTM_GETADDR), ifaddrmsg()) { MessageParser.address(from: $0) }
    }

    mutating func dump<Header: BitwiseCopyable, Element: Sendable>(
        _ operation: NetlinkError.Operation, _ type: CInt, _ header: Header,
        _ attribute: (type: UInt16, value: UInt32)? = nil,
        _ parse: (UnsafeMutablePointer<nlmsghdr>) -> Element?
    ) throws(NetlinkError) -> Dump<Element> {
        var request = try MessageBuilder(operation, type: type, flags: NLM_F_DUMP, header: header)
        if let attribute { try request.put(attribute.type, attribute.value) }
        return try Dump.whole(within: Self.dumpAttempts) { () throws(NetlinkError) in
            sequence &+= 1
            request.sequence = sequence
            try send(request.bytes, operation)
            return try collect(operation, parse)
        }
    }

    private func collect<Element>(
        _ operation: NetlinkError.Operation, _ parse: (UnsafeMutablePointer<nlmsghdr>) -> Element?
    ) throws(NetlinkError) -> Dump<Element> {
        var dump = Dump<Element>(elements: [])
        var isDone = false
        while !isDone {
            // The kernel makes the next part of a dump while the last one is being read, so there is always something to read. One
            // part at a time, so that a long dump touches no more memory than a short one.
            let count = answers.receive(from: socket.descriptor, limit: 1)
            guard count > 0 else { throw NetlinkError(operation, errno: count == 0 ? EPROTO : CInt(-count)) }
            for slot in 0..<count where answers.sender(slot) == 0 {
                try answers.forEachMessage(in: slot) { message throws(NetlinkError) in
                    guard message.pointee.nlmsg_seq == sequence else { return }
                    if message.pointee.nlmsg_flags & UInt16(NLM_F_DUMP_INTR) != 0 { dump.isInterrupted = true }
                    switch CInt(message.pointee.nlmsg_type) {
                    case NLMSG_DONE:
                        // A dump that fails on the way ends like any other, but for the error number.
                        let error = MessageParser.payload(of: message, as: CInt.self) ?? 0
                        if error < 0 { throw NetlinkError(operation, errno: -error) }
                        isDone = true
                    case NLMSG_ERROR: throw NetlinkError(operation, errno: Self.error(in: message))
                    default: if let element = parse(message) { dump.elements.append(element) }
                    }
                }
            }
        }
        return dump
    }

    // MARK: Lookups

    /// The kernel answers all lookups of a datagram before `send` returns, so the answers are there to be read.
    mutating func lookUp(_ queries: [RouteQuery]) throws(NetlinkError) -> [RouteAnswer] {
        guard queries.count > Self.lookupsPerDatagram else { return try lookUpAtOnce(queries) }
        var answers: [RouteAnswer] = []
        var rest = queries[...]
        while !rest.isEmpty {
            answers += try lookUpAtOnce(Array(rest.prefix(Self.lookupsPerDatagram)))
            rest = rest.dropFirst(Self.lookupsPerDatagram)
        }
        return answers
    }

    private mutating func lookUpAtOnce(_ queries: [RouteQuery]) throws(NetlinkError) -> [RouteAnswer] {
        guard !queries.isEmpty else { return [] }
        if prepared.queries != queries { try prepare(queries) }
        let first = sequence &+ 1
        sequence &+= UInt32(queries.count)
        prepared.datagram.withUnsafeMutableBytes { bytes in
            for (number, offset) in prepared.offsets.enumerated() {
                bytes.storeBytes(of: first &+ UInt32(number), toByteOffset: offset + 8, as: UInt32.self)  // nlmsg_seq
            }
        }
        try send(prepared.datagram, .lookUpRoute)

        // The kernel answers in order, and one answer each; the numbers make sure of it.
        var found: [RouteAnswer] = []
        found.reserveCapacity(queries.count)
        while found.count < queries.count {
            let count = answers.receive(from: socket.descriptor, limit: queries.count - found.count)
            guard count > 0 else { throw NetlinkError(.lookUpRoute, errno: count == 0 ? EPROTO : CInt(-count)) }
            for slot in 0..<count where answers.sender(slot) == 0 {
                answers.forEachMessage(in: slot) { message in
                    guard message.pointee.nlmsg_seq == first &+ UInt32(found.count) else { return }
                    found.append(Self.answer(from: message))
                }
            }
        }
        return found
    }

    private mutating func prepare(_ queries: [RouteQuery]) throws(NetlinkError) {
        var datagram: [UInt8] = []
        var offsets: [Int] = []
        for query in queries {
            var header = rtmsg()
            header.rtm_family = UInt8(query.destination.family == .ipv4 ? AF_INET : AF_INET6)
            header.rtm_dst_len = UInt8(query.destination.bitWidth)
            header.rtm_flags = query.matchesEntry ? UInt32(RTM_F_FIB_MATCH) : 0
            // Without this, IPv4 says that every answer came from the main table. IPv6 always names it, and refuses the flag.
            if query.destination.family == .ipv4 { header.rtm_flags |= UInt32(RTM_F_LOOKUP_TABLE) }
            var request = try MessageBuilder(.lookUpRoute, type: CInt(RTM_GETROUTE), flags: 0, header: header)
            try request.put(UInt16(RTA_DST.rawValue), query.destination.bytes)
            if let link = query.link { try request.put(UInt16(RTA_OIF.rawValue), UInt32(bitPattern: link)) }
            offsets.append(datagram.count)
            datagram += request.bytes
        }
        prepared = (queries, datagram, offsets)
    }

    private static func answer(from message: UnsafeMutablePointer<nlmsghdr>) -> RouteAnswer {
        switch CInt(message.pointee.nlmsg_type) {
        case NLMSG_ERROR: .refused(errno: error(in: message))
        default: MessageParser.route(from: message).map { .route($0) } ?? .refused(errno: EPROTO)
        }
    }

    private static func error(in message: UnsafeMutablePointer<nlmsghdr>) -> CInt {
        MessageParser.payload(of: message, as: CInt.self).map { -$0 } ?? EPROTO
    }

    private func send(_ datagram: [UInt8], _ operation: NetlinkError.Operation) throws(NetlinkError) {
        while Glibc.send(socket.descriptor, datagram, datagram.count, 0) < 0 {
            if Glibc.errno != EINTR { throw NetlinkError(operation, errno: Glibc.errno) }
        }
    }
}
