import CNetlink
import Glibc

/// The socket that listens: every multicast group that can bear on an answer, behind the kernel-side filter.
struct DoorbellSocket: ~Copyable {
    private let socket: NetlinkSocket
    private let batch: DatagramBatch
    /// Why the groups could not be joined, as in sandboxes that emulate rtnetlink without multicast.
    let deafness: NetlinkError?

    private static let groups: [rtnetlink_groups] = [
        RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,
        RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE,
    ]
    /// Datagrams taken by one system call; and system calls in one drain, before others get a turn.
    private static let batchSize = 32
    private static let batchesPerDrain = 64

    init(watching destinations: [IPAddress]) throws(NetlinkError) {
        let socket = try NetlinkSocket(protocol: NETLINK_ROUTE)
        try socket.setReceiveBuffer(bytes: 1 << 20)
        deafness = Self.join(socket, watching: destinations)
        self.socket = socket
        batch = DatagramBatch(capacity: Self.batchSize, slotSize: 16 * 1024)
    }

    /// Attaches the filter, then joins the groups one by one: between the two nothing can slip in unfiltered.
    private static func join(_ socket: borrowing NetlinkSocket, watching destinations: [IPAddress]) -> NetlinkError? {
        do throws(NetlinkError) {
            try socket.attachFilter(DoorbellFilter.program(watching: destinations))
            for group in groups { try socket.join(group: CInt(group.rawValue)) }
        } catch {
            return error
        }
        // Kernels before 5.3 have no nexthop objects, hence no group and nothing to hear.
        try? socket.join(group: CInt(RTNLGRP_NEXTHOP.rawValue))
        return nil
    }

    var descriptor: CInt { socket.descriptor }

    func watch(_ destinations: [IPAddress]) throws(NetlinkError) {
        try socket.attachFilter(DoorbellFilter.program(watching: destinations))
    }

    func drain(into events: inout [NetlinkEvent]) throws(NetlinkError) -> Bool {
        var overran = false
        for _ in 0..<Self.batchesPerDrain {
            let count = batch.receive(from: socket.descriptor, limit: Self.batchSize)
            if count == -Int(ENOBUFS) {
                // Said once an episode. Until the queue has been empty the kernel goes on losing messages without a word, so
                // the snapshot has to wait until everything has been read.
                overran = true
                continue
            }
            if count < 0, count != -Int(EAGAIN) { throw NetlinkError(.receive, errno: CInt(-count)) }
            for slot in 0..<max(0, count) { take(slot, into: &events) }
            if count < Self.batchSize {
                if overran { events.append(.overrun) }
                return false
            }
        }
        if overran { events.append(.overrun) }
        return true
    }

    private func take(_ slot: Int, into events: inout [NetlinkEvent]) {
        // Root in the same namespace can send to our port and to our groups; only the kernel has nl_pid 0.
        guard batch.sender(slot) == 0 else {
            events.append(.skipped(.forged))
            return
        }
        guard !batch.isTruncated(slot) else {
            events.append(.skipped(.malformed))
            return
        }
        var count = 0
        batch.forEachMessage(in: slot) { message in
            events.append(MessageParser.event(from: message))
            count += 1
        }
        if count == 0 { events.append(.skipped(.malformed)) }
    }
}
