public import Netlink

extension SimulatedKernel {
    /// `ip address add`
    ///
    /// - Parameters:
    ///   - text: an address with its length, such as `10.1.0.2/24`; without one, a single address.
    ///   - peer: the address at the other end of a point-to-point link.
    public func addAddress(_ text: String, to link: String, peer: String? = nil) throws(Refusal) {
        let prefix = try Prefix(text)
        let peer = try peer.map { text throws(Refusal) in try Prefix(text).address }
        try onLink(link) { state, index throws(Refusal) in
            let isTentative = prefix.family == .ipv6 && state.detectsDuplicates
            let flags: AddressFlags = isTentative ? .tentative : []
            try state.add(Device.Address(prefix: prefix, peer: peer, flags: flags), to: index)
        }
    }

    /// `ip address del`. The last IPv4 address of a link takes all IPv4 routes over the link with it, without a word.
    ///
    /// - Parameter peer: tells addresses apart that differ in nothing else; `nil` for the first one.
    public func removeAddress(_ text: String, from link: String, peer: String? = nil) throws(Refusal) {
        let prefix = try Prefix(text)
        let peer = try peer.map { text throws(Refusal) in try Prefix(text).address }
        try onLink(link) { state, index throws(Refusal) in try state.remove(prefix, peer: peer, from: index) }
    }

    /// `ip address flush`: all of them, link-local ones included.
    public func removeAddresses(from link: String) throws(Refusal) {
        try onLink(link) { state, index in state.loseAddresses(of: index, families: [.ipv4, .ipv6]) }
    }

    /// DHCP or a router advertisement renews an address: its lifetime is new, nothing else.
    public func refreshAddress(_ text: String, of link: String) throws(Refusal) {
        let prefix = try Prefix(text)
        try onLink(link) { state, index throws(Refusal) in
            guard let address = state.device(index)?.addresses.first(where: { $0.address == prefix.address }) else {
                throw .invalid("there is no address \(text)")
            }
            state.say(address, on: index)
        }
    }

    /// Whether IPv6 addresses that are added from now on wait for duplicate detection, and can't be used before
    /// ``finishDuplicateDetection(of:on:isDuplicate:)``. Off at first.
    public var detectsDuplicateAddresses: Bool {
        get { read(\.detectsDuplicates) }
        set { change { $0.detectsDuplicates = newValue } }
    }

    /// Duplicate detection has found that an address may be used, or that another machine has it.
    public func finishDuplicateDetection(
        of text: String, on link: String, isDuplicate: Bool = false
    ) throws(Refusal) {
        let prefix = try Prefix(text)
        try onLink(link) { state, index in
            state.finishDuplicateDetection(of: prefix.address, on: index, isDuplicate: isDuplicate)
        }
    }

    /// What resolv.conf lists. Empty at first.
    public var nameservers: [IPAddress] {
        get { read(\.nameservers) }
        set {
            change { state in
                state.nameservers = newValue
                state.say(KernelState.Notice.resolver)
            }
        }
    }

    /// Whole networks, as a network manager sets them up: the link (made if there is none of that name), its carrier, its
    /// address, and the default route.
    ///
    /// - Parameters:
    ///   - name: a new link gets the kind that its name says: `wlan0` and `wlp2s0` Wi-Fi, `wwan0` a modem, `ppp0`, `tun0`
    ///     and `wg0` those, all others Ethernet.
    ///   - address: with its length, such as `10.1.0.2/24`.
    ///   - gateway: `nil` for a default route straight over the link.
    ///   - metric: of the default route; the lowest is used.
    public func connect(
        _ name: String, address: String, gateway: String? = nil, metric: Int? = nil
    ) throws(Refusal) {
        let prefix = try Prefix(address)
        if !links.contains(name) { try addLink(name, LinkKind(name: name)) }
        try setCarrier(name, true)
        try setUp(name)
        let isThere = read { state in
            state.devices.contains { $0.name == name && $0.addresses.contains { $0.address == prefix.address } }
        }
        if !isThere { try addAddress(address, to: name) }
        try replaceRoute(Route("default", via: gateway, over: name, metric: metric, family: prefix.family))
    }

    /// The network is gone: carrier, addresses and with them the routes. The link itself stays, switched on.
    public func disconnect(_ name: String) throws(Refusal) {
        try setCarrier(name, false)
        try onLink(name) { state, index in
            state.loseAddresses(of: index, families: [.ipv4, .ipv6])
            state.loseRoutes(over: index, for: .down)
        }
    }

    /// The names of all links, loopback included, in the order of their making.
    public var links: [String] { read { $0.devices.map(\.name) } }
}

extension SimulatedKernel.LinkKind {
    init(name: String) {
        let prefixes: [(String, SimulatedKernel.LinkKind)] = [
            ("wl", .wifi), ("ww", .wwan), ("ppp", .ppp), ("tun", .tun), ("wg", .wireguard),
        ]
        self = prefixes.first { name.hasPrefix($0.0) }?.1 ?? .ethernet
    }
}
