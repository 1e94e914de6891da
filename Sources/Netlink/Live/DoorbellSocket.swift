import CNetlink
import Glibc

/// The socket that listens: every multicast group that can bear on an answer, behind the kernel-side filter.
struct DoorbellSocket: ~Copyable {
    private let queue: DoorbellQueue
    /// Why the groups could not be joined, as in sandboxes that emulate rtnetlink without multicast.
    let deafness: NetlinkError?

    init(watching destinations: [IPAddress]) throws(NetlinkError) {
        let socket = try NetlinkSocket(protocol: NETLINK_ROUTE)
        try socket.setReceiveBuffer(bytes: 1 << 20)
        deafness = Self.join(socket, watching: destinations)
        queue = DoorbellQueue(socket)
    }

    /// Attaches the filter, then joins the groups one by one: between the two nothing can slip in unfiltered.
    private static func join(_ socket: borrowing NetlinkSocket, watching destinations: [IPAddress]) -> NetlinkError? {
        do throws(NetlinkError) {
            try socket.attachFilter(DoorbellFilter.program(watching: destinations))
            try socket.joinRouting()
        } catch {
            return error
        }
        return nil
    }

    var descriptor: CInt { queue.socket.descriptor }

    func watch(_ destinations: [IPAddress]) throws(NetlinkError) {
        try queue.socket.attachFilter(DoorbellFilter.program(watching: destinations))
    }

    func drain(into events: inout [NetlinkEvent]) throws(NetlinkError) -> Bool {
        try queue.drain(into: &events, overrun: .overrun) { MessageParser.event(from: $0) }
    }
}

extension NetlinkSocket {
    /// Joins the groups that tell of all that can change where packets go.
    func joinRouting() throws(NetlinkError) {
        let groups = [
            RTNLGRP_LINK, RTNLGRP_IPV4_IFADDR, RTNLGRP_IPV6_IFADDR, RTNLGRP_IPV4_ROUTE, RTNLGRP_IPV6_ROUTE,
            RTNLGRP_IPV4_RULE, RTNLGRP_IPV6_RULE,
        ]
        for group in groups { try join(group: CInt(group.rawValue)) }
        // Kernels before 5.3 have no nexthop objects, hence no group and nothing to hear.
        try joinIfKnown(group: CInt(RTNLGRP_NEXTHOP.rawValue))
    }
}
