import Netlink
import Reachability

/// A link as the simulated kernel keeps it.
struct Device: Sendable {
    /// What decides whether there is carrier.
    enum CarrierSource: Sendable {
        /// The far end of a cable, an access point, a line; only while the link is up.
        case line
        /// Somebody who reads from the device, as a VPN client does from its tun.
        case reader
        /// Nothing: tunnels and loopback always have it.
        case always
        /// The link beneath.
        case parent
        /// At least one port that has it.
        case ports
    }

    struct Address: Sendable {
        var prefix: Prefix
        /// The address at the other end of a point-to-point link, whose subnet is then the connected one.
        var peer: IPAddress?
        var flags: AddressFlags = []
        /// IPv4: an earlier address of the same subnet is the primary one.
        var isSecondary = false

        var address: IPAddress { prefix.address }
        var subnet: Prefix { Prefix(Prefix(peer ?? address, prefix.length).network, prefix.length) }
    }

    let index: Int32
    var name: String
    let kind: String?
    var hardwareType: UInt16
    let baseFlags: LinkFlags
    let carrierSource: CarrierSource
    /// Ethernet and the like, where the kernel makes an IPv6 link-local address from the hardware's.
    let makesLinkLocal: Bool
    let bus: String?
    var facts: DeviceFacts

    var isUp = false
    var hasLine = true
    var isDormant = false
    var carrier: Bool
    var operationalState: OperationalState
    /// IPv6 is set up: the link has been up and running since it was last set up.
    var isReady = false
    var master: Int32?
    var parent: Int32?
    var parentIsElsewhere = false
    var activePort: Int32?
    var addresses: [Address] = []
    var makesNoAddresses = false
    /// What was recorded of a link of a real kernel, in place of what would follow from the above.
    var recorded: LinkMessage?

    var isRunning: Bool { isUp && (operationalState == .up || operationalState == .unknown) }

    var message: LinkMessage { message(portKind: nil) }

    func message(portKind: String?) -> LinkMessage {
        if let recorded { return recorded }
        var flags = baseFlags
        if isUp {
            flags.insert(.up)
            if carrier { flags.insert(.lowerUp) }
            if isRunning { flags.insert(.running) }
            if isDormant { flags.insert(.dormant) }
        }
        return LinkMessage(
            index: index, name: name, hardwareType: hardwareType, flags: flags,
            operationalState: isUp ? operationalState : .down, carrier: carrier, kind: kind, portKind: portKind,
            master: master, parent: parent, parentIsElsewhere: parentIsElsewhere, activePort: activePort, bus: bus)
    }
}
