/// A generic netlink family, as the kernel's controller describes it.
package struct GenericFamily: Sendable, Hashable {
    package var name: String
    /// What its messages carry as `nlmsg_type`; given out when the module is loaded.
    package var id: UInt16
    /// The multicast groups by name.
    package var groups: [String: Int32]

    package init(name: String, id: UInt16, groups: [String: Int32] = [:]) {
        self.name = name
        self.id = id
        self.groups = groups
    }
}

/// What nl80211 says of a wireless link (NL80211_CMD_NEW_INTERFACE).
package struct WirelessLink: Sendable, Hashable {
    package var index: Int32
    package var mode: DeviceFacts.WirelessMode
    /// The name of the network: the one joined, or the one an access point offers. Any bytes, by the standard; mostly UTF-8.
    package var ssid: String?

    package init(index: Int32, mode: DeviceFacts.WirelessMode, ssid: String? = nil) {
        self.index = index
        self.mode = mode
        self.ssid = ssid
    }
}

/// The other end of a wireless link (NL80211_CMD_NEW_STATION); for a station, its access point.
package struct WirelessPeer: Sendable, Hashable {
    /// The hardware address, such as `02:00:00:00:01:00`.
    package var address: String
    /// dBm, of the last frame that came from there; `nil` where the driver does not say.
    package var signal: Int?

    package init(address: String, signal: Int? = nil) {
        self.address = address
        self.signal = signal
    }
}

/// What nl80211 says of one link, for people: nothing of it but the mode bears on a path.
package struct WirelessDetails: Sendable, Hashable {
    package var link: WirelessLink
    /// The access point of a station; the stations of an access point.
    package var peers: [WirelessPeer]

    package init(link: WirelessLink, peers: [WirelessPeer] = []) {
        self.link = link
        self.peers = peers
    }
}
