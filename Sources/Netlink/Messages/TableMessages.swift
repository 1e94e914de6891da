/// A change of a routing table, as RTM_NEWROUTE and RTM_DELROUTE tell it to whoever keeps a copy.
///
/// Nothing in a path rests on copies; this is for playing recordings back.
package struct RouteChange: Sendable, Hashable {
    package var route: RouteMessage
    /// `rtm_scope`.
    package var scope: UInt8
    /// RTM_DELROUTE.
    package var isGone: Bool
    /// NLM_F_REPLACE: another one of the same destination and metric is gone.
    package var replaces: Bool
    /// NLM_F_APPEND: IPv6 joins the legs to those of the route that is there.
    package var appends: Bool
}

/// What RTM_NEWRULE and RTM_DELRULE say.
package struct RuleMessage: Sendable, Hashable {
    package enum Action: Sendable, Hashable {
        case lookUp(table: UInt32)
        case blackhole, unreachable, prohibit
        /// FR_ACT_GOTO, FR_ACT_NOP.
        case other
    }

    package var family: IPAddress.Family
    package var priority: UInt32
    package var source: IPAddress?
    package var sourceLength: UInt8
    package var destination: IPAddress?
    package var destinationLength: UInt8
    package var inputLink: String?
    package var outputLink: String?
    package var mark: UInt32
    package var isInverted: Bool
    package var action: Action
    package var suppressedLength: Int?
    /// The rule looks at something that a lookup without a socket does not have: users, ports, protocols, VRFs.
    package var isForOthers: Bool
}

/// What RTM_NEWNEXTHOP and RTM_DELNEXTHOP say.
package struct NexthopMessage: Sendable, Hashable {
    package enum Target: Sendable, Hashable {
        case hop(RouteMessage.Hop)
        case group([UInt32])
        case blackhole
    }

    package var id: UInt32
    package var family: IPAddress.Family
    package var target: Target
}
