import Netlink
import Reachability

/// A rule that says which table answers.
struct RoutingRule: Sendable, Hashable {
    enum Action: Sendable, Hashable {
        case lookUp(table: UInt32)
        case blackhole
        case unreachable
        case prohibit
    }

    var priority: UInt32
    var from: Prefix?
    var to: Prefix?
    /// Only lookups that name this output interface.
    var outputLink: Int32?
    /// Only packets with this mark; a lookup has none.
    var mark: UInt32 = 0
    var isInverted = false
    var action: Action
    /// Answers whose prefix is no longer than this do not count, and the next rule is asked.
    var suppressedLength: Int?

    /// Whether the rule is asked, for a packet of this machine without a mark or a source yet.
    func applies(to query: RouteQuery) -> Bool {
        let matches =
            (from.map { $0.length == 0 } ?? true) && (to?.contains(query.destination) ?? true)
            && (outputLink == nil || outputLink == query.link) && mark == 0
        return matches != isInverted
    }

    static func initial(_ family: IPAddress.Family) -> [RoutingRule] {
        let rules = [
            RoutingRule(priority: 0, action: .lookUp(table: RouteTable.local)),
            RoutingRule(priority: 32766, action: .lookUp(table: RouteTable.main)),
        ]
        return family == .ipv6
            ? rules : rules + [RoutingRule(priority: 32767, action: .lookUp(table: RouteTable.default))]
    }
}
