import CNetlink
import Glibc

/// Turns generic netlink messages into values. Whatever comes, it never traps: a short or odd message is `nil` or skipped.
package enum WirelessParser {
    package static let familyName = "nl80211"

    /// What the controller says of families that come and go (modules that are loaded and unloaded).
    package enum FamilyNews: Sendable, Hashable {
        case came(GenericFamily)
        case went(name: String)
    }

    package static func news(from message: UnsafeMutablePointer<nlmsghdr>) -> FamilyNews? {
        guard CInt(message.pointee.nlmsg_type) == GENL_ID_CTRL, let command = command(of: message) else { return nil }
        switch Int(command) {
        case CTRL_CMD_NEWFAMILY: return family(from: message).map { .came($0) }
        case CTRL_CMD_DELFAMILY: return family(from: message).map { .went(name: $0.name) }
        default: return nil
        }
    }

    package static func family(from message: UnsafeMutablePointer<nlmsghdr>) -> GenericFamily? {
        parse(message, upTo: CTRL_ATTR_MCAST_GROUPS) { attributes in
            guard let name = attributes.string(CTRL_ATTR_FAMILY_NAME),
                let id = attributes.uint16(CTRL_ATTR_FAMILY_ID)
            else { return nil }
            var family = GenericFamily(name: name, id: id)
            attributes.forEachNested(CTRL_ATTR_MCAST_GROUPS, upTo: CTRL_ATTR_MCAST_GRP_ID) { group in
                guard let name = group.string(CTRL_ATTR_MCAST_GRP_NAME), let id = group.int32(CTRL_ATTR_MCAST_GRP_ID)
                else { return }
                family.groups[name] = id
            }
            return family
        }
    }

    /// What a message of nl80211's `config` and `mlme` groups means.
    package static func event(from message: UnsafeMutablePointer<nlmsghdr>) -> NetlinkEvent {
        guard let command = command(of: message) else { return .skipped(.malformed) }
        // What can make another thing of a link, or another network. The rest, scans and frames and stations of an access
        // point, is no news of the link itself.
        switch nl80211_commands(UInt32(command)) {
        case NL80211_CMD_NEW_INTERFACE, NL80211_CMD_SET_INTERFACE, NL80211_CMD_DEL_INTERFACE, NL80211_CMD_START_AP,
            NL80211_CMD_STOP_AP, NL80211_CMD_CONNECT, NL80211_CMD_ROAM, NL80211_CMD_DISCONNECT, NL80211_CMD_JOIN_IBSS,
            NL80211_CMD_JOIN_MESH:
            break
        default: return .skipped(.partial)
        }
        let event = parse(message, upTo: Int(NL80211_ATTR_IFINDEX.rawValue)) { attributes -> NetlinkEvent? in
            // A P2P device has no link, hence no index.
            attributes.int32(Int(NL80211_ATTR_IFINDEX.rawValue)).map { .wireless(index: $0) } ?? .skipped(.partial)
        }
        return event ?? .skipped(.malformed)
    }

    package static func saysThatTheLinkWent(_ message: UnsafeMutablePointer<nlmsghdr>) -> Bool {
        command(of: message).map { UInt32($0) } == NL80211_CMD_DEL_INTERFACE.rawValue
    }

    package static func link(from message: UnsafeMutablePointer<nlmsghdr>) -> WirelessLink? {
        parse(message, upTo: Int(NL80211_ATTR_SSID.rawValue)) { attributes in
            guard let index = attributes.int32(Int(NL80211_ATTR_IFINDEX.rawValue)),
                let type = attributes.uint32(Int(NL80211_ATTR_IFTYPE.rawValue))
            else { return nil }
            let ssid = attributes.bytes(Int(NL80211_ATTR_SSID.rawValue)).map { String(decoding: $0, as: UTF8.self) }
            return WirelessLink(index: index, mode: mode(nl80211_iftype(type)), ssid: ssid)
        }
    }

    private static func mode(_ type: nl80211_iftype) -> DeviceFacts.WirelessMode {
        switch type {
        case NL80211_IFTYPE_STATION: .station
        case NL80211_IFTYPE_P2P_CLIENT: .p2p
        // The owner of a P2P group is the access point of it.
        case NL80211_IFTYPE_AP, NL80211_IFTYPE_AP_VLAN, NL80211_IFTYPE_P2P_GO: .accessPoint
        case NL80211_IFTYPE_MESH_POINT: .mesh
        case NL80211_IFTYPE_ADHOC: .adHoc
        case NL80211_IFTYPE_MONITOR: .monitor
        default: .other
        }
    }

    package static func peer(from message: UnsafeMutablePointer<nlmsghdr>) -> WirelessPeer? {
        parse(message, upTo: Int(NL80211_ATTR_STA_INFO.rawValue)) { attributes in
            guard let address = attributes.bytes(Int(NL80211_ATTR_MAC.rawValue)) else { return nil }
            var peer = WirelessPeer(address: address.map(hexadecimal).joined(separator: ":"))
            peer.signal = attributes.nested(
                Int(NL80211_ATTR_STA_INFO.rawValue), upTo: Int(NL80211_STA_INFO_SIGNAL.rawValue)
            ) { $0.uint8(Int(NL80211_STA_INFO_SIGNAL.rawValue)).map { Int(Int8(bitPattern: $0)) } }
            return peer
        }
    }

    /// The name of a network that was heard, if it is the one that the link has joined.
    package static func joinedNetwork(from message: UnsafeMutablePointer<nlmsghdr>) -> String? {
        parse(message, upTo: Int(NL80211_ATTR_BSS.rawValue)) { attributes in
            attributes.nested(Int(NL80211_ATTR_BSS.rawValue), upTo: Int(NL80211_BSS_STATUS.rawValue)) { network in
                guard network.uint32(Int(NL80211_BSS_STATUS.rawValue)) == NL80211_BSS_STATUS_ASSOCIATED.rawValue else {
                    return nil
                }
                return network.bytes(Int(NL80211_BSS_INFORMATION_ELEMENTS.rawValue)).flatMap(name(inElements:))
            }
        }
    }

    /// Elements of a beacon (IEEE 802.11, 9.4.2): an identifier, a length, so many bytes. 0 is the SSID.
    private static func name(inElements bytes: UnsafeRawBufferPointer) -> String? {
        var rest = bytes[...]
        while rest.count >= 2 {
            let (identifier, length) = (rest[rest.startIndex], Int(rest[rest.startIndex + 1]))
            rest = rest.dropFirst(2)
            if identifier == 0, rest.count >= length { return String(decoding: rest.prefix(length), as: UTF8.self) }
            rest = rest.dropFirst(length)
        }
        return nil
    }

    private static func hexadecimal(_ byte: UInt8) -> String {
        (byte < 16 ? "0" : "") + String(byte, radix: 16)
    }

    private static func command(of message: UnsafeMutablePointer<nlmsghdr>) -> UInt8? {
        MessageParser.payload(of: message, as: genlmsghdr.self)?.cmd
    }

    private static func parse<Result>(
        _ message: UnsafeMutablePointer<nlmsghdr>, upTo highest: Int, _ body: (Attributes) -> Result?
    ) -> Result? {
        Attributes.parse(of: message, after: MemoryLayout<genlmsghdr>.size, upTo: highest, body)
    }
}
