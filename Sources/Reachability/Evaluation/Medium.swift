import Netlink

/// What really carries the packets handed to a link.
enum Medium: Hashable {
    /// A link that is usable and has a medium of its own.
    case physical(Int32)
    /// A tunnel: what lies beneath has to be asked of the routing tables.
    case tunnel(Int32)
    /// Nothing gets through, for this reason.
    case dead(NetworkPath.OfflineReason)
    /// Nothing gets through, for the link is none that leads out: an access point, a monitor, a dummy.
    case nowhere
}

extension MachineState {
    /// The kernel itself refuses to stack more than 8 links (MAX_NEST_DEV).
    private static let deepestStack = 8

    /// Looks through bridges, bonds, VLANs and the like, down to the link that carries the packets.
    ///
    /// - Parameter depth: how many links are above, since nothing stops a chain of parents from being a circle.
    func medium(of index: Int32, depth: Int = 0) -> Medium {
        guard let role = classifications[index]?.role, let link = links[index] else { return .dead(.noInterface) }
        if role == .noWayOut { return .nowhere }
        guard isUsable(link) else { return .dead(deadReason(of: link, role, depth)) }
        if depth == Self.deepestStack { return .physical(index) }
        switch role {
        case .own, .loopback, .noWayOut, .routingDomain:
            return .physical(index)
        case .tunnel:
            return .tunnel(index)
        case .child:
            // A parent in another namespace is invisible: then the link's own evidence counts.
            guard let parent = visibleParent(of: link) else { return .physical(index) }
            return medium(of: parent, depth: depth + 1)
        case .session(let names):
            return costliest(of: sessionLinks(names), depth) ?? .physical(index)
        case .ports:
            return port(of: link, depth) ?? .physical(index)
        }
    }

    func visibleParent(of link: LinkMessage) -> Int32? {
        guard let parent = link.parent, !link.parentIsElsewhere, links[parent] != nil else { return nil }
        return parent
    }

    private func sessionLinks(_ names: [String]) -> [Int32] {
        links.values.filter { names.contains($0.name) }.map(\.index).sorted()
    }

    /// The costliest medium of several, one of which carries the traffic; what is dead counts only where all of them are.
    private func costliest(of links: [Int32], _ depth: Int) -> Medium? {
        func rank(_ medium: Medium) -> Int {
            switch medium {
            case .physical(let beneath): 2 + NetworkPath.Status(classifications[beneath]?.type ?? .other).costRank
            case .tunnel: 1
            case .dead, .nowhere: 0
            }
        }
        return links.map { medium(of: $0, depth: depth + 1) }.max { rank($0) < rank($1) }
    }

    /// The port that carries the traffic: a bond's active one, else the costliest of the usable ones that lead to a medium.
    /// Taps and container ports lead to none, and count only where there is nothing else.
    private func port(of link: LinkMessage, _ depth: Int) -> Medium? {
        if let active = link.activePort, links[active] != nil { return medium(of: active, depth: depth + 1) }
        let media = (ports[link.index] ?? []).sorted().compactMap { index -> (Medium, Int)? in
            guard let port = links[index], port.kind != "tun" else { return nil }
            let medium = medium(of: index, depth: depth + 1)
            switch medium {
            case .physical(let beneath):
                let type = classifications[beneath]?.type ?? .other
                return type == .other ? nil : (medium, NetworkPath.Status(type).costRank)
            case .tunnel: return (medium, 0)
            case .dead, .nowhere: return nil
            }
        }
        if let best = media.max(by: { $0.1 < $1.1 }) { return best.0 }
        // Taps may keep a bridge running whose cable is pulled.
        return deadPorts(of: link, depth).max().map { .dead($0) }
    }

    /// Why nothing gets through the ports that are known to lead to a medium.
    private func deadPorts(of link: LinkMessage, _ depth: Int) -> [NetworkPath.OfflineReason] {
        (ports[link.index] ?? []).compactMap { index in
            guard let port = links[index], isMediumKnown(of: port),
                case .dead(let reason) = medium(of: index, depth: depth + 1)
            else { return nil }
            return reason
        }
    }

    /// Why nothing gets through a link that is not usable. A link that is up shares the fate of what is beneath it.
    private func deadReason(
        of link: LinkMessage, _ role: Classification.Role, _ depth: Int
    ) -> NetworkPath.OfflineReason {
        let own = progress(of: link)
        guard own == .noCarrier, depth < Self.deepestStack else { return own }
        let beneath: [Int32] =
            switch role {
            case .child: visibleParent(of: link).map { [$0] } ?? []
            case .ports: Array(ports[link.index] ?? [])
            case .session(let names): sessionLinks(names)
            default: []
            }
        let reasons = beneath.compactMap { index -> NetworkPath.OfflineReason? in
            guard case .dead(let reason) = medium(of: index, depth: depth + 1) else { return nil }
            return reason
        }
        return reasons.max() ?? own
    }

    /// Whether packets handed to a link can leave this machine at all, were it usable.
    func canLeadOut(_ link: LinkMessage) -> Bool {
        switch classifications[link.index]?.role {
        case .loopback, .noWayOut: false
        default: true
        }
    }

    /// Whether a link could lead somewhere without a tunnel, were it usable: what makes "offline" of a tunnel with nothing beneath.
    func isPhysical(_ link: LinkMessage) -> Bool {
        switch classifications[link.index]?.role {
        case .own: return link.portKind != "vrf"
        case .child, .session: return true
        case .ports: return !(ports[link.index] ?? []).isEmpty
        case .loopback, .tunnel, .routingDomain, .noWayOut, nil: return false
        }
    }

    /// Whether it is known what a link is, or what carries its packets: a cable, a radio, a line.
    func isMediumKnown(of link: LinkMessage, depth: Int = 0) -> Bool {
        guard depth < Self.deepestStack, let classification = classifications[link.index] else { return false }
        func isKnown(_ index: Int32) -> Bool { links[index].map { isMediumKnown(of: $0, depth: depth + 1) } ?? false }
        switch classification.role {
        case .ports: return (ports[link.index] ?? []).contains(where: isKnown)
        case .child: return visibleParent(of: link).map(isKnown) ?? (classification.type != .other)
        case .own, .session: return classification.type != .other
        case .loopback, .tunnel, .routingDomain, .noWayOut: return false
        }
    }
}
