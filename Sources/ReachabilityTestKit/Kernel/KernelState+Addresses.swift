import Glibc
import Netlink
import Reachability

/// Addresses, and the routes that come and go with them.
extension KernelState {
    func isOwn(_ address: IPAddress) -> Bool {
        devices.contains { device in device.addresses.contains { $0.address == address } }
    }

    mutating func say(_ address: Device.Address, on index: Int32) {
        say(.address(message(of: address, on: index)))
    }

    func message(of address: Device.Address, on index: Int32) -> AddressMessage {
        AddressMessage(
            index: index, address: address.address, prefixLength: UInt8(address.prefix.length), peer: address.peer,
            flags: address.flags)
    }

    mutating func add(_ new: Device.Address, to index: Int32) throws(SimulatedKernel.Refusal) {
        guard let device = device(index) else { return }
        guard !device.addresses.contains(where: { $0.prefix == new.prefix && $0.subnet == new.subnet }),
            new.prefix.family == .ipv4 || !device.addresses.contains(where: { $0.address == new.address })
        else { throw .exists("the address \(new.address) on \(device.name)") }
        var address = new
        switch address.prefix.family {
        case .ipv4:
            address.isSecondary = device.addresses.contains {
                $0.prefix.length == address.prefix.length && !$0.isSecondary && $0.subnet == address.subnet
            }
            modify(index) { $0.addresses.append(address) }
            say(address, on: index)
            addRoutes(of: address, on: index)
            reviveLegs(over: index, .ipv4)
        case .ipv6:
            // The newest comes first.
            modify(index) { $0.addresses.insert(address, at: 0) }
            if address.flags.contains(.tentative) { say(address, on: index) }
            addPrefixRoute(of: address, on: index)
            if !address.flags.contains(.tentative) { becomeUsable(address, on: index) }
        }
    }

    /// - Parameter peer: `nil` for the first of that prefix, whatever its peer.
    mutating func remove(_ prefix: Prefix, peer: IPAddress?, from index: Int32) throws(SimulatedKernel.Refusal) {
        guard let device = device(index),
            let address = device.addresses.first(where: { $0.prefix == prefix && (peer == nil || $0.peer == peer) })
        else {
            throw SimulatedKernel.Refusal(EADDRNOTAVAIL, "there is no address \(prefix.address)/\(prefix.length)")
        }
        if address.prefix.family == .ipv4, !address.isSecondary {
            let secondaries = device.addresses.filter { $0.isSecondary && $0.subnet == address.subnet }
            for secondary in secondaries { removeOne(secondary, from: index) }
        }
        removeOne(address, from: index)
    }

    private mutating func removeOne(_ address: Device.Address, from index: Int32) {
        modify(index) { device in
            device.addresses.removeAll { $0.prefix == address.prefix && $0.peer == address.peer }
        }
        say(.addressGone(message(of: address, on: index)))
        removeRoutes(of: address, on: index)
        guard address.prefix.family == .ipv4 else { return }
        if !isOwn(address.address) { loseRoutes(from: address.address) }
        // The last IPv4 address takes all IPv4 routes over the link with it, without a word.
        if let device = device(index), !device.addresses.contains(where: { $0.prefix.family == .ipv4 }) {
            loseRoutes(over: index, for: .lastAddress)
        }
    }

    mutating func loseAddresses(of index: Int32, families: Set<IPAddress.Family>) {
        for address in device(index)?.addresses.reversed() ?? [] where families.contains(address.prefix.family) {
            if device(index)?.addresses.contains(where: { $0.prefix == address.prefix }) == true {
                removeOne(address, from: index)
            }
        }
    }

    // MARK: Readiness of IPv6

    /// A link that is up and running gets its link-local address, and those that waited for it their duplicate detection.
    mutating func becomeReady(_ index: Int32) {
        guard let device = device(index), device.isRunning, !device.isReady else { return }
        modify(index) { $0.isReady = true }
        if device.baseFlags.contains(.loopback) { return addLoopbackAddresses(index) }
        if device.makesLinkLocal, !device.makesNoAddresses, device.master == nil { addLinkLocal(index) }
        if device.makesLinkLocal || device.kind == "tun" {
            insert(
                TableEntry(
                    table: RouteTable.local, destination: Prefix(.multicast6, 8), kind: .multicast, metric: 256,
                    legs: [TableEntry.Leg(link: index)]))
        }
        if detectsDuplicates { return }
        for address in device.addresses where address.flags.contains(.tentative) {
            finishDuplicateDetection(of: address.address, on: index, isDuplicate: false)
        }
    }

    private mutating func addLoopbackAddresses(_ index: Int32) {
        for prefix in [Prefix(IPAddress(127, 0, 0, 1), 8), Prefix(.loopback6)] {
            // They are there already after the first time.
            try? add(Device.Address(prefix: prefix), to: index)
        }
    }

    private mutating func addLinkLocal(_ index: Int32) {
        // As Linux makes it of the hardware address 02:00:00:00:00:INDEX (EUI-64, RFC 4291 appendix A).
        let bytes: [UInt8] = [0xFE, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFE, 0]
        guard
            let address = IPAddress(
                bytes: bytes + [UInt8(truncatingIfNeeded: index >> 8), UInt8(truncatingIfNeeded: index)])
        else { return }
        let flags: AddressFlags = detectsDuplicates ? .tentative : []
        try? add(Device.Address(prefix: Prefix(address, 64), flags: flags), to: index)
    }

    mutating func finishDuplicateDetection(of address: IPAddress, on index: Int32, isDuplicate: Bool) {
        guard var found = device(index)?.addresses.first(where: { $0.address == address }) else { return }
        found.flags.remove([.optimistic])
        if isDuplicate { found.flags.insert(.duplicate) } else { found.flags.remove([.tentative, .duplicate]) }
        modify(index) { device in
            device.addresses = device.addresses.map { $0.address == address ? found : $0 }
        }
        if isDuplicate { say(found, on: index) } else { becomeUsable(found, on: index) }
    }

    private mutating func becomeUsable(_ address: Device.Address, on index: Int32) {
        say(address, on: index)
        let entry = TableEntry(
            table: RouteTable.local, destination: Prefix(address.address), kind: .local, metric: 0,
            legs: [TableEntry.Leg(link: index)])
        insert(entry)
    }

    // MARK: Routes of addresses

    /// The kernel's own routes when a link comes up: those of its addresses return, the default does not.
    mutating func restoreRoutes(of index: Int32) {
        for address in device(index)?.addresses ?? [] {
            switch address.prefix.family {
            case .ipv4: addRoutes(of: address, on: index)
            case .ipv6: addPrefixRoute(of: address, on: index)
            }
        }
        for family in IPAddress.Family.allCases { reviveLegs(over: index, family) }
    }

    private mutating func addRoutes(of address: Device.Address, on index: Int32) {
        for entry in routes(of: address, on: index) where !contains(entry) { insert(entry) }
    }

    private mutating func addPrefixRoute(of address: Device.Address, on index: Int32) {
        guard device(index)?.isUp == true, !address.prefix.isHost, let entry = prefixRoute(of: address, on: index),
            !contains(entry)
        else { return }
        insert(entry)
    }

    private func prefixRoute(of address: Device.Address, on index: Int32) -> TableEntry? {
        TableEntry(
            table: RouteTable.main, destination: address.subnet, kind: .unicast, metric: 256,
            legs: [TableEntry.Leg(link: index)])
    }

    /// What the kernel makes of an IPv4 address: itself, its subnet, and the broadcast address of that.
    private func routes(of address: Device.Address, on index: Int32) -> [TableEntry] {
        guard let device = device(index) else { return [] }
        let primary = device.addresses.first {
            !$0.isSecondary && $0.prefix.length == address.prefix.length && $0.subnet == address.subnet
        }
        // Those of a secondary address prefer the primary one as their source.
        let source = address.isSecondary ? primary?.address : address.address
        func entry(_ kind: RouteMessage.Kind, _ destination: Prefix) -> TableEntry {
            TableEntry(
                table: kind == .unicast ? RouteTable.main : RouteTable.local, destination: destination, kind: kind,
                metric: 0, scope: kind == .local ? .host : .link, source: source,
                legs: [TableEntry.Leg(link: index)])
        }
        var entries = [entry(.local, Prefix(address.address))]
        let subnet = address.subnet
        if device.isUp, !address.isSecondary, subnet.address != address.address || !subnet.isHost {
            entries.append(entry(device.baseFlags.contains(.loopback) ? .local : .unicast, subnet))
            if subnet.length < 31 { entries.append(entry(.broadcast, Prefix(subnet.broadcast))) }
        }
        return entries
    }

    private mutating func removeRoutes(of address: Device.Address, on index: Int32) {
        let remaining = device(index)?.addresses ?? []
        var doomed: [TableEntry]
        switch address.prefix.family {
        case .ipv4:
            let kept = remaining.filter { $0.prefix.family == .ipv4 }.flatMap { routes(of: $0, on: index) }
            doomed = routes(of: address, on: index).filter { entry in !kept.contains { $0.isSame(as: entry) } }
        case .ipv6:
            doomed = [
                TableEntry(
                    table: RouteTable.local, destination: Prefix(address.address), kind: .local, metric: 0,
                    legs: [TableEntry.Leg(link: index)])
            ]
            if let entry = prefixRoute(of: address, on: index),
                !remaining.contains(where: { $0.prefix.family == .ipv6 && $0.subnet == address.subnet })
            {
                doomed.append(entry)
            }
        }
        for entry in doomed { deleteOwnRoute(entry) }
    }
}

extension IPAddress {
    static let loopback6 = IPAddress(bytes: [UInt8](repeating: 0, count: 15) + [1]) ?? .unspecified6
    static let multicast6 = IPAddress(bytes: [0xFF] + [UInt8](repeating: 0, count: 15)) ?? .unspecified6
}
