/// The one door between the kernel and everything else.
///
/// The live feed speaks netlink; the simulated one is a small kernel in memory. What is behind the door says the same things
/// and leaves the same things unsaid.
package protocol NetlinkFeed: Sendable {
    /// Opens a conversation whose doorbell rings for changes from this moment on, before anything has been asked.
    ///
    /// - Parameter destinations: the addresses whose routes matter. Routes that cover none of them need not ring.
    func open(watching destinations: [IPAddress]) throws(NetlinkError) -> sending any NetlinkConversation
}

/// An open conversation with the kernel. It belongs to one thread at a time and never waits for anything but the kernel itself.
package protocol NetlinkConversation: AnyObject {
    /// Descriptors that become readable when the doorbell rings.
    var doorbells: [CInt] { get }

    /// The error that prevents notifications; `nil` when there is none.
    var deafness: NetlinkError? { get }

    /// Changes the destinations whose routes ring.
    func watch(_ destinations: [IPAddress]) throws(NetlinkError)

    /// Takes what a doorbell brought, in order, up to a bound that keeps a flood from holding the thread.
    ///
    /// - Returns: `true` if more may be waiting.
    func drain(_ doorbell: CInt, into events: inout [NetlinkEvent]) throws(NetlinkError) -> Bool

    func links() throws(NetlinkError) -> Dump<LinkMessage>

    /// One link as it is now; `nil` if there is none with that index.
    func link(_ index: Int32) throws(NetlinkError) -> LinkMessage?

    func addresses() throws(NetlinkError) -> Dump<AddressMessage>

    /// Answers in the order of the queries: what `ip route get` says, without a packet sent.
    func lookUp(_ queries: [RouteQuery]) throws(NetlinkError) -> [RouteAnswer]

    /// What the device files and nl80211 say of a link; kept by the caller until the link's name or kind changes.
    func device(of link: LinkMessage) -> DeviceFacts

    /// More about a wireless link, for people: which network, how strong. `nil` where nothing is known.
    func wireless(_ index: Int32) -> WirelessDetails?

    /// What the resolver's configuration says at this moment.
    func nameservers() -> [IPAddress]
}

extension NetlinkConversation {
    /// A kernel without radios.
    package func wireless(_ index: Int32) -> WirelessDetails? { nil }
}

/// What a dump brought.
package struct Dump<Element: Sendable>: Sendable {
    package var elements: [Element]
    /// The kernel said NLM_F_DUMP_INTR in every attempt: something may be missing or double, so ask again at the next doorbell.
    package var isInterrupted: Bool

    package init(elements: [Element], isInterrupted: Bool = false) {
        self.elements = elements
        self.isInterrupted = isInterrupted
    }

    /// Asks until nothing has interrupted the answer. The last of so many attempts is used as it is.
    static func whole(
        within attempts: Int, _ ask: () throws(NetlinkError) -> Dump
    ) throws(NetlinkError) -> Dump {
        for _ in 1..<attempts {
            let dump = try ask()
            if !dump.isInterrupted { return dump }
        }
        return try ask()
    }
}

/// What rings the doorbell.
package enum NetlinkEvent: Sendable, Hashable {
    case link(LinkMessage)
    case linkGone(index: Int32)
    case address(AddressMessage)
    case addressGone(AddressMessage)
    /// A route, rule or nexthop object changed: the answers have to be asked for again.
    case routing(RoutingChange)
    /// nl80211 has news of a link, or of all of them.
    case wireless(index: Int32?)
    case resolver
    /// The receive buffer overflowed (ENOBUFS), and the queue has been drained since: only a new snapshot tells what was lost.
    case overrun
    /// The machine slept.
    case resumed
    /// A message that was left out of account, and why.
    case skipped(SkipReason)
}

package enum RoutingChange: Sendable, Hashable {
    case route
    case rule
    case nexthop
}

package enum SkipReason: Sendable, Hashable {
    /// The sender was another process, not the kernel (nl_pid other than 0).
    case forged
    /// Shorter than its own headers say, or truncated.
    case malformed
    /// Well-formed, and no news of a link: wireless extension events, whose flags are stale, and AF_BRIDGE ones.
    case partial
    /// A type nobody asked for.
    case unknown
}

/// A question to the routing tables.
package struct RouteQuery: Sendable, Hashable {
    package var destination: IPAddress
    /// RTA_OIF: only ways out over this link.
    package var link: Int32?
    /// RTM_F_FIB_MATCH: the table entry that matches, with all its legs, not the one way a packet would take. With a link it
    /// is the only honest question: without it IPv4 invents an on-link route.
    package var matchesEntry: Bool

    package init(destination: IPAddress, link: Int32? = nil, matchesEntry: Bool = false) {
        self.destination = destination
        self.link = link
        self.matchesEntry = matchesEntry
    }
}

package enum RouteAnswer: Sendable, Hashable {
    case route(RouteMessage)
    /// The kernel refused with this error number: ENETUNREACH for no route; EINVAL, EHOSTUNREACH, EACCES for IPv4's
    /// blackhole, unreachable and prohibit.
    case refused(errno: CInt)
}

/// What is known of the hardware behind a link, from outside rtnetlink. All empty where nothing is known.
package struct DeviceFacts: Sendable, Hashable {
    /// What nl80211 says the link is.
    package enum WirelessMode: String, Sendable, Hashable {
        case station
        case accessPoint = "access point"
        case p2p = "P2P"
        case mesh
        case adHoc = "ad hoc"
        case monitor, other
    }

    package var wirelessMode: WirelessMode?
    /// DEVTYPE of the uevent file.
    package var devtype: String?
    /// A `phy80211` or `wireless` entry is there.
    package var hasPhy80211: Bool
    /// The name of the driver bound to the device.
    package var driver: String?
    /// A `device` entry is there: hardware, real or emulated.
    package var hasDevice: Bool
    /// Links listed as `lower_…` beneath one without a kind or a link layer: what sysfs alone knows of a qmimux channel.
    package var lowerLinks: [String]
    /// For ppp links, what /proc/net/pppoe lists: the link beneath each session of this namespace, whichever ppp link is whose.
    package var pppoeDevices: [String]

    package init(
        wirelessMode: WirelessMode? = nil, devtype: String? = nil, hasPhy80211: Bool = false, driver: String? = nil,
        hasDevice: Bool = false, lowerLinks: [String] = [], pppoeDevices: [String] = []
    ) {
        self.wirelessMode = wirelessMode
        self.devtype = devtype
        self.hasPhy80211 = hasPhy80211
        self.driver = driver
        self.hasDevice = hasDevice
        self.lowerLinks = lowerLinks
        self.pppoeDevices = pppoeDevices
    }
}
