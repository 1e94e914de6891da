import Netlink
import Reachability

/// The whole of the simulated kernel, as a value. Its methods do what Linux does, and put into ``outbox`` what Linux says.
struct KernelState: Sendable {
    /// What goes out to listeners, with what the kernel-side filter looks at.
    enum Notice: Sendable {
        case plain(NetlinkEvent)
        case route(Prefix)
        case resolver
        case resumed
    }

    /// In the order of registration, which is that in which the kernel walks through them.
    private(set) var devices: [Device] = []
    private var nextIndex: Int32 = 1
    var tables: [IPAddress.Family: [UInt32: RoutingTable]] = [:]
    var rules: [IPAddress.Family: [RoutingRule]] = [
        .ipv4: RoutingRule.initial(.ipv4), .ipv6: RoutingRule.initial(.ipv6),
    ]
    /// Until a rule is made, IPv4 keeps the local table inside the main one, and answers say so.
    var hasCustomRules = false
    var nexthops: [UInt32: Nexthop] = [:]
    /// `net.ipv4.nexthop_compat_mode`
    var showsLegsOfNexthops = true
    /// New IPv6 addresses stay tentative until ``finishDuplicateDetection(of:on:isDuplicate:)``.
    var detectsDuplicates = false
    var nameservers: [IPAddress] = []
    /// What a recording says of devices, which may be before it says that they are there.
    var recordedFacts: [Int32: DeviceFacts] = [:]
    private var outbox: [Notice] = []

    mutating func takeOutbox() -> [Notice] {
        defer { outbox = [] }
        return outbox
    }

    mutating func say(_ event: NetlinkEvent) { outbox.append(.plain(event)) }
    mutating func say(_ notice: Notice) { outbox.append(notice) }
    mutating func sayRoute(_ entry: TableEntry) { outbox.append(.route(entry.destination)) }

    // MARK: Devices

    func position(of index: Int32) -> Int? { devices.firstIndex { $0.index == index } }

    func device(_ index: Int32) -> Device? { position(of: index).map { devices[$0] } }

    func device(_ name: String) throws(SimulatedKernel.Refusal) -> Device {
        guard let device = devices.first(where: { $0.name == name }) else { throw .noDevice(name) }
        return device
    }

    func index(_ name: String) throws(SimulatedKernel.Refusal) -> Int32 { try device(name).index }

    mutating func modify(_ index: Int32, _ change: (inout Device) -> Void) {
        if let position = position(of: index) { change(&devices[position]) }
    }

    /// Puts a link in as it is, in place of the one with its index, and nothing follows from it.
    mutating func place(_ device: Device) {
        if let position = position(of: device.index) { devices[position] = device } else { devices.append(device) }
    }

    /// Takes a link out, and nothing follows from it.
    mutating func displace(_ index: Int32) { devices.removeAll { $0.index == index } }

    func portKind(of device: Device) -> String? { device.master.flatMap { self.device($0)?.kind } }

    func message(of device: Device) -> LinkMessage { device.message(portKind: portKind(of: device)) }

    mutating func announce(_ index: Int32) {
        if let device = device(index) { say(.link(message(of: device))) }
    }

    /// - Parameter index: one that was used before can come again.
    mutating func add(index: Int32?, _ make: (Int32) -> Device) throws(SimulatedKernel.Refusal) -> Int32 {
        let index = index ?? nextIndex
        let device = make(index)
        guard !devices.contains(where: { $0.name == device.name }) else { throw .exists("the name \(device.name)") }
        guard position(of: index) == nil else { throw .exists("the index \(index)") }
        nextIndex = max(nextIndex, index + 1)
        devices.append(device)
        updateCarriers()
        announce(index)
        return index
    }

    mutating func remove(_ index: Int32) {
        guard device(index) != nil else { return }
        for child in devices where child.parent == index && !child.parentIsElsewhere { remove(child.index) }
        for port in devices where port.master == index { setMaster(port.index, nil) }
        setUp(index, false)
        loseAddresses(of: index, families: [.ipv4, .ipv6])
        loseRoutes(over: index, for: .unregister)
        loseNexthops(over: index)
        let master = device(index)?.master
        devices.removeAll { $0.index == index }
        if let master { modify(master) { if $0.activePort == index { $0.activePort = nil } } }
        say(.linkGone(index: index))
        updateCarriers()
    }

    mutating func rename(_ index: Int32, to name: String) throws(SimulatedKernel.Refusal) {
        guard !devices.contains(where: { $0.name == name }) else { throw .exists("the name \(name)") }
        modify(index) { $0.name = name }
        announce(index)
        // The label of an IPv4 address keeps the old name; the address is announced all the same.
        for address in device(index)?.addresses ?? [] where address.prefix.family == .ipv4 { say(address, on: index) }
    }

    // MARK: Up, down, carrier

    mutating func setUp(_ index: Int32, _ isUp: Bool) {
        guard let before = device(index), before.isUp != isUp else { return }
        modify(index) { $0.isUp = isUp }
        updateCarriers(announcing: false)
        announce(index)
        if isUp {
            restoreRoutes(of: index)
            becomeReady(index)
            // The second message, when the link has noticed its carrier.
            if device(index)?.carrierSource == .line, device(index)?.carrier == true { announce(index) }
        } else {
            modify(index) { $0.isReady = false }
            loseRoutes(over: index, for: .down)
            loseNexthops(over: index)
            loseAddresses(of: index, families: [.ipv6])
        }
        updateCarriers()
    }

    mutating func setLine(_ index: Int32, _ hasLine: Bool) {
        modify(index) { $0.hasLine = hasLine }
        updateCarriers()
    }

    mutating func setDormant(_ index: Int32, _ isDormant: Bool) {
        guard let before = device(index), before.isDormant != isDormant else { return }
        modify(index) {
            $0.isDormant = isDormant
            if $0.carrier { $0.operationalState = isDormant ? .dormant : .up }
        }
        announce(index)
        becomeReady(index)
    }

    mutating func setMaster(_ index: Int32, _ master: Int32?) {
        guard let old = device(index)?.master ?? master, device(index)?.master != master else { return }
        modify(index) { $0.master = master }
        announce(index)
        // Bridges tell their own listeners, too, with messages that are no news of the link.
        if device(old)?.kind == "bridge" { say(.skipped(.partial)) }
        if master == nil { modify(old) { if $0.activePort == index { $0.activePort = nil } } }
        updateCarriers()
    }

    mutating func setActivePort(_ index: Int32, _ port: Int32?) {
        modify(index) { $0.activePort = port }
        announce(index)
    }

    private func carrier(of device: Device) -> Bool {
        if device.recorded != nil { return device.carrier }
        switch device.carrierSource {
        case .line: return device.isUp && device.hasLine
        case .reader: return device.hasLine
        case .always: return true
        case .parent:
            if device.parentIsElsewhere { return device.hasLine }
            return device.parent.flatMap(self.device)?.carrier ?? false
        case .ports:
            // Before it was ever up, a bridge has carrier, as far as it knows.
            guard device.isUp else { return device.carrier }
            return devices.contains { $0.master == device.index && $0.isUp && $0.carrier }
        }
    }

    /// Passes carrier on from link to link until nothing changes any more.
    private mutating func updateCarriers(announcing: Bool = true) {
        var changed = true
        while changed {
            changed = false
            for device in devices where carrier(of: device) != device.carrier {
                changed = true
                setCarrier(device.index, !device.carrier, announcing: announcing)
            }
        }
    }

    private mutating func setCarrier(_ index: Int32, _ carrier: Bool, announcing: Bool) {
        modify(index) { device in
            device.carrier = carrier
            let lost: OperationalState = device.parent == nil ? .down : .lowerLayerDown
            device.operationalState = carrier ? (device.isDormant ? .dormant : .up) : lost
        }
        guard device(index)?.isUp == true else { return }
        if announcing { announce(index) }
        if !carrier {
            loseNexthops(over: index)
            modify(index) { $0.isReady = false }
        }
        becomeReady(index)
    }
}
