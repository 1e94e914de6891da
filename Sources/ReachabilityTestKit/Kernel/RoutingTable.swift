import Glibc
import Netlink
import Reachability

/// An entry of a routing table.
struct TableEntry: Sendable {
    struct Leg: Sendable, Hashable {
        var link: Int32
        var gateway: IPAddress?
        /// Its link went down while another leg kept the route (RTNH_F_DEAD).
        var isDead = false
    }

    /// `rtm_scope` of IPv4, from the widest to the narrowest.
    enum Scope: UInt8, Comparable, Sendable {
        case universe = 0
        case link = 253
        case host = 254

        static func < (one: Scope, other: Scope) -> Bool { one.rawValue < other.rawValue }
    }

    var table: UInt32
    var destination: Prefix
    var kind: RouteMessage.Kind
    var metric: UInt32
    var scope: Scope = .universe
    var source: IPAddress?
    var legs: [Leg]
    var nexthop: UInt32?

    var family: IPAddress.Family { destination.family }

    /// What a lookup that ends here fails with; EAGAIN asks the next rule.
    var error: CInt? {
        switch kind {
        case .blackhole: EINVAL
        case .prohibit: EACCES
        case .unreachable: EHOSTUNREACH
        case .throw: EAGAIN
        default: nil
        }
    }

    var isBlackholeNexthop: Bool { nexthop != nil && kind == .blackhole }

    /// What the kernel says of the entry itself (RTM_F_FIB_MATCH, RTM_NEWROUTE).
    func message(showingLegs: Bool = true) -> RouteMessage {
        RouteMessage(
            family: family, kind: kind, table: table, destination: destination.length == 0 ? nil : destination.address,
            prefixLength: UInt8(destination.length),
            hops: showingLegs ? legs.map { RouteMessage.Hop(index: $0.link, gateway: $0.gateway) } : [],
            preferredSource: source, metric: metric, nexthopID: nexthop)
    }
}

/// One table, found by longest prefix first; within a prefix in the kernel's order: by metric, then by age.
struct RoutingTable: Sendable {
    private var byLength: [Int: [IPAddress: [TableEntry]]] = [:]

    /// The entries whose prefix covers an address, prefix by prefix, the longest first.
    func matches(for address: IPAddress) -> [[TableEntry]] {
        byLength.keys.sorted(by: >).compactMap { length in byLength[length]?[address.masked(to: length)] }
    }

    subscript(prefix: Prefix) -> [TableEntry] {
        get { byLength[prefix.length]?[prefix.address] ?? [] }
        set {
            byLength[prefix.length, default: [:]][prefix.address] = newValue.isEmpty ? nil : newValue
            if byLength[prefix.length]?.isEmpty == true { byLength[prefix.length] = nil }
        }
    }

    /// Puts an entry where the kernel would: before the next higher metric.
    mutating func insert(_ entry: TableEntry) {
        let entries = self[entry.destination]
        let position = entries.firstIndex { $0.metric > entry.metric } ?? entries.endIndex
        self[entry.destination].insert(entry, at: position)
    }

    /// Changes every entry, or takes it out where `change` returns `nil`; returns those taken out.
    mutating func revise(_ change: (TableEntry) -> TableEntry?) -> [TableEntry] {
        var removed: [TableEntry] = []
        for (length, prefixes) in byLength {
            for (address, entries) in prefixes {
                let revised = entries.compactMap { entry -> TableEntry? in
                    let new = change(entry)
                    if new == nil { removed.append(entry) }
                    return new
                }
                self[Prefix(address, length)] = revised
            }
        }
        return removed
    }
}
