import CNetlink
import Glibc

/// Routing tables, rules and nexthop objects, for playing recordings back.
package enum TableParser {
    /// `nil` for what is no entry of a table: clones that the kernel made for one destination, and families that are not ours.
    package static func route(from message: UnsafeMutablePointer<nlmsghdr>) -> RouteChange? {
        guard let header = MessageParser.payload(of: message, as: rtmsg.self),
            header.rtm_flags & UInt32(RTM_F_CLONED) == 0, let route = MessageParser.route(from: message)
        else { return nil }
        let flags = CInt(message.pointee.nlmsg_flags)
        return RouteChange(
            route: route, scope: header.rtm_scope, isGone: Int(message.pointee.nlmsg_type) == RTM_DELROUTE,
            replaces: flags & NLM_F_REPLACE != 0, appends: flags & NLM_F_APPEND != 0)
    }

    package static func rule(from message: UnsafeMutablePointer<nlmsghdr>) -> RuleMessage? {
        guard let header = MessageParser.payload(of: message, as: fib_rule_hdr.self),
            let family = MessageParser.family(header.family)
        else { return nil }
        return Attributes.parse(of: message, after: MemoryLayout<fib_rule_hdr>.size, upTo: FRA_DPORT_RANGE) {
            attributes in
            let action: RuleMessage.Action =
                switch Int(header.action) {
                case FR_ACT_TO_TBL: .lookUp(table: attributes.uint32(FRA_TABLE) ?? UInt32(header.table))
                case FR_ACT_BLACKHOLE: .blackhole
                case FR_ACT_UNREACHABLE: .unreachable
                case FR_ACT_PROHIBIT: .prohibit
                default: .other
                }
            let others = [FRA_L3MDEV, FRA_UID_RANGE, FRA_IP_PROTO, FRA_SPORT_RANGE, FRA_DPORT_RANGE, FRA_TUN_ID]
            return RuleMessage(
                family: family, priority: attributes.uint32(FRA_PRIORITY) ?? 0, source: attributes.address(FRA_SRC),
                sourceLength: header.src_len, destination: attributes.address(FRA_DST),
                destinationLength: header.dst_len, inputLink: attributes.string(FRA_IIFNAME),
                outputLink: attributes.string(FRA_OIFNAME), mark: attributes.uint32(FRA_FWMARK) ?? 0,
                isInverted: header.flags & UInt32(FIB_RULE_INVERT) != 0, action: action,
                suppressedLength: attributes.int32(FRA_SUPPRESS_PREFIXLEN).flatMap { $0 < 0 ? nil : Int($0) },
                isForOthers: others.contains { attributes.has($0) })
        }
    }

    package static func nexthop(from message: UnsafeMutablePointer<nlmsghdr>) -> NexthopMessage? {
        guard let header = MessageParser.payload(of: message, as: nhmsg.self) else { return nil }
        return Attributes.parse(of: message, after: MemoryLayout<nhmsg>.size, upTo: NHA_GATEWAY) { attributes in
            guard let id = attributes.uint32(NHA_ID) else { return nil }
            // A group has no family of its own.
            let family = MessageParser.family(header.nh_family) ?? .ipv4
            if let members = attributes.bytes(NHA_GROUP) {
                return NexthopMessage(id: id, family: family, target: .group(self.members(members)))
            }
            if attributes.has(NHA_BLACKHOLE) { return NexthopMessage(id: id, family: family, target: .blackhole) }
            guard let index = attributes.int32(NHA_OIF) else { return nil }
            let hop = RouteMessage.Hop(index: index, gateway: attributes.address(NHA_GATEWAY))
            return NexthopMessage(id: id, family: family, target: .hop(hop))
        }
    }

    /// A row of `struct nexthop_grp`.
    private static func members(_ bytes: UnsafeRawBufferPointer) -> [UInt32] {
        let size = MemoryLayout<nexthop_grp>.size
        return (0..<bytes.count / size).map { bytes.loadUnaligned(fromByteOffset: $0 * size, as: nexthop_grp.self).id }
    }
}
