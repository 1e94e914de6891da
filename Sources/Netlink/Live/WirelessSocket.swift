import CNetlink
import Glibc

/// The wireless doorbell, and what nl80211 says of every link: asked once, then again when it rings or a new link appears.
///
/// nl80211 may be absent, and come later with a module: the controller of generic netlink, which every kernel has, says so.
struct WirelessSocket: ~Copyable {
    private let queue: DoorbellQueue
    private var requests: WirelessRequests?
    /// `nil` when it has to be asked.
    private var modes: [Int32: DeviceFacts.WirelessMode]?
    /// The links that were there when it was asked, wireless or not.
    private var known: Set<Int32> = []

    init() throws(NetlinkError) {
        let socket = try NetlinkSocket.joinedController()
        let requests = try WirelessRequests()
        try Self.join(socket, requests)
        queue = DoorbellQueue(socket)
        self.requests = requests
    }

    private static func join(
        _ socket: borrowing NetlinkSocket, _ requests: borrowing WirelessRequests?
    ) throws(NetlinkError) {
        switch requests {
        case .none: break
        case .some(let requests): try socket.joinWireless(requests.family)
        }
    }

    var descriptor: CInt { queue.socket.descriptor }

    mutating func drain(into events: inout [NetlinkEvent]) throws(NetlinkError) -> Bool {
        let before = events.count
        let id = requests?.family.id
        var hasFamilyChanged = false
        let isUnfinished = try queue.drain(into: &events, overrun: .wireless(index: nil)) { message in
            if message.pointee.nlmsg_type == id { return WirelessParser.event(from: message) }
            switch WirelessParser.news(from: message) {
            case .came(let family): hasFamilyChanged = hasFamilyChanged || family.name == WirelessParser.familyName
            case .went(let name): hasFamilyChanged = hasFamilyChanged || name == WirelessParser.familyName
            case nil: return .skipped(.unknown)
            }
            return .skipped(.partial)
        }
        if hasFamilyChanged {
            requests = try WirelessRequests()
            try Self.join(queue.socket, requests)
            events.append(.wireless(index: nil))
        }
        let hasNews = events[before...].contains { if case .wireless = $0 { true } else { false } }
        if hasNews { modes = nil }
        return isUnfinished
    }

    /// Takes note that all links have been listed: what is asked from now on is about these.
    mutating func links(are links: [LinkMessage]) {
        modes = nil
        known = Set(links.map(\.index))
    }

    /// `nil` if the link is not wireless, or the kernel can't be asked.
    mutating func mode(of link: LinkMessage) -> DeviceFacts.WirelessMode? {
        guard requests != nil else { return nil }
        // Wireless links are no virtual ones, so a host that makes a container a second does not ask as often.
        if link.kind == nil, known.insert(link.index).inserted { modes = nil }
        if let modes { return modes[link.index] }
        // Where the question fails, the rest of the evidence has to do until the doorbell rings again.
        let links = (try? requests?.links()) ?? []
        let asked = Dictionary(links.map { ($0.index, $0.mode) }, uniquingKeysWith: { first, _ in first })
        modes = asked
        return asked[link.index]
    }

    mutating func details(of index: Int32) -> WirelessDetails? {
        guard modes?[index] != nil else { return nil }
        // For people who want to know more than the path rests on: no answer is an answer, too.
        return (try? requests?.details(of: index)) ?? nil
    }
}

extension NetlinkSocket {
    /// A socket that hears of generic netlink families that come and go.
    static func joinedController() throws(NetlinkError) -> NetlinkSocket {
        let socket = try NetlinkSocket(protocol: NETLINK_GENERIC)
        // The group `notify` of the controller is the only one whose number is the same everywhere: that of its family.
        try socket.join(group: GENL_ID_CTRL)
        return socket
    }

    /// Joins the groups of nl80211 that tell of changes to links.
    func joinWireless(_ family: GenericFamily) throws(NetlinkError) {
        for name in [NL80211_MULTICAST_GROUP_CONFIG, NL80211_MULTICAST_GROUP_MLME] {
            if let group = family.groups[name] { try join(group: group) }
        }
    }
}
