import Glibc
import Netlink
import Reachability

extension TableEntry {
    func isSame(as other: TableEntry) -> Bool {
        table == other.table && destination == other.destination && kind == other.kind && metric == other.metric
            && scope == other.scope && source == other.source && legs.map(\.link) == other.legs.map(\.link)
            && legs.map(\.gateway) == other.legs.map(\.gateway) && nexthop == other.nexthop
    }

    /// IPv6 routes of one metric that lead to gateways share the traffic, however they came.
    var sharesTraffic: Bool { kind == .unicast && nexthop == nil && legs.allSatisfy { $0.gateway != nil } }
}

/// How routes come and go.
extension KernelState {
    /// What `ip route` does with a route of the same destination and metric.
    enum Mode: Sendable {
        case add
        case replace
        case append
    }

    func table(_ family: IPAddress.Family, _ number: UInt32) -> RoutingTable {
        tables[family]?[number] ?? RoutingTable()
    }

    func contains(_ entry: TableEntry) -> Bool {
        table(entry.family, entry.table)[entry.destination].contains { $0.isSame(as: entry) }
    }

    /// Puts an entry in without asking whether it makes sense, and says so.
    mutating func insert(_ entry: TableEntry) {
        tables[entry.family, default: [:]][entry.table, default: RoutingTable()].insert(entry)
        sayRoute(entry)
    }

    mutating func deleteOwnRoute(_ entry: TableEntry) {
        guard
            let position = table(entry.family, entry.table)[entry.destination].firstIndex(where: {
                $0.isSame(as: entry)
            })
        else { return }
        delete(entry, at: position)
    }

    private mutating func delete(_ entry: TableEntry, at position: Int) {
        tables[entry.family]?[entry.table]?[entry.destination].remove(at: position)
        sayRoute(entry)
    }

    // MARK: Adding

    mutating func add(_ entry: TableEntry, onLink: Bool, _ mode: Mode) throws(SimulatedKernel.Refusal) {
        var entry = entry
        try complete(&entry, onLink: onLink)
        let present = table(entry.family, entry.table)[entry.destination]
        guard present.contains(where: { $0.metric == entry.metric }) else { return insert(entry) }
        switch mode {
        case .add:
            throw .exists("a route to \(entry.destination.address)/\(entry.destination.length) of that metric")
        case .replace:
            try replace(entry, present)
        case .append:
            try append(entry, present)
        }
    }

    private mutating func replace(_ entry: TableEntry, _ present: [TableEntry]) throws(SimulatedKernel.Refusal) {
        let rivals = present.indices.filter { present[$0].metric == entry.metric }
        var position = rivals[0]
        switch entry.family {
        case .ipv4:
            // To IPv4, replacing a route by itself is no change, unless another one of the same metric comes first.
            if let same = rivals.first(where: { present[$0].isSame(as: entry) }) {
                guard same == position else { throw .exists("that very route") }
                return
            }
        case .ipv6:
            position = rivals.first { present[$0].sharesTraffic == entry.sharesTraffic } ?? position
        }
        tables[entry.family]?[entry.table]?[entry.destination][position] = entry
        sayRoute(entry)
    }

    private mutating func append(_ entry: TableEntry, _ present: [TableEntry]) throws(SimulatedKernel.Refusal) {
        let rivals = present.indices.filter { present[$0].metric == entry.metric }
        switch entry.family {
        case .ipv4:
            guard !rivals.contains(where: { present[$0].isSame(as: entry) }) else { throw .exists("that very route") }
        case .ipv6:
            let isThere = rivals.contains { rival in
                let rival = present[rival]
                return entry.nexthop == nil && rival.nexthop == nil
                    ? entry.legs.contains(where: rival.legs.contains) : entry.nexthop == rival.nexthop
            }
            guard !isThere else { throw .exists("a route over that very leg") }
            if entry.sharesTraffic, let sibling = rivals.first(where: { present[$0].sharesTraffic }) {
                tables[.ipv6]?[entry.table]?[entry.destination][sibling].legs += entry.legs
                for _ in entry.legs { sayRoute(entry) }
                return
            }
        }
        insert(entry)
    }

    /// Checks the legs, and finds the links of gateways that come without one.
    private func complete(_ entry: inout TableEntry, onLink: Bool) throws(SimulatedKernel.Refusal) {
        if let source = entry.source, !isOwn(source) { throw .invalid("\(source) is not an address of this machine") }
        if let id = entry.nexthop {
            guard let nexthop = nexthops[id] else { throw .invalid("there is no nexthop object \(id)") }
            if case .blackhole = nexthop { entry.kind = .blackhole }
            entry.legs = legs(of: nexthop)
            return
        }
        if entry.kind != .unicast {
            guard entry.legs.allSatisfy({ $0.gateway == nil }) else {
                throw .invalid("a route of type \(entry.kind) has no gateway")
            }
            if entry.family == .ipv6, let loopback = devices.first(where: { $0.baseFlags.contains(.loopback) }),
                entry.kind != .local, entry.kind != .broadcast, entry.kind != .multicast
            {
                entry.legs = [TableEntry.Leg(link: loopback.index)]
            }
            return
        }
        guard !entry.legs.isEmpty else { throw .noDevice("(none was given)") }
        for position in entry.legs.indices {
            try complete(&entry.legs[position], in: entry, onLink: onLink)
        }
    }

    /// - Parameter link: 0 where it has to be found.
    private func complete(
        _ leg: inout TableEntry.Leg, in entry: TableEntry, onLink: Bool
    ) throws(SimulatedKernel.Refusal) {
        if let gateway = leg.gateway, !onLink {
            leg.link = try link(to: gateway, over: leg.link == 0 ? nil : leg.link, table: entry.table)
        }
        guard let device = device(leg.link) else { throw .noDevice("\(leg.link)") }
        guard device.isUp else { throw .linkDown }
    }

    /// The link that a gateway is on: there has to be a route to it that needs no gateway itself.
    func link(to gateway: IPAddress, over link: Int32?, table: UInt32?) throws(SimulatedKernel.Refusal) -> Int32 {
        if let link, device(link)?.isUp == false { throw .linkDown }
        if gateway.family == .ipv6, gateway.isLinkLocal {
            guard let link else { throw .invalid("a link-local gateway needs a link") }
            return link
        }
        if gateway.family == .ipv6, isOwn(gateway) { throw .invalid("the gateway \(gateway) is this machine") }
        let query = RouteQuery(destination: gateway, link: link, matchesEntry: true)
        // IPv4 asks a table other than main first; IPv6 asks any.
        let first = gateway.family == .ipv4 && table == RouteTable.main ? nil : table
        let inTable = first.flatMap { match(query, in: self.table(gateway.family, $0), within: .link) }
        for match in [inTable, match(query, within: .link)] {
            guard case .found(let entry, let leg?) = match, entry.kind == .unicast || entry.kind == .local,
                gateway.family == .ipv4 || leg.gateway == nil
            else { continue }
            return leg.link
        }
        throw gateway.family == .ipv4
            ? .unreachableGateway : SimulatedKernel.Refusal(EHOSTUNREACH, "no link leads to \(gateway)")
    }

    // MARK: Deleting

    /// What to delete: whatever is `nil` does not matter.
    struct Pattern: Sendable {
        var table: UInt32
        var destination: Prefix
        var kind: RouteMessage.Kind?
        var metric: UInt32?
        var source: IPAddress?
        var link: Int32?
        var gateway: IPAddress?
        var nexthop: UInt32?
    }

    mutating func delete(_ pattern: Pattern) throws(SimulatedKernel.Refusal) {
        let family = pattern.destination.family
        let present = table(family, pattern.table)[pattern.destination]
        guard let position = present.firstIndex(where: { matches($0, pattern) }) else { throw .noSuchRoute }
        let entry = present[position]
        if family == .ipv6, let gateway = pattern.gateway, entry.legs.count > 1, entry.nexthop == nil {
            // One leg of several: the others stay.
            tables[family]?[pattern.table]?[pattern.destination][position].legs.removeAll { leg in
                leg.gateway == gateway && (pattern.link == nil || leg.link == pattern.link)
            }
            sayRoute(entry)
            return
        }
        delete(entry, at: position)
    }

    private func matches(_ entry: TableEntry, _ pattern: Pattern) -> Bool {
        // IPv6 does not look at the type.
        guard pattern.kind == nil || entry.kind == pattern.kind || entry.family == .ipv6,
            pattern.metric == nil || entry.metric == pattern.metric,
            pattern.source == nil || entry.source == pattern.source,
            pattern.nexthop == nil || entry.nexthop == pattern.nexthop
        else { return false }
        if pattern.link == nil, pattern.gateway == nil { return true }
        // Of routes through nexthop objects, IPv4 finds none by its legs, and IPv6 does not look at them.
        if entry.nexthop != nil { return entry.family == .ipv6 }
        let legs = entry.family == .ipv4 ? Array(entry.legs.prefix(1)) : entry.legs
        return legs.contains { leg in
            (pattern.link == nil || leg.link == pattern.link)
                && (pattern.gateway == nil || leg.gateway == pattern.gateway)
        }
    }

    // MARK: Losing, mostly without a word

    enum Loss {
        case down
        case unregister
        case lastAddress
    }

    /// What goes with a link: IPv4 routes silently, IPv6 ones with a message each.
    mutating func loseRoutes(over index: Int32, for loss: Loss) {
        revise(.ipv4) { entry in
            guard entry.legs.contains(where: { $0.link == index }) else { return entry }
            // The machine's own addresses stay its own while the link is down.
            if entry.scope == .host, loss == .down { return entry }
            return Self.withoutLeg(entry, index, removing: loss == .unregister)
        }
        guard loss != .lastAddress else { return }
        let lost = revise(.ipv6) { entry in
            guard entry.legs.contains(where: { $0.link == index }), entry.kind != .unreachable,
                entry.kind != .blackhole,
                entry.kind != .prohibit, entry.kind != .throw
            else { return entry }
            if loss == .unregister, entry.nexthop == nil {
                var entry = entry
                entry.legs.removeAll { $0.link == index }
                return entry.legs.isEmpty ? nil : entry
            }
            return Self.withoutLeg(entry, index, removing: false)
        }
        for entry in lost { sayRoute(entry) }
    }

    private static func withoutLeg(_ entry: TableEntry, _ index: Int32, removing: Bool) -> TableEntry? {
        var entry = entry
        for position in entry.legs.indices where entry.legs[position].link == index {
            entry.legs[position].isDead = true
        }
        return removing || entry.legs.allSatisfy(\.isDead) ? nil : entry
    }

    /// The legs of multipath routes that were dead while the link was down, or without an IPv4 address.
    mutating func reviveLegs(over index: Int32, _ family: IPAddress.Family) {
        guard device(index)?.isUp == true else { return }
        revise(family) { entry in
            var entry = entry
            for position in entry.legs.indices where entry.legs[position].link == index {
                entry.legs[position].isDead = false
            }
            return entry
        }
    }

    /// IPv4 routes that name a source address which is no longer there.
    mutating func loseRoutes(from source: IPAddress) {
        revise(.ipv4) { $0.source == source ? nil : $0 }
    }

    @discardableResult
    mutating func revise(_ family: IPAddress.Family, _ change: (TableEntry) -> TableEntry?) -> [TableEntry] {
        var lost: [TableEntry] = []
        for number in (tables[family] ?? [:]).keys {
            lost += tables[family]?[number]?.revise(change) ?? []
        }
        return lost
    }
}
