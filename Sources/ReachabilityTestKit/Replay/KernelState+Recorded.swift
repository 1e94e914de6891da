import Netlink
import Reachability

/// Making the state what a real kernel said it is. What the kernel changed without a word is changed here, too.
extension KernelState {
    mutating func take(_ change: RecordedEntry.Change) {
        switch change {
        case .link(let link): take(link)
        case .linkGone(let index):
            loseRoutes(over: index, for: .unregister)
            loseNexthops(over: index)
            displace(index)
        case .address(let address): take(address)
        case .addressGone(let address): remove(address)
        case .route(let change): take(change)
        case .rule(let rule, let isGone): take(rule, isGone: isGone)
        case .nexthop(let nexthop, let isGone): take(nexthop, isGone: isGone)
        case .wireless(let link): setMode(link.mode, of: link.index)
        case .wirelessGone(let index): setMode(nil, of: index)
        case .note(.device(let index, let facts)):
            let mode = recordedFacts[index]?.wirelessMode
            recordedFacts[index] = facts
            setMode(mode, of: index)
        case .note(.nameservers(let servers)): nameservers = servers
        case .note(.snapshotBegins): self = KernelState(recording: ())
        case .note(.snapshotEnds), .note(.remark): break
        }
    }

    /// Nothing at all: what there is will be told.
    private init(recording: Void) {
        self.init()
        rules = [:]
    }

    // MARK: Links

    private mutating func take(_ link: LinkMessage) {
        let before = device(link.index)
        let isUp = link.flags.contains(.up)
        // Tunnels and loopback say nothing else; the flags say it for all.
        let hasCarrier = !link.flags.isDisjoint(with: [.lowerUp, .running])
        var device = Device(
            index: link.index, name: link.name, kind: link.kind, hardwareType: link.hardwareType,
            baseFlags: link.flags.intersection([.loopback, .pointToPoint]), carrierSource: .always,
            makesLinkLocal: false, bus: link.bus, facts: recordedFacts[link.index] ?? DeviceFacts(),
            carrier: hasCarrier, operationalState: link.operationalState ?? .unknown)
        device.isUp = isUp
        device.master = link.master
        device.addresses = before?.addresses ?? []
        device.recorded = link
        place(device)
        if before?.isUp == true, !isUp { loseRoutes(over: link.index, for: .down) }
        if before?.carrier == true, !hasCarrier { loseNexthops(over: link.index) }
        if before?.isUp == false, isUp {
            for family in IPAddress.Family.allCases { reviveLegs(over: link.index, family) }
        }
    }

    private mutating func setMode(_ mode: DeviceFacts.WirelessMode?, of index: Int32) {
        recordedFacts[index, default: DeviceFacts()].wirelessMode = mode
        let facts = recordedFacts[index] ?? DeviceFacts()
        modify(index) { $0.facts = facts }
    }

    // MARK: Addresses

    private mutating func take(_ message: AddressMessage) {
        let prefix = Prefix(message.address, Int(message.prefixLength))
        let known = position(of: message)
        modify(message.index) { device in
            if let known {
                device.addresses[known].peer = message.peer
                device.addresses[known].flags = message.flags
                return
            }
            var address = Device.Address(prefix: prefix, peer: message.peer, flags: message.flags)
            address.isSecondary =
                prefix.family == .ipv4
                && device.addresses.contains { $0.subnet == address.subnet && !$0.isSecondary }
            device.addresses.append(address)
        }
    }

    private func position(of message: AddressMessage) -> Int? {
        device(message.index)?.addresses.firstIndex {
            self.message(of: $0, on: message.index).identity == message.identity
        }
    }

    private mutating func remove(_ message: AddressMessage) {
        if let position = position(of: message) { modify(message.index) { $0.addresses.remove(at: position) } }
        guard message.address.family == .ipv4 else { return }
        if !isOwn(message.address) { loseRoutes(from: message.address) }
        if device(message.index)?.addresses.contains(where: { $0.prefix.family == .ipv4 }) != true {
            loseRoutes(over: message.index, for: .lastAddress)
        }
    }

    // MARK: Routes

    private mutating func take(_ change: RouteChange) {
        let entry = entry(change)
        var present = table(entry.family, entry.table)[entry.destination]
        if change.isGone { Self.remove(entry, from: &present) } else { Self.put(entry, change, into: &present) }
        tables[entry.family, default: [:]][entry.table, default: RoutingTable()][entry.destination] = present
    }

    private func entry(_ change: RouteChange) -> TableEntry {
        let route = change.route
        let destination = Prefix(route.destination ?? Prefix.all(route.family).address, Int(route.prefixLength))
        let scope: TableEntry.Scope = change.scope >= 254 ? .host : change.scope >= 253 ? .link : .universe
        var legs = route.hops.map { TableEntry.Leg(link: $0.index, gateway: $0.gateway) }
        // With nexthop_compat_mode=0 nothing but the object is said.
        if legs.isEmpty, let nexthop = route.nexthopID.flatMap({ nexthops[$0] }) { legs = self.legs(of: nexthop) }
        return TableEntry(
            table: route.table, destination: destination, kind: route.kind, metric: route.metric, scope: scope,
            source: route.preferredSource, legs: legs, nexthop: route.nexthopID)
    }

    private static func put(_ entry: TableEntry, _ change: RouteChange, into present: inout [TableEntry]) {
        if present.contains(where: { $0.isSame(as: entry) }) { return }
        let ofThatMetric = present.firstIndex { $0.metric == entry.metric && $0.kind == entry.kind }
        if let position = ofThatMetric {
            // A leg that is added to an IPv6 route is announced with all the others.
            let grows =
                entry.family == .ipv6
                && present[position].legs.allSatisfy { old in entry.legs.contains { $0 == old } }
            if change.replaces || grows {
                present[position] = entry
                return
            }
        }
        present.insert(entry, at: present.firstIndex { $0.metric > entry.metric } ?? present.endIndex)
    }

    private static func remove(_ entry: TableEntry, from present: inout [TableEntry]) {
        if let position = present.firstIndex(where: { $0.isSame(as: entry) }) {
            present.remove(at: position)
            return
        }
        // An IPv6 route of several legs goes leg by leg. IPv4 routes that have lost legs meanwhile are told by their metric.
        guard let position = present.firstIndex(where: { $0.metric == entry.metric && $0.kind == entry.kind }) else {
            return
        }
        if entry.family == .ipv6 { present[position].legs.removeAll { entry.legs.contains($0) } }
        if entry.family == .ipv4 || present[position].legs.isEmpty { present.remove(at: position) }
    }

    // MARK: Rules and nexthop objects

    private mutating func take(_ message: RuleMessage, isGone: Bool) {
        guard let rule = rule(message) else { return }
        var present = rules[message.family, default: []]
        if isGone {
            if let position = present.firstIndex(of: rule) { present.remove(at: position) }
        } else if !present.contains(rule) {
            present.insert(rule, at: present.firstIndex { $0.priority > rule.priority } ?? present.endIndex)
        }
        rules[message.family] = present
    }

    private func rule(_ message: RuleMessage) -> RoutingRule? {
        let action: RoutingRule.Action
        switch message.action {
        case .lookUp(let table): action = .lookUp(table: table)
        case .blackhole: action = .blackhole
        case .unreachable: action = .unreachable
        case .prohibit: action = .prohibit
        // Jumps between rules; nobody uses them for the way out.
        case .other: return nil
        }
        func prefix(_ address: IPAddress?, _ length: UInt8) -> Prefix? { address.map { Prefix($0, Int(length)) } }
        // Like a mark, a user, a port or an input link is something that a lookup has not.
        let isForOthers = message.isForOthers || (message.inputLink.map { $0 != "lo" } ?? false)
        return RoutingRule(
            priority: message.priority, from: prefix(message.source, message.sourceLength),
            to: prefix(message.destination, message.destinationLength),
            outputLink: message.outputLink.map { name in (try? index(name)) ?? 0 },
            mark: message.mark == 0 && isForOthers ? 1 : message.mark, isInverted: message.isInverted, action: action,
            suppressedLength: message.suppressedLength)
    }

    private mutating func take(_ message: NexthopMessage, isGone: Bool) {
        if isGone {
            try? removeNexthop(message.id)
            return
        }
        switch message.target {
        case .hop(let hop):
            nexthops[message.id] = .leg(
                TableEntry.Leg(link: hop.index, gateway: hop.gateway), family: message.family)
        case .group(let members): nexthops[message.id] = .group(members)
        case .blackhole: nexthops[message.id] = .blackhole(family: message.family)
        }
    }
}
