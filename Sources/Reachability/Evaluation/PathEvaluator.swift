import Glibc
import Netlink

/// Makes a path of what is known and what the kernel answered. A pure function.
struct PathEvaluator {
    let state: MachineState
    let destination: Destination
    let lookups: Lookups

    func path() -> NetworkPath {
        var findings = Findings()
        for probe in lookups.probes.indices { assess(probe, &findings) }

        var live: [Carrier] = []
        for way in findings.carriers {
            switch resolve(way.hop.index) {
            case .through(let via): live.append(carrier(way, via: via))
            case .dead(let reason): findings.deadEnds.append(reason)
            case .nowhere: break
            }
        }
        guard let costliest = live.max(by: { $0.cost < $1.cost }) else {
            return NetworkPath(status: .offline, reason: reason(findings))
        }
        return path(live, statusFrom: costliest)
    }

    // MARK: What the answers say

    private struct Findings {
        var carriers: [Way] = []
        /// Answers over links, or with sources, that can't be used.
        var deadEnds: [NetworkPath.OfflineReason] = []
        /// The families of the probes that the tables refuse.
        var refusals: [IPAddress.Family] = []
    }

    /// A next hop that packets are handed to.
    private struct Way: Hashable {
        let family: IPAddress.Family
        let hop: RouteMessage.Hop
        let source: IPAddress?
    }

    private func assess(_ probe: Int, _ findings: inout Findings) {
        let family = lookups.probes[probe].family
        switch lookups.way(probe) {
        case .refused(let errno):
            // How IPv4 says blackhole, unreachable and prohibit; without any route it is ENETUNREACH.
            if [EINVAL, EHOSTUNREACH, EACCES].contains(errno) { findings.refusals.append(family) }
        case .route(let route):
            switch route.kind {
            case .blackhole, .unreachable, .prohibit:
                findings.refusals.append(family)
            case .local:
                // The machine's own address. For probes it would be AnyIP (local 0.0.0.0/0 dev lo), which leads nowhere.
                guard case .address = destination, let hop = route.hops.first else { return }
                add(Way(family: family, hop: hop, source: route.preferredSource), &findings)
            default:
                for way in ways(of: route, probe) { assess(way, to: lookups.probes[probe], &findings) }
            }
        }
    }

    /// All the legs that share the traffic: the answer to a lookup is one of them, the table entry has them all.
    private func ways(of route: RouteMessage, _ probe: Int) -> [Way] {
        var ways = route.hops.prefix(1).map { Way(family: route.family, hop: $0, source: route.preferredSource) }
        guard let entry = lookups.entry(probe) else { return ways }
        var legs = entry.hops
        if legs.isEmpty, let nexthop = entry.nexthopID {
            // With nexthop_compat_mode=0 the entry names a nexthop object and no link; each candidate's entry tells whether it
            // is a leg of the same object.
            for (candidate, link) in lookups.candidates.enumerated() {
                if lookups.entry(probe, over: candidate)?.nexthopID == nexthop {
                    legs.append(RouteMessage.Hop(index: link))
                }
            }
        }
        for leg in legs where !ways.contains(where: { $0.hop.index == leg.index }) {
            let source = state.usableAddress(on: leg.index, route.family) ?? route.preferredSource
            ways.append(Way(family: route.family, hop: leg, source: source))
        }
        return ways
    }

    private func assess(_ way: Way, to destination: IPAddress, _ findings: inout Findings) {
        guard state.usableLinks.contains(way.hop.index) else {
            // An answer over a link that leads nowhere is no better than none.
            if let link = state.links[way.hop.index], state.canLeadOut(link) {
                findings.deadEnds.append(state.progress(of: link))
            }
            return
        }
        // Without RTA_PREFSRC the kernel found no address to send from. A link-local one reaches nobody beyond the link, and
        // ::1, which IPv6 comes to where there is nothing else, nobody at all.
        guard let source = way.source, !source.isUnspecified, !source.isLoopback,
            !source.isLinkLocal || destination.isLinkLocal
        else {
            findings.deadEnds.append(.noAddress)
            return
        }
        add(way, &findings)
    }

    private func add(_ way: Way, _ findings: inout Findings) {
        let isKnown = findings.carriers.contains {
            $0.family == way.family && $0.hop.index == way.hop.index
                && ($0.hop.gateway == way.hop.gateway || way.hop.gateway == nil)
        }
        if !isKnown { findings.carriers.append(way) }
    }

    // MARK: What lies beneath

    private enum Resolution {
        case through(Int32)
        case dead(NetworkPath.OfflineReason)
        case nowhere
    }

    private func resolve(_ index: Int32) -> Resolution {
        switch state.medium(of: index) {
        case .physical(let via): .through(via)
        case .dead(let reason): .dead(reason)
        case .nowhere: .nowhere
        case .tunnel(let tunnel): beneath(tunnel)
        }
    }

    /// What carries a tunnel's packets: the link it is bound to, or the best usable way out that is no tunnel. Where only a
    /// host route leads to the other end (the default replaced by the tunnel), the costliest usable physical link with an
    /// address: the routes of the other end's address are not known here, and the cost is never understated.
    private func beneath(_ tunnel: Int32) -> Resolution {
        if let link = state.links[tunnel], let parent = state.visibleParent(of: link) {
            switch state.medium(of: parent) {
            case .physical(let via): return .through(via)
            case .dead(let reason): return .dead(reason)
            case .tunnel, .nowhere: break
            }
        }
        for (_, candidate) in rankedCandidates() {
            if case .physical(let via) = state.medium(of: lookups.candidates[candidate]) { return .through(via) }
        }
        var physical = state.links.values.filter { $0.master == nil && state.isPhysical($0) }
        guard !physical.isEmpty else { return .through(tunnel) }
        // A bridge of containers carries no tunnel while there is a cable that could, pulled or not.
        let known = physical.filter { state.isMediumKnown(of: $0) }
        if !known.isEmpty { physical = known }
        let usable = physical.compactMap { link -> Int32? in
            guard state.hasUsableAddress(link.index), case .physical(let via) = state.medium(of: link.index) else {
                return nil
            }
            return via
        }
        if let via = usable.min(by: isBetterGuess) { return .through(via) }
        // Those with an address are what the tunnel was set up over.
        let addressed = physical.filter { state.hasUsableAddress($0.index) }
        let reasons = (addressed.isEmpty ? physical : addressed).map { link -> NetworkPath.OfflineReason in
            if case .dead(let reason) = state.medium(of: link.index) { reason } else { state.progress(of: link) }
        }
        return .dead(reasons.max() ?? .noInterface)
    }

    /// A medium that is known before one that is not (a bridge of containers), then the costlier.
    private func isBetterGuess(_ one: Int32, _ other: Int32) -> Bool {
        func rank(_ index: Int32) -> Int {
            guard let type = state.classifications[index]?.type, type != .other else { return 0 }
            return NetworkPath.Status(type).costRank
        }
        return (rank(one), other) > (rank(other), one)
    }

    /// The candidates with a way out, in the kernel's order of preference.
    private func rankedCandidates() -> [(RouteRank, Int)] {
        lookups.candidates.indices.compactMap { candidate -> (RouteRank, Int)? in
            let ranks = lookups.probes.indices.compactMap { probe -> RouteRank? in
                let link = lookups.candidates[candidate]
                guard let entry = lookups.entry(probe, over: candidate),
                    entry.hops.isEmpty || entry.hops.contains(where: { $0.index == link }),
                    state.usableAddress(on: link, entry.family) != nil
                else { return nil }
                return RouteRank(entry, link: link)
            }
            return ranks.min().map { ($0, candidate) }
        }.sorted { $0.0 < $1.0 }
    }

    // MARK: The path

    /// A way out that holds all the way down.
    private struct Carrier {
        let way: Way
        let interface: NetworkInterface
        let via: NetworkInterface
        let status: NetworkPath.Status

        var isExpensive: Bool { interface.isExpensive || via.isExpensive }
        var cost: (Int, Int) { (status.costRank, isExpensive ? 1 : 0) }
    }

    private func carrier(_ way: Way, via: Int32) -> Carrier {
        let beneath = state.interface(via, via: via)
        let index = way.hop.index
        let interface = index == via ? beneath : state.interface(index, via: via)
        // A tunnel's own type, `other`, says nothing about what carries the packets.
        let status = NetworkPath.Status(state.isTunnel(index) ? beneath.type : interface.type)
        return Carrier(way: way, interface: interface, via: beneath, status: status)
    }

    private func path(_ live: [Carrier], statusFrom costliest: Carrier) -> NetworkPath {
        NetworkPath(
            status: costliest.status, interface: costliest.interface, via: costliest.via, interfaces: interfaces(live),
            gateways: unique(live.compactMap(\.way.hop.gateway)),
            sourceAddresses: unique(live.compactMap(\.way.source)),
            supportsIPv4: live.contains { $0.way.family == .ipv4 },
            supportsIPv6: live.contains { $0.way.family == .ipv6 },
            supportsDNS: !state.nameservers.isEmpty, isExpensive: live.contains(where: \.isExpensive),
            isConstrained: live.contains { $0.interface.isConstrained || $0.via.isConstrained })
    }

    /// Those that carry traffic, then the others with a way out. A tunnel is followed by what lies beneath it.
    private func interfaces(_ live: [Carrier]) -> [NetworkInterface] {
        var interfaces: [NetworkInterface] = []
        func list(_ index: Int32, _ interface: NetworkInterface, _ via: NetworkInterface) {
            for interface in state.isTunnel(index) ? [interface, via] : [interface]
            where !interfaces.contains(where: { $0.index == interface.index }) {
                interfaces.append(interface)
            }
        }
        for carrier in live { list(carrier.way.hop.index, carrier.interface, carrier.via) }
        for (_, candidate) in rankedCandidates() {
            let index = lookups.candidates[candidate]
            if case .through(let via) = resolve(index) {
                list(index, state.interface(index, via: via), state.interface(via, via: via))
            }
        }
        return interfaces
    }

    /// There is a handful of them, so that no set is needed.
    private func unique(_ addresses: [IPAddress]) -> [IPAddress] {
        addresses.reduce(into: []) { unique, address in
            if !unique.contains(address) { unique.append(address) }
        }
    }

    // MARK: Why not

    private func reason(_ findings: Findings) -> NetworkPath.OfflineReason {
        if let furthest = findings.deadEnds.max() { return furthest }
        // One blackholed prefix is no verdict; all probes of a family are.
        let isRefused = IPAddress.Family.allCases.contains { family in
            let refusals = findings.refusals.count { $0 == family }
            return refusals > 0 && refusals == lookups.probes.count { $0.family == family }
        }
        if isRefused { return .unreachableRoute }
        let links = state.links.values.filter(state.canLeadOut)
        return links.map(state.progress).max() ?? .noInterface
    }
}

/// The kernel's preference among routes that it would not compare itself, for lack of a link they share.
private struct RouteRank: Comparable {
    private let keys: [Int]

    /// Rules usually ask other tables before main, and main before default; then the longest prefix wins, then the metric.
    init(_ route: RouteMessage, link: Int32) {
        let table =
            switch route.table {
            case RouteTable.main: 1
            case RouteTable.default: 2
            default: 0
            }
        keys = [table, -Int(route.prefixLength), Int(route.metric), route.family == .ipv4 ? 0 : 1, Int(link)]
    }

    static func < (one: Self, other: Self) -> Bool { one.keys.lexicographicallyPrecedes(other.keys) }
}
