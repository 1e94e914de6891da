import Netlink

extension SimulatedKernel {
    /// What sort of link it is: its driver, and what it takes to have carrier.
    public enum LinkKind: Sendable, Hashable {
        /// A network card; its line is there until ``setCarrier(_:_:)`` says otherwise.
        case ethernet
        /// A wireless card that has joined a network.
        case wifi
        /// A wireless card that is an access point.
        case accessPoint
        /// A modem of the kernel's WWAN framework.
        case wwan
        /// A USB modem that looks like Ethernet but for its DEVTYPE.
        case usbModem
        /// A modem that carries IP packets and nothing else (ARPHRD_RAWIP).
        case rawIPModem
        /// A phone that shares its connection over USB, with the driver of that name, such as `rndis_host`.
        case tetheredPhone(driver: String)
        /// A dial-up line.
        case ppp
        /// A broadband line: PPP over Ethernet.
        case pppoe(over: String)
        /// One end of a pair, the other end of which is in another namespace.
        case veth
        /// A link that drops what it is given.
        case dummy
        /// A tun device: somebody reads from it until ``setCarrier(_:_:)`` says otherwise.
        case tun
        /// A WireGuard tunnel.
        case wireguard
        /// Any other tunnel, by the kernel's word for it, such as `ipip` or `xfrm`; and the link that it is bound to.
        case tunnel(String, over: String?)
        /// A bridge; it has carrier while one of its ports has.
        case bridge
        /// Several links bound together (``setActivePort(ofBond:_:)``).
        case bond
        /// Several links bound together by the team driver.
        case team
        /// A VLAN on the link of that name.
        case vlan(on: String)
        /// A macvlan on the link of that name.
        case macvlan(on: String)
        /// A macvlan whose parent is in another namespace, as in containers.
        case macvlanFromElsewhere
        /// Any other kind of virtual link, such as `ifb`.
        case other(String)
    }

    /// What device files and nl80211 say of a link.
    public struct Hardware: Sendable, Hashable {
        /// DEVTYPE in its uevent file, such as `wlan` or `wwan`.
        public var devtype: String?
        /// The driver bound to it.
        public var driver: String?
        /// A wireless PHY is listed beneath it in sysfs.
        public var hasPhy80211: Bool
        /// There is a device behind it at all.
        public var hasDevice: Bool
        /// The links that sysfs lists beneath it.
        public var lowerLinks: [String]

        /// - Parameters: see the properties.
        public init(
            devtype: String? = nil, driver: String? = nil, hasPhy80211: Bool = false, hasDevice: Bool = true,
            lowerLinks: [String] = []
        ) {
            self.devtype = devtype
            self.driver = driver
            self.hasPhy80211 = hasPhy80211
            self.hasDevice = hasDevice
            self.lowerLinks = lowerLinks
        }
    }

    /// `ip link add`
    ///
    /// - Parameters:
    ///   - hardware: what device files say of it, in place of what is usual for the kind.
    ///   - up: whether to switch it on at once.
    ///   - index: an ifindex of its own, for instance one that was used before; `nil` for the next free one.
    /// - Returns: its ifindex.
    @discardableResult
    public func addLink(
        _ name: String, _ kind: LinkKind = .ethernet, hardware: Hardware? = nil, up: Bool = false, index: Int? = nil
    ) throws(Refusal) -> Int {
        try change { state throws(Refusal) in
            var traits = try kind.traits(in: state)
            if let hardware { traits.facts = hardware.facts }
            let wanted = try index.map { index throws(Refusal) in
                // The last one is left out, because a next one is to come after it.
                guard let number = Int32(exactly: index), (1..<Int32.max).contains(number) else {
                    throw .invalid("\(index) is no index of a link")
                }
                return number
            }
            let index = try state.add(index: wanted) { traits.device(name, index: $0) }
            if up { state.setUp(index, true) }
            return Int(index)
        }
    }

    /// `ip link del`: with all that is stacked on it. A link that moves to another namespace goes in the same way.
    public func removeLink(_ name: String) throws(Refusal) {
        try onLink(name) { state, index in state.remove(index) }
    }

    /// `ip link set NAME up` or `down`
    public func setUp(_ name: String, _ isUp: Bool = true) throws(Refusal) {
        try onLink(name) { state, index throws(Refusal) in
            if isUp, let device = state.device(index), device.kind == "vlan", let parent = device.parent,
                state.device(parent)?.isUp == false
            {
                throw .linkDown
            }
            state.setUp(index, isUp)
        }
    }

    /// Plugs in or unplugs the cable, finds or loses the access point; for a tun device: somebody reads from it, or nobody does.
    public func setCarrier(_ name: String, _ hasCarrier: Bool) throws(Refusal) {
        try onLink(name) { state, index in state.setLine(index, hasCarrier) }
    }

    /// Authentication is pending (802.1X, or Wi-Fi before its keys), or done.
    public func setDormant(_ name: String, _ isDormant: Bool) throws(Refusal) {
        try onLink(name) { state, index in state.setDormant(index, isDormant) }
    }

    /// `ip link set NAME name NEW`; Linux allows it while the link is up.
    public func rename(_ name: String, to new: String) throws(Refusal) {
        try onLink(name) { state, index throws(Refusal) in try state.rename(index, to: new) }
    }

    /// `ip link set NAME master MASTER`, or `nomaster`.
    public func setMaster(_ name: String, _ master: String?) throws(Refusal) {
        try onLink(name) { state, index throws(Refusal) in
            let master = try master.map { name throws(Refusal) in try state.index(name) }
            state.setMaster(index, master)
        }
    }

    /// The port that an active-backup bond sends through; `nil` for none.
    public func setActivePort(ofBond name: String, _ port: String?) throws(Refusal) {
        try onLink(name) { state, index throws(Refusal) in
            let port = try port.map { name throws(Refusal) in try state.index(name) }
            state.setActivePort(index, port)
        }
    }

    /// `ip link set NAME addrgenmode none`: it makes itself no IPv6 link-local address.
    public func setMakesLinkLocalAddress(_ name: String, _ makesOne: Bool) throws(Refusal) {
        try onLink(name) { state, index in state.modify(index) { $0.makesNoAddresses = !makesOne } }
    }

    /// What device files say of a link changes, and monitors are told as by nl80211.
    public func setHardware(_ hardware: Hardware, of name: String) throws(Refusal) {
        try onLink(name) { state, index in
            state.modify(index) { $0.facts = hardware.facts }
            state.say(.wireless(index: index))
        }
    }

    /// A link message that changes nothing, such as drivers and daemons cause all the time.
    public func announceLink(_ name: String) throws(Refusal) {
        try onLink(name) { state, index in state.announce(index) }
    }

    func onLink(
        _ name: String, _ body: (inout KernelState, Int32) throws(Refusal) -> Void
    ) throws(Refusal) {
        try change { state throws(Refusal) in try body(&state, try state.index(name)) }
    }
}
