import CNetlink
import Glibc

/// Asks nl80211 about the wireless links of the network namespace in which it was opened.
struct WirelessRequests: ~Copyable {
    let family: GenericFamily
    private var requests: RequestSocket

    /// `nil` where the kernel has no nl80211.
    ///
    /// The families are listed, not asked for by name: a name that the kernel does not know makes it look for a module, and
    /// a monitor must not be what loads cfg80211 on a server.
    init?() throws(NetlinkError) {
        var requests = try RequestSocket(protocol: NETLINK_GENERIC)
        let header = genlmsghdr(cmd: UInt8(CTRL_CMD_GETFAMILY), version: 1, reserved: 0)
        let families = try requests.dump(.findFamily, GENL_ID_CTRL, header) { WirelessParser.family(from: $0) }
        guard let family = families.elements.first(where: { $0.name == WirelessParser.familyName }) else { return nil }
        self.family = family
        self.requests = requests
    }

    mutating func links() throws(NetlinkError) -> [WirelessLink] {
        try ask(NL80211_CMD_GET_INTERFACE) { WirelessParser.link(from: $0) }
    }

    /// The other ends of a link: an access point, or the stations of one.
    private mutating func peers(of index: Int32) throws(NetlinkError) -> [WirelessPeer] {
        try ask(NL80211_CMD_GET_STATION, about: index) { WirelessParser.peer(from: $0) }
    }

    /// `nil` if the link is not wireless. Nothing is sent over the air: no scan, no probe.
    mutating func details(of index: Int32) throws(NetlinkError) -> WirelessDetails? {
        guard var link = try links().first(where: { $0.index == index }) else { return nil }
        // Where a program of its own does the joining (wpa_supplicant), the kernel knows the name from what it once heard.
        // Drivers need not be able to list what they have scanned, or who is at the other end.
        if link.ssid == nil { link.ssid = (try? joinedNetwork(of: index)) ?? nil }
        return WirelessDetails(link: link, peers: (try? peers(of: index)) ?? [])
    }

    private mutating func joinedNetwork(of index: Int32) throws(NetlinkError) -> String? {
        try ask(NL80211_CMD_GET_SCAN, about: index) { WirelessParser.joinedNetwork(from: $0) }.first
    }

    private mutating func ask<Element: Sendable>(
        _ command: nl80211_commands, about index: Int32? = nil,
        _ parse: (UnsafeMutablePointer<nlmsghdr>) -> Element?
    ) throws(NetlinkError) -> [Element] {
        let header = genlmsghdr(cmd: UInt8(command.rawValue), version: 0, reserved: 0)
        let attribute = index.map { (UInt16(NL80211_ATTR_IFINDEX.rawValue), UInt32(bitPattern: $0)) }
        return try requests.dump(.askWireless, CInt(family.id), header, attribute, parse).elements
    }
}
