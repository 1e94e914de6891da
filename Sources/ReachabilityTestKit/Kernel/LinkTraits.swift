import Netlink
import Reachability

/// What goes with a kind of link.
struct LinkTraits: Sendable {
    var kind: String?
    var hardwareType = ARPHRD.ethernet
    var flags: LinkFlags = []
    var carrierSource = Device.CarrierSource.line
    var makesLinkLocal = true
    var bus: String?
    var facts = DeviceFacts()
    var parent: Int32?
    var parentIsElsewhere = false

    func device(_ name: String, index: Int32) -> Device {
        // What starts without carrier is known to be down; what never lost it has never been asked.
        let startsWithCarrier =
            switch carrierSource {
            case .line, .parent: false
            case .reader, .always, .ports: true
            }
        return Device(
            index: index, name: name, kind: kind, hardwareType: hardwareType, baseFlags: flags,
            carrierSource: carrierSource, makesLinkLocal: makesLinkLocal, bus: bus, facts: facts,
            carrier: startsWithCarrier, operationalState: startsWithCarrier ? .unknown : .down, parent: parent,
            parentIsElsewhere: parentIsElsewhere)
    }

    /// A network card, or what looks like one.
    fileprivate static func card(devtype: String? = nil, driver: String? = nil) -> LinkTraits {
        LinkTraits(bus: "usb", facts: DeviceFacts(devtype: devtype, driver: driver, hasDevice: true))
    }

    /// A link without a link layer, whose operational state nobody ever learns.
    fileprivate static func bare(_ kind: String?, _ type: UInt16 = ARPHRD.none) -> LinkTraits {
        LinkTraits(
            kind: kind, hardwareType: type, flags: .pointToPoint, carrierSource: .always, makesLinkLocal: false)
    }
}

extension SimulatedKernel.LinkKind {
    func traits(in state: KernelState) throws(SimulatedKernel.Refusal) -> LinkTraits {
        switch self {
        case .ethernet:
            return LinkTraits(bus: "pci", facts: DeviceFacts(hasDevice: true))
        case .wifi, .accessPoint:
            let mode: DeviceFacts.WirelessMode = self == .wifi ? .station : .accessPoint
            let facts = DeviceFacts(wirelessMode: mode, devtype: "wlan", hasPhy80211: true, hasDevice: true)
            return LinkTraits(bus: "pci", facts: facts)
        case .wwan:
            return .bare("wwan", ARPHRD.rawIP)
        case .usbModem:
            return .card(devtype: "wwan", driver: "cdc_ether")
        case .rawIPModem:
            return .bare(nil, ARPHRD.rawIP)
        case .tetheredPhone(let driver):
            return .card(driver: driver)
        case .ppp:
            return .bare("ppp", ARPHRD.ppp)
        case .pppoe(let name):
            var traits = LinkTraits.bare("ppp", ARPHRD.ppp)
            traits.facts.pppoeDevices = [try state.device(name).name]
            return traits
        case .veth:
            return LinkTraits(kind: "veth", parent: 2, parentIsElsewhere: true)
        case .dummy:
            return LinkTraits(kind: "dummy", carrierSource: .always)
        case .tun:
            var traits = LinkTraits.bare("tun")
            traits.carrierSource = .reader
            return traits
        case .wireguard:
            return .bare("wireguard")
        case .tunnel(let kind, let over):
            var traits = LinkTraits.bare(kind)
            traits.parent = try over.map { name throws(SimulatedKernel.Refusal) in try state.index(name) }
            return traits
        case .bridge: return LinkTraits(kind: "bridge", carrierSource: .ports)
        case .bond: return LinkTraits(kind: "bond", carrierSource: .ports)
        case .team: return LinkTraits(kind: "team", carrierSource: .ports)
        case .vlan(let name):
            return LinkTraits(kind: "vlan", carrierSource: .parent, parent: try state.index(name))
        case .macvlan(let name):
            return LinkTraits(kind: "macvlan", carrierSource: .parent, parent: try state.index(name))
        case .macvlanFromElsewhere:
            return LinkTraits(kind: "macvlan", carrierSource: .parent, parent: 2, parentIsElsewhere: true)
        case .other(let kind):
            return LinkTraits(kind: kind, carrierSource: .always)
        }
    }
}

extension SimulatedKernel.Hardware {
    var facts: DeviceFacts {
        DeviceFacts(
            devtype: devtype, hasPhy80211: hasPhy80211, driver: driver, hasDevice: hasDevice, lowerLinks: lowerLinks)
    }
}

extension KernelState {
    mutating func addLoopback() {
        let traits = LinkTraits(
            hardwareType: ARPHRD.loopback, flags: .loopback, carrierSource: .always, makesLinkLocal: false)
        // The first link of all: neither its name nor its index can be taken.
        guard let index = try? add(index: 1, { traits.device("lo", index: $0) }) else { return }
        setUp(index, true)
        _ = takeOutbox()
    }
}
