import CNetlink
import TestSupport
import Testing

@testable import Netlink

@Suite(.takingTurns) struct WirelessParserTests {
    private static func interface(_ command: nl80211_commands, type: UInt32? = nil, ssid: [UInt8]? = nil)
        -> MessageBytes
    {
        var message = MessageBytes(family: 30, command: Int(command.rawValue))
        message.put(Int(NL80211_ATTR_IFINDEX.rawValue), MessageBytes.number(UInt32(7)))
        if let type { message.put(Int(NL80211_ATTR_IFTYPE.rawValue), MessageBytes.number(type)) }
        if let ssid { message.put(Int(NL80211_ATTR_SSID.rawValue), ssid) }
        return message
    }

    @Test func readsTheFamilyWithItsGroups() {
        var message = MessageBytes(family: Int(GENL_ID_CTRL), command: CTRL_CMD_NEWFAMILY)
        message.put(CTRL_ATTR_FAMILY_NAME, MessageBytes.text("nl80211"))
        message.put(CTRL_ATTR_FAMILY_ID, MessageBytes.number(UInt16(33)))
        let groups = [("config", UInt32(5)), ("mlme", 8)].enumerated().flatMap { position, group in
            MessageBytes.attribute(
                position + 1,
                MessageBytes.attribute(CTRL_ATTR_MCAST_GRP_ID, MessageBytes.number(group.1))
                    + MessageBytes.attribute(CTRL_ATTR_MCAST_GRP_NAME, MessageBytes.text(group.0)))
        }
        message.put(CTRL_ATTR_MCAST_GROUPS, groups)
        let family = GenericFamily(name: "nl80211", id: 33, groups: ["config": 5, "mlme": 8])
        #expect(message.parsed(WirelessParser.family) == family)
        #expect(message.parsed(WirelessParser.news) == .came(family))
    }

    @Test func noticesThatAFamilyWent() {
        var message = MessageBytes(family: Int(GENL_ID_CTRL), command: CTRL_CMD_DELFAMILY)
        message.put(CTRL_ATTR_FAMILY_NAME, MessageBytes.text("nl80211"))
        message.put(CTRL_ATTR_FAMILY_ID, MessageBytes.number(UInt16(33)))
        #expect(message.parsed(WirelessParser.news) == .went(name: "nl80211"))
    }

    @Test(arguments: [
        (NL80211_IFTYPE_STATION, DeviceFacts.WirelessMode.station), (NL80211_IFTYPE_AP, .accessPoint),
        (NL80211_IFTYPE_AP_VLAN, .accessPoint), (NL80211_IFTYPE_P2P_GO, .accessPoint),
        (NL80211_IFTYPE_P2P_CLIENT, .p2p),
        (NL80211_IFTYPE_MONITOR, .monitor), (NL80211_IFTYPE_MESH_POINT, .mesh), (NL80211_IFTYPE_ADHOC, .adHoc),
        (nl80211_iftype(99), .other),
    ])
    func tellsTheModeOfALink(type: nl80211_iftype, mode: DeviceFacts.WirelessMode) {
        let message = Self.interface(NL80211_CMD_NEW_INTERFACE, type: type.rawValue, ssid: Array("Café".utf8))
        #expect(message.parsed(WirelessParser.link) == WirelessLink(index: 7, mode: mode, ssid: "Café"))
    }

    @Test func aNameOfAnyBytesIsNoReasonToStumble() {
        let message = Self.interface(NL80211_CMD_NEW_INTERFACE, type: 2, ssid: [0xFF, 0x00, 0x41])
        #expect(message.parsed(WirelessParser.link)?.ssid == "\u{FFFD}\u{0}A")
    }

    @Test func readsTheStrengthOfTheSignal() {
        var message = MessageBytes(family: 30, command: Int(NL80211_CMD_NEW_STATION.rawValue))
        message.put(Int(NL80211_ATTR_MAC.rawValue), [2, 0, 0, 0, 1, 0xAB])
        let info = MessageBytes.attribute(Int(NL80211_STA_INFO_SIGNAL.rawValue), [UInt8(bitPattern: -61)])
        message.put(Int(NL80211_ATTR_STA_INFO.rawValue), info)
        #expect(message.parsed(WirelessParser.peer) == WirelessPeer(address: "02:00:00:00:01:ab", signal: -61))
    }

    /// A network that was heard, with a vendor's element before its name.
    private static func heard(status: nl80211_bss_status?, elements: [UInt8]) -> MessageBytes {
        var message = MessageBytes(family: 30, command: Int(NL80211_CMD_NEW_SCAN_RESULTS.rawValue))
        var network = MessageBytes.attribute(Int(NL80211_BSS_INFORMATION_ELEMENTS.rawValue), elements)
        if let status {
            network += MessageBytes.attribute(Int(NL80211_BSS_STATUS.rawValue), MessageBytes.number(status.rawValue))
        }
        message.put(Int(NL80211_ATTR_BSS.rawValue), network)
        return message
    }

    @Test func findsTheNameOfTheJoinedNetworkAmongThoseHeard() {
        let elements: [UInt8] = [221, 2, 9, 9, 0, 4] + Array("home".utf8) + [1, 1, 0x82]
        let joined = Self.heard(status: NL80211_BSS_STATUS_ASSOCIATED, elements: elements)
        #expect(joined.parsed(WirelessParser.joinedNetwork) == "home")
        #expect(Self.heard(status: nil, elements: elements).parsed(WirelessParser.joinedNetwork) == nil)
    }

    @Test(arguments: [[], [0], [0, 9, 65], [221, 200, 1, 2], [0, 0]])
    func elementsCutShortAreNoReasonToStumble(elements: [UInt8]) {
        let name = Self.heard(status: NL80211_BSS_STATUS_ASSOCIATED, elements: elements)
            .parsed(WirelessParser.joinedNetwork)
        #expect(name == (elements == [0, 0] ? "" : nil))
    }

    @Test(arguments: [NL80211_CMD_CONNECT, NL80211_CMD_SET_INTERFACE, NL80211_CMD_ROAM, NL80211_CMD_START_AP])
    func ringsForNewsOfALink(command: nl80211_commands) {
        #expect(Self.interface(command).parsed(WirelessParser.event) == .wireless(index: 7))
    }

    @Test(arguments: [NL80211_CMD_NEW_STATION, NL80211_CMD_NEW_SCAN_RESULTS, NL80211_CMD_FRAME])
    func doesNotRingForTheRest(command: nl80211_commands) {
        #expect(Self.interface(command).parsed(WirelessParser.event) == .skipped(.partial))
    }

    @Test func aMessageCutShortAnywhereIsNoReasonToStumble() {
        let message = Self.interface(NL80211_CMD_NEW_INTERFACE, type: 2, ssid: Array("net".utf8))
        for length in 16..<message.bytes.count {
            var header = message.bytes
            header.replaceSubrange(0..<4, with: MessageBytes.number(UInt32(length)))
            header.withUnsafeMutableBytes { bytes in
                let cut = bytes.baseAddress!.assumingMemoryBound(to: nlmsghdr.self)
                _ = WirelessParser.event(from: cut)
                _ = WirelessParser.link(from: cut)
                _ = WirelessParser.peer(from: cut)
                _ = WirelessParser.family(from: cut)
                _ = WirelessParser.joinedNetwork(from: cut)
            }
        }
    }
}
