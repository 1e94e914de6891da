import Glibc
import Netlink
import Reachability

/// What `ip route get` says.
extension KernelState {
    func lookUp(_ query: RouteQuery) -> RouteAnswer {
        if let link = query.link, query.destination.family == .ipv4 {
            guard let device = device(link) else { return .refused(errno: ENODEV) }
            guard device.isUp else { return .refused(errno: ENETUNREACH) }
        }
        switch match(query) {
        case .found(let entry, let leg):
            return query.matchesEntry ? self.entry(entry, beginningWith: leg) : way(query, entry, leg)
        case .refused(let errno):
            guard query.destination.family == .ipv4, let link = query.link else { return .refused(errno: errno) }
            // With a link, IPv4 takes every destination for on-link that it has no route to; there is no entry that says so.
            if query.matchesEntry { return .refused(errno: EHOSTUNREACH) }
            return .route(
                RouteMessage(
                    family: .ipv4, table: 0, destination: query.destination, prefixLength: 32,
                    hops: [RouteMessage.Hop(index: link)],
                    preferredSource: source4(on: link, near: nil, scope: .link)))
        }
    }

    // MARK: Matching

    enum Match {
        case found(TableEntry, TableEntry.Leg?)
        case refused(CInt)
    }

    /// Asks the tables that the rules name, one after the other.
    ///
    /// - Parameter scope: `link` where the link to a gateway is looked for: IPv4 leaves routes of a wider scope out.
    func match(_ query: RouteQuery, within scope: TableEntry.Scope = .universe) -> Match {
        for rule in rules[query.destination.family, default: []] where rule.applies(to: query) {
            switch rule.action {
            case .unreachable: return .refused(ENETUNREACH)
            case .prohibit: return .refused(EACCES)
            case .blackhole: return .refused(EINVAL)
            case .lookUp(let number):
                let table = table(query.destination.family, number)
                guard let match = match(query, in: table, within: scope) else { continue }
                if case .found(let entry, _) = match, let length = rule.suppressedLength,
                    entry.destination.length <= length
                {
                    continue
                }
                return match
            }
        }
        return .refused(ENETUNREACH)
    }

    /// `nil` where the table has nothing to say, and the next rule is asked.
    func match(_ query: RouteQuery, in table: RoutingTable, within scope: TableEntry.Scope) -> Match? {
        for entries in table.matches(for: query.destination) {
            for entry in inOrder(entries) where entry.family == .ipv6 || entry.scope >= scope {
                if let error = entry.error {
                    // IPv4 refuses whatever link is asked for. In IPv6 such routes are routes over the loopback link.
                    let isAskedElsewhere = query.link != nil && !entry.legs.contains { $0.link == query.link }
                    if entry.family == .ipv6, entry.nexthop == nil, isAskedElsewhere { continue }
                    // Where IPv6 looks for the link to a gateway, throw is a refusal like the others.
                    let asksNextRule = error == EAGAIN && (entry.family == .ipv4 || scope == .universe)
                    return asksNextRule ? nil : .refused(error)
                }
                let legs = entry.legs.filter { !$0.isDead && (query.link == nil || $0.link == query.link) }
                if let leg = choose(legs, for: query.destination) { return .found(entry, leg) }
            }
        }
        return nil
    }

    /// The entries of one prefix in the order in which the kernel looks at them: by metric, but for IPv6, where a nexthop object
    /// that is a blackhole goes before all others of the lowest metric, or else before all others of higher ones.
    private func inOrder(_ entries: [TableEntry]) -> [TableEntry] {
        guard let first = entries.first, first.family == .ipv6, entries.contains(where: \.isBlackholeNexthop) else {
            return entries
        }
        let lowest = entries.prefix { $0.metric == first.metric }
        return [lowest, entries.dropFirst(lowest.count)].flatMap { group in
            group.filter(\.isBlackholeNexthop) + group.filter { !$0.isBlackholeNexthop }
        }
    }

    /// One of the legs by a hash of the destination, so that it is the same one each time. The kernel's hash is another.
    private func choose(_ legs: [TableEntry.Leg], for destination: IPAddress) -> TableEntry.Leg? {
        guard !legs.isEmpty else { return nil }
        let hash = destination.bytes.reduce(UInt32(2_166_136_261)) { ($0 ^ UInt32($1)) &* 16_777_619 }
        return legs[Int(hash >> 8) % legs.count]
    }

    // MARK: Answering

    /// Until a rule is made, IPv4 keeps its local table inside the main one.
    private func reportedTable(_ entry: TableEntry) -> UInt32 {
        entry.family == .ipv4 && !hasCustomRules && entry.table == RouteTable.local ? RouteTable.main : entry.table
    }

    private func entry(_ entry: TableEntry, beginningWith leg: TableEntry.Leg?) -> RouteAnswer {
        var entry = entry
        // IPv6 begins with the leg that the packet would take.
        if entry.family == .ipv6, entry.nexthop == nil, let leg, let position = entry.legs.firstIndex(of: leg) {
            entry.legs = Array(entry.legs[position...] + entry.legs[..<position])
        }
        var message = entry.message(showingLegs: entry.nexthop == nil || showsLegsOfNexthops)
        message.table = reportedTable(entry)
        return .route(message)
    }

    private func way(_ query: RouteQuery, _ entry: TableEntry, _ leg: TableEntry.Leg?) -> RouteAnswer {
        guard let leg else { return .refused(errno: ENETUNREACH) }
        var hop = RouteMessage.Hop(index: leg.link, gateway: leg.gateway)
        if entry.kind == .local, let loopback = devices.first(where: { $0.baseFlags.contains(.loopback) }) {
            hop.index = loopback.index
        }
        let isIPv4 = entry.family == .ipv4
        let source: IPAddress?
        if entry.kind == .local {
            source = entry.source ?? query.destination
        } else {
            source =
                entry.source
                ?? (isIPv4
                    ? source4(on: leg.link, near: leg.gateway, scope: entry.scope)
                    : source6(on: leg.link, to: query.destination))
        }
        return .route(
            RouteMessage(
                family: entry.family, kind: entry.kind, table: reportedTable(entry), destination: query.destination,
                prefixLength: UInt8(query.destination.bitWidth), hops: [hop], preferredSource: source,
                metric: isIPv4 ? 0 : entry.metric))
    }
}
