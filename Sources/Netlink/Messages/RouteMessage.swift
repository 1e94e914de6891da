/// What an RTM_NEWROUTE says: the kernel's answer to a lookup, or an entry of a routing table.
package struct RouteMessage: Sendable, Hashable {
    /// `rtm_type`.
    package enum Kind: UInt8, Sendable, Hashable {
        case unspecified = 0
        case unicast = 1
        case local = 2
        case broadcast = 3
        case anycast = 4
        case multicast = 5
        case blackhole = 6
        case unreachable = 7
        case prohibit = 8
        case `throw` = 9
        case nat = 10
        case xresolve = 11
    }

    /// One leg of a multipath route (RTA_MULTIPATH), or the only one of a plain route.
    package struct Hop: Sendable, Hashable {
        package var index: Int32
        /// RTA_GATEWAY, or the address of RTA_VIA where the gateway is of the other family.
        package var gateway: IPAddress?

        package init(index: Int32, gateway: IPAddress? = nil) {
            self.index = index
            self.gateway = gateway
        }
    }

    package var family: IPAddress.Family
    package var kind: Kind
    /// RTA_TABLE, or `rtm_table` where that is absent.
    package var table: UInt32
    /// RTA_DST; `nil` for the default route.
    package var destination: IPAddress?
    package var prefixLength: UInt8
    /// RTA_OIF with RTA_GATEWAY or RTA_VIA, or the legs of RTA_MULTIPATH. Empty for a blackhole, and for a nexthop object with
    /// `net.ipv4.nexthop_compat_mode=0`, whose routes say RTA_NH_ID only.
    package var hops: [Hop]
    /// RTA_PREFSRC: in the answer to a lookup, the source address a socket would get.
    package var preferredSource: IPAddress?
    /// RTA_PRIORITY: the metric.
    package var metric: UInt32
    /// RTA_NH_ID.
    package var nexthopID: UInt32?

    package init(
        family: IPAddress.Family, kind: Kind = .unicast, table: UInt32 = RouteTable.main, destination: IPAddress? = nil,
        prefixLength: UInt8 = 0, hops: [Hop] = [], preferredSource: IPAddress? = nil, metric: UInt32 = 0,
        nexthopID: UInt32? = nil
    ) {
        self.family = family
        self.kind = kind
        self.table = table
        self.destination = destination
        self.prefixLength = prefixLength
        self.hops = hops
        self.preferredSource = preferredSource
        self.metric = metric
        self.nexthopID = nexthopID
    }
}

/// The tables every kernel has (`rtnetlink.h`).
package enum RouteTable {
    package static let `default`: UInt32 = 253
    package static let main: UInt32 = 254
    package static let local: UInt32 = 255
}
