import Glibc
import Netlink
import Reachability

/// A nexthop object (`ip nexthop`), which several routes can share.
enum Nexthop: Sendable {
    case leg(TableEntry.Leg, family: IPAddress.Family)
    case group([UInt32])
    case blackhole(family: IPAddress.Family)
}

extension KernelState {
    func legs(of nexthop: Nexthop) -> [TableEntry.Leg] {
        switch nexthop {
        case .leg(let leg, _): [leg]
        case .group(let members): members.compactMap { nexthops[$0] }.flatMap(legs)
        case .blackhole: []
        }
    }

    mutating func add(_ id: UInt32, _ nexthop: Nexthop) throws(SimulatedKernel.Refusal) {
        guard nexthops[id] == nil else { throw .exists("the nexthop object \(id)") }
        switch nexthop {
        case .leg(var leg, let family):
            guard let device = device(leg.link) else { throw .noDevice("\(leg.link)") }
            guard device.isUp, device.carrier else { throw .linkDown }
            if let gateway = leg.gateway {
                leg.link = try link(to: gateway, over: leg.link, table: nil)
            }
            nexthops[id] = .leg(leg, family: family)
        case .group(let members):
            guard !members.isEmpty, members.allSatisfy({ nexthops[$0] != nil }) else {
                throw .invalid("a group has members that exist")
            }
            nexthops[id] = nexthop
        case .blackhole:
            nexthops[id] = nexthop
        }
        say(.routing(.nexthop))
    }

    mutating func removeNexthop(_ id: UInt32) throws(SimulatedKernel.Refusal) {
        guard nexthops[id] != nil else { throw SimulatedKernel.Refusal(ENOENT, "there is no nexthop object \(id)") }
        say(.routing(.nexthop))
        loseNexthop(id, isAsked: true)
    }

    /// Nexthop objects go when their link goes down or loses its carrier: the objects and the IPv4 routes without a word.
    mutating func loseNexthops(over index: Int32) {
        let lost = nexthops.filter { _, nexthop in
            if case .leg(let leg, _) = nexthop { leg.link == index } else { false }
        }
        for id in lost.keys { loseNexthop(id, isAsked: false) }
    }

    private mutating func loseNexthop(_ id: UInt32, isAsked: Bool) {
        nexthops[id] = nil
        var emptied: [UInt32] = []
        var shrunk: Set<UInt32> = []
        for (group, nexthop) in nexthops {
            guard case .group(let members) = nexthop, members.contains(id) else { continue }
            let left = members.filter { $0 != id }
            nexthops[group] = .group(left)
            if left.isEmpty { emptied.append(group) } else { shrunk.insert(group) }
        }
        if isAsked { for _ in shrunk { say(.routing(.nexthop)) } }
        revise(.ipv4) { $0.nexthop == id ? nil : $0 }
        let lost = revise(.ipv6) { $0.nexthop == id ? nil : $0 }
        if showsLegsOfNexthops { for entry in lost { sayRoute(entry) } }
        for family in IPAddress.Family.allCases {
            revise(family) { [self] entry in
                guard let used = entry.nexthop, shrunk.contains(used), let nexthop = nexthops[used] else {
                    return entry
                }
                var entry = entry
                entry.legs = legs(of: nexthop)
                return entry
            }
        }
        for group in emptied { loseNexthop(group, isAsked: isAsked) }
    }
}
