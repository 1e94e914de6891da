import Netlink

/// What an interface is, by the strongest evidence there is. A pure function of what is known.
struct Classifier: Sendable {
    let rules: [InterfaceRule]

    func classify(_ link: LinkMessage, _ device: DeviceFacts) -> Classification {
        let facts = InterfaceRule.Facts(
            name: link.name, index: Int(link.index), kind: link.kind, driver: device.driver,
            hardwareType: Int(link.hardwareType))
        let applicable = rules.filter { $0.applies(to: facts) }

        var result = Classification(role: role(of: link, device))
        (result.type, result.evidence) =
            applicable.lazy.compactMap { rule in rule.type.map { ($0, .rule(rule.description)) } }.first
            ?? type(of: link, device)
        (result.isExpensive, result.costEvidence) =
            applicable.lazy.compactMap { rule in rule.isExpensive.map { ($0, .rule(rule.description)) } }.first
            ?? cost(of: result.type, device)
        result.isConstrained = applicable.lazy.compactMap(\.isConstrained).first ?? false
        return result
    }

    // MARK: Role

    private static let tunnelKinds: Set<String> = [
        "wireguard", "tun", "ipip", "sit", "gre", "gretap", "erspan", "ip6tnl", "ip6gre", "ip6gretap", "ip6erspan",
        "vti",
        "vti6", "xfrm", "vxlan", "geneve", "bareudp", "gtp", "ovpn", "amt", "l2tpeth", "ipsec",
    ]
    private static let tunnelHardware: Set<UInt16> = [
        ARPHRD.tunnel, ARPHRD.tunnel6, ARPHRD.sit, ARPHRD.ipgre, ARPHRD.ip6gre,
    ]
    private static let portKinds: Set<String> = ["bridge", "bond", "team"]
    /// Kinds that swallow or mirror packets.
    private static let sinkKinds: Set<String> = ["dummy", "ifb", "nlmon", "vcan", "vxcan"]
    private static let childKinds: Set<String> = ["vlan", "macvlan", "macvtap", "ipvlan", "ipvtap", "macsec", "hsr"]

    private func role(of link: LinkMessage, _ device: DeviceFacts) -> Classification.Role {
        if link.flags.contains(.loopback) { return .loopback }
        if let kind = link.kind {
            if Self.tunnelKinds.contains(kind) { return .tunnel }
            if Self.portKinds.contains(kind) { return .ports }
            if Self.childKinds.contains(kind) { return .child }
            if Self.sinkKinds.contains(kind) { return .noWayOut }
            if kind == "vrf" { return .routingDomain }
        }
        if Self.tunnelHardware.contains(link.hardwareType) { return .tunnel }
        if Self.isPPP(link), let beneath = device.pppoeDevices.first { return .session(over: beneath) }
        switch device.wirelessMode {
        case .accessPoint, .monitor, .mesh: return .noWayOut
        default: break
        }
        return link.hardwareType == ARPHRD.ieee80211Radiotap ? .noWayOut : .own
    }

    static func isPPP(_ link: LinkMessage) -> Bool { link.kind == "ppp" || link.hardwareType == ARPHRD.ppp }

    // MARK: Type

    private typealias Finding<Fact> = (Fact, Evidence)

    private func type(of link: LinkMessage, _ device: DeviceFacts) -> Finding<NetworkInterface.InterfaceType> {
        if link.flags.contains(.loopback) { return (.loopback, .hardwareType(Int(link.hardwareType))) }
        if let mode = device.wirelessMode { return (.wifi, .nl80211(mode: mode.rawValue)) }
        return byKind(link, device) ?? byHardwareType(link, device) ?? bySysfs(device) ?? byName(link)
            ?? byElimination(link, device)
    }

    private func byKind(_ link: LinkMessage, _ device: DeviceFacts) -> Finding<NetworkInterface.InterfaceType>? {
        guard let kind = link.kind else { return nil }
        if kind == "wwan" || kind == "rmnet" { return (.wwan, .kind(kind)) }
        if kind == "ppp" { return ppp(device, .kind(kind)) }
        // Kinds such as veth say nothing about a medium: the name may.
        return Self.tunnelKinds.contains(kind) ? (.other, .kind(kind)) : nil
    }

    private func byHardwareType(_ link: LinkMessage, _ device: DeviceFacts) -> Finding<NetworkInterface.InterfaceType>?
    {
        let evidence = Evidence.hardwareType(Int(link.hardwareType))
        switch link.hardwareType {
        case ARPHRD.ppp: return ppp(device, evidence)
        case ARPHRD.rawIP: return (.wwan, evidence)
        case ARPHRD.ieee80211, ARPHRD.ieee80211Prism, ARPHRD.ieee80211Radiotap: return (.wifi, evidence)
        case let number where Self.tunnelHardware.contains(number): return (.other, evidence)
        default: return nil
        }
    }

    /// A ppp link is a modem's, unless its session is PPPoE: then it is a broadband line.
    private func ppp(_ device: DeviceFacts, _ evidence: Evidence) -> Finding<NetworkInterface.InterfaceType> {
        device.pppoeDevices.first.map { (.wired, .pppoe(over: $0)) } ?? (.wwan, evidence)
    }

    private func bySysfs(_ device: DeviceFacts) -> Finding<NetworkInterface.InterfaceType>? {
        switch device.devtype {
        case "wlan": return (.wifi, .devtype("wlan"))
        case "wwan": return (.wwan, .devtype("wwan"))
        case "bluetooth": return (.other, .devtype("bluetooth"))
        default: break
        }
        if device.hasPhy80211 { return (.wifi, .phy80211) }
        if let driver = device.driver, Self.tetheringDrivers.contains(driver) { return (.wired, .driver(driver)) }
        // A channel of a multiplexed modem has no kind, no DEVTYPE and no device: only the link beneath it tells.
        if let modem = device.lowerLinks.first(where: { $0.hasPrefix("wwan") }) { return (.wwan, .lowerLink(modem)) }
        return nil
    }

    /// The prefixes of systemd's predictable names (net-naming-scheme) and of the kernel's own.
    private func byName(_ link: LinkMessage) -> Finding<NetworkInterface.InterfaceType>? {
        let prefixes: [(String, NetworkInterface.InterfaceType)] = [
            ("wl", .wifi), ("ww", .wwan), ("ppp", .wwan), ("rmnet", .wwan), ("en", .wired), ("eth", .wired),
        ]
        return prefixes.first { link.name.hasPrefix($0.0) }.map { ($0.1, .name(link.name)) }
    }

    private func byElimination(_ link: LinkMessage, _ device: DeviceFacts) -> Finding<NetworkInterface.InterfaceType> {
        let isHardware = link.kind == nil && (device.hasDevice || link.bus != nil)
        return isHardware && link.hardwareType == ARPHRD.ethernet ? (.wired, .ethernetDevice) : (.other, .nothing)
    }

    // MARK: Cost

    /// Drivers of phones that share their connection over USB. Some docks use two of them, too: better a cost too many than
    /// one that nobody was told of.
    private static let tetheringDrivers: Set<String> = ["rndis_host", "cdc_ether", "cdc_ncm", "ipheth"]

    private func cost(of type: NetworkInterface.InterfaceType, _ device: DeviceFacts) -> Finding<Bool> {
        if type == .wwan { return (true, .type(.wwan)) }
        if let driver = device.driver, Self.tetheringDrivers.contains(driver) { return (true, .driver(driver)) }
        if device.devtype == "bluetooth" { return (true, .devtype("bluetooth")) }
        return (false, .nothing)
    }
}

/// What an interface is, on its own, before anything beneath it is looked at.
struct Classification: Sendable, Hashable {
    /// How the interface relates to a medium.
    enum Role: Sendable, Hashable {
        /// It is one, or stands for one.
        case own
        case loopback
        /// Packets go into other packets: what lies beneath is found by asking the routing tables.
        case tunnel
        /// A bridge, bond or team: one of its ports carries the traffic.
        case ports
        /// A VLAN, macvlan and the like: its parent (IFLA_LINK) carries the traffic.
        case child
        /// PPPoE: the named link carries the traffic.
        case session(over: String)
        /// A VRF: routes inside it are none for programs outside.
        case routingDomain
        /// An access point, a monitor, a dummy: nothing that is sent there gets out.
        case noWayOut
    }

    var role: Role
    var type: NetworkInterface.InterfaceType = .other
    var evidence: Evidence = .nothing
    var isExpensive = false
    var costEvidence: Evidence = .nothing
    var isConstrained = false

    init(role: Role) { self.role = role }
}
