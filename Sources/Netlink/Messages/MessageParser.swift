import CNetlink
import Glibc

/// Turns netlink messages into values. Whatever comes, it never traps: a short or odd message is `nil` or skipped.
package enum MessageParser {
    /// What a message on the doorbell means.
    package static func event(from message: UnsafeMutablePointer<nlmsghdr>) -> NetlinkEvent {
        switch Int32(message.pointee.nlmsg_type) {
        case Int32(RTM_NEWLINK):
            if isPartial(message) { return .skipped(.partial) }
            return link(from: message).map { .link($0) } ?? .skipped(.malformed)
        case Int32(RTM_DELLINK):
            guard let header = payload(of: message, as: ifinfomsg.self) else { return .skipped(.malformed) }
            // A port that leaves a bridge is announced as RTM_DELLINK of family AF_BRIDGE; the link itself lives on.
            return header.ifi_family == AF_UNSPEC ? .linkGone(index: header.ifi_index) : .skipped(.partial)
        case Int32(RTM_NEWADDR):
            return address(from: message).map { .address($0) } ?? .skipped(.malformed)
        case Int32(RTM_DELADDR):
            return address(from: message).map { .addressGone($0) } ?? .skipped(.malformed)
        case Int32(RTM_NEWROUTE), Int32(RTM_DELROUTE):
            return .routing(.route)
        case Int32(RTM_NEWRULE), Int32(RTM_DELRULE):
            return .routing(.rule)
        case Int32(RTM_NEWNEXTHOP), Int32(RTM_DELNEXTHOP):
            return .routing(.nexthop)
        default:
            return .skipped(.unknown)
        }
    }

    /// Whether an RTM_NEWLINK is well-formed and no news of the link: AF_BRIDGE ones carry a port's bridge settings, and those with
    /// IFLA_WIRELESS announce a wireless extension event with the flags from before the change.
    private static func isPartial(_ message: UnsafeMutablePointer<nlmsghdr>) -> Bool {
        guard let header = payload(of: message, as: ifinfomsg.self) else { return false }
        if header.ifi_family != AF_UNSPEC { return true }
        return Attributes.parse(of: message, after: MemoryLayout<ifinfomsg>.size, upTo: Int(IFLA_WIRELESS)) {
            $0.has(Int(IFLA_WIRELESS))
        } ?? false
    }

    package static func link(from message: UnsafeMutablePointer<nlmsghdr>) -> LinkMessage? {
        guard let header = payload(of: message, as: ifinfomsg.self) else { return nil }
        return Attributes.parse(
            of: message, after: MemoryLayout<ifinfomsg>.size, upTo: Int(IFLA_PARENT_DEV_BUS_NAME)
        ) { attributes -> LinkMessage? in
            guard let name = attributes.string(Int(IFLA_IFNAME)) else { return nil }
            var link = LinkMessage(
                index: header.ifi_index, name: name, hardwareType: header.ifi_type,
                flags: LinkFlags(rawValue: header.ifi_flags).intersection(.relevant),
                operationalState: attributes.uint8(Int(IFLA_OPERSTATE)).flatMap(OperationalState.init),
                carrier: attributes.uint8(Int(IFLA_CARRIER)).map { $0 != 0 },
                master: attributes.int32(Int(IFLA_MASTER)),
                parent: attributes.int32(Int(IFLA_LINK)),
                parentIsElsewhere: attributes.has(Int(IFLA_LINK_NETNSID)),
                bus: attributes.string(Int(IFLA_PARENT_DEV_BUS_NAME)))
            _ = attributes.nested(Int(IFLA_LINKINFO), upTo: Int(IFLA_INFO_SLAVE_KIND)) { info -> Void? in
                link.kind = info.string(Int(IFLA_INFO_KIND))
                link.portKind = info.string(Int(IFLA_INFO_SLAVE_KIND))
                guard link.kind == "bond" else { return nil }
                return info.nested(Int(IFLA_INFO_DATA), upTo: Int(IFLA_BOND_ACTIVE_SLAVE)) {
                    link.activePort = $0.int32(Int(IFLA_BOND_ACTIVE_SLAVE))
                }
            }
            return link
        }
    }

    package static func address(from message: UnsafeMutablePointer<nlmsghdr>) -> AddressMessage? {
        guard let header = payload(of: message, as: ifaddrmsg.self) else { return nil }
        return Attributes.parse(
            of: message, after: MemoryLayout<ifaddrmsg>.size, upTo: Int(IFA_FLAGS)
        ) { attributes -> AddressMessage? in
            // IFA_ADDRESS is the peer's on a point-to-point link; IFA_LOCAL, where it is given, is always our own.
            let prefix = attributes.address(Int(IFA_ADDRESS))
            guard let address = attributes.address(Int(IFA_LOCAL)) ?? prefix else { return nil }
            let flags = attributes.uint32(Int(IFA_FLAGS)) ?? UInt32(header.ifa_flags)
            return AddressMessage(
                index: Int32(bitPattern: header.ifa_index), address: address, prefixLength: header.ifa_prefixlen,
                peer: prefix == address ? nil : prefix, flags: AddressFlags(rawValue: flags).intersection(.relevant))
        }
    }

    package static func route(from message: UnsafeMutablePointer<nlmsghdr>) -> RouteMessage? {
        guard let header = payload(of: message, as: rtmsg.self), let family = family(header.rtm_family),
            let kind = RouteMessage.Kind(rawValue: header.rtm_type)
        else { return nil }
        return Attributes.parse(of: message, after: MemoryLayout<rtmsg>.size, upTo: Int(RTA_NH_ID.rawValue)) {
            attributes in
            RouteMessage(
                family: family, kind: kind,
                table: attributes.uint32(Int(RTA_TABLE.rawValue)) ?? UInt32(header.rtm_table),
                destination: attributes.address(Int(RTA_DST.rawValue)), prefixLength: header.rtm_dst_len,
                hops: hops(in: attributes), preferredSource: attributes.address(Int(RTA_PREFSRC.rawValue)),
                metric: attributes.uint32(Int(RTA_PRIORITY.rawValue)) ?? 0,
                nexthopID: attributes.uint32(Int(RTA_NH_ID.rawValue)))
        }
    }

    private static func hops(in attributes: Attributes) -> [RouteMessage.Hop] {
        if let legs = attributes.bytes(Int(RTA_MULTIPATH.rawValue)) { return self.legs(in: legs) }
        guard let index = attributes.int32(Int(RTA_OIF.rawValue)) else { return [] }
        return [RouteMessage.Hop(index: index, gateway: gateway(in: attributes))]
    }

    /// RTA_MULTIPATH holds no attributes but a row of `struct rtnexthop`, each followed by its own attributes.
    private static func legs(in bytes: UnsafeRawBufferPointer) -> [RouteMessage.Hop] {
        var hops: [RouteMessage.Hop] = []
        var rest = bytes[...]
        let headerSize = MemoryLayout<rtnexthop>.size
        while rest.count >= headerSize {
            let leg = UnsafeRawBufferPointer(rebasing: rest)
            let header = leg.loadUnaligned(as: rtnexthop.self)
            let length = Int(header.rtnh_len)
            guard length >= headerSize, length <= rest.count else { break }
            let attributes = UnsafeMutableRawPointer(mutating: leg.baseAddress)?.advanced(by: headerSize)
            let hop = Attributes.parse(
                from: attributes?.assumingMemoryBound(to: nlattr.self), length: CInt(length - headerSize),
                upTo: Int(RTA_NH_ID.rawValue)
            ) { RouteMessage.Hop(index: header.rtnh_ifindex, gateway: gateway(in: $0)) }
            if let hop { hops.append(hop) }
            rest = rest.dropFirst((length + 3) & ~3)
        }
        return hops
    }

    private static func gateway(in attributes: Attributes) -> IPAddress? {
        if let gateway = attributes.address(Int(RTA_GATEWAY.rawValue)) { return gateway }
        // RTA_VIA: a gateway of the other family (RFC 5549), `struct rtvia`: a 16-bit family, then the address.
        return attributes.bytes(Int(RTA_VIA.rawValue)).flatMap { IPAddress(bytes: $0.dropFirst(2)) }
    }

    static func family(_ number: UInt8) -> IPAddress.Family? {
        switch CInt(number) {
        case AF_INET: .ipv4
        case AF_INET6: .ipv6
        default: nil
        }
    }

    /// The fixed header that follows `nlmsghdr`, if the message is long enough to have one.
    static func payload<Header>(of message: UnsafeMutablePointer<nlmsghdr>, as type: Header.Type) -> Header? {
        guard Int(message.pointee.nlmsg_len) >= MemoryLayout<nlmsghdr>.size + MemoryLayout<Header>.size else {
            return nil
        }
        return nlmsg_data(message).loadUnaligned(as: type)
    }
}
