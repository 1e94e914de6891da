/// What an RTM_NEWLINK says about a network interface.
///
/// Only what bears on reachability is kept. An attribute that the message lacks is `nil`, and means "not said", never "no".
package struct LinkMessage: Sendable, Hashable {
    package var index: Int32
    /// `ifi_type`: the hardware type, one of the kernel's ARPHRD numbers.
    package var hardwareType: UInt16
    package var flags: LinkFlags
    package var name: String
    package var operationalState: OperationalState?
    /// IFLA_CARRIER.
    package var carrier: Bool?
    /// IFLA_INFO_KIND: the driver kind of a virtual link.
    package var kind: String?
    /// IFLA_INFO_SLAVE_KIND: the kind of the link that this one is enslaved to.
    package var portKind: String?
    /// IFLA_MASTER: the bridge, bond, team or VRF this link belongs to.
    package var master: Int32?
    /// IFLA_LINK: what the link sits on. An index in another namespace if `parentIsElsewhere`.
    package var parent: Int32?
    /// IFLA_LINK_NETNSID is there: `parent` is an index of another network namespace.
    package var parentIsElsewhere: Bool
    /// IFLA_BOND_ACTIVE_SLAVE of a bond in active-backup mode.
    package var activePort: Int32?
    /// IFLA_PARENT_DEV_BUS_NAME: the bus of the hardware, if there is any.
    package var bus: String?

    package init(
        index: Int32, name: String, hardwareType: UInt16 = ARPHRD.ethernet, flags: LinkFlags = [],
        operationalState: OperationalState? = nil, carrier: Bool? = nil, kind: String? = nil, portKind: String? = nil,
        master: Int32? = nil, parent: Int32? = nil, parentIsElsewhere: Bool = false, activePort: Int32? = nil,
        bus: String? = nil
    ) {
        self.index = index
        self.name = name
        self.hardwareType = hardwareType
        self.flags = flags
        self.operationalState = operationalState
        self.carrier = carrier
        self.kind = kind
        self.portKind = portKind
        self.master = master
        self.parent = parent
        self.parentIsElsewhere = parentIsElsewhere
        self.activePort = activePort
        self.bus = bus
    }
}

/// The flags of `ifi_flags` that bear on reachability (netdevice(7)); the parser drops the others.
package struct LinkFlags: OptionSet, Sendable, Hashable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// IFF_UP: an administrator switched it on.
    package static let up = LinkFlags(rawValue: 1 << 0)
    /// IFF_LOOPBACK.
    package static let loopback = LinkFlags(rawValue: 1 << 3)
    /// IFF_POINTOPOINT.
    package static let pointToPoint = LinkFlags(rawValue: 1 << 4)
    /// IFF_RUNNING: operstate is UP or UNKNOWN.
    package static let running = LinkFlags(rawValue: 1 << 6)
    /// IFF_LOWER_UP: carrier.
    package static let lowerUp = LinkFlags(rawValue: 1 << 16)
    /// IFF_DORMANT: carrier, but authentication is pending.
    package static let dormant = LinkFlags(rawValue: 1 << 17)

    package static let relevant: LinkFlags = [.up, .loopback, .pointToPoint, .running, .lowerUp, .dormant]
}

/// IFLA_OPERSTATE (RFC 2863; the kernel's operstates.rst).
package enum OperationalState: UInt8, Sendable, Hashable {
    case unknown = 0
    case notPresent = 1
    case down = 2
    case lowerLayerDown = 3
    case testing = 4
    case dormant = 5
    case up = 6
}

/// The hardware types (`if_arp.h`) that tell media apart.
package enum ARPHRD {
    package static let ethernet: UInt16 = 1
    package static let ppp: UInt16 = 512
    /// Raw IP of a modem (RMNET).
    package static let rawIP: UInt16 = 519
    package static let tunnel: UInt16 = 768
    package static let tunnel6: UInt16 = 769
    package static let loopback: UInt16 = 772
    package static let sit: UInt16 = 776
    package static let ipgre: UInt16 = 778
    package static let ieee80211: UInt16 = 801
    package static let ieee80211Prism: UInt16 = 802
    package static let ieee80211Radiotap: UInt16 = 803
    package static let ip6gre: UInt16 = 823
    /// No link layer at all: tun, wireguard, raw-IP modems, qmimux channels.
    package static let none: UInt16 = 65534
}
