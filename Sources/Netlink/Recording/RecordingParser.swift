import CNetlink
import Glibc

/// What one message of a recording says to whoever keeps a copy of the kernel's state, and to a monitor.
package struct RecordedEntry: Sendable, Hashable {
    /// What is now another way than before.
    package enum Change: Sendable, Hashable {
        case link(LinkMessage)
        case linkGone(index: Int32)
        case address(AddressMessage)
        case addressGone(AddressMessage)
        case route(RouteChange)
        case rule(RuleMessage, isGone: Bool)
        case nexthop(NexthopMessage, isGone: Bool)
        case wireless(WirelessLink)
        case wirelessGone(index: Int32)
        case note(RecordingNote)
    }

    /// `nil` where the message is no news.
    package var change: Change?
    /// What the doorbell of a monitor rang; `nil` for what comes from elsewhere.
    package var event: NetlinkEvent?

    package init(change: Change? = nil, event: NetlinkEvent? = nil) {
        self.change = change
        self.event = event
    }
}

/// Turns recorded datagrams into what they say. It has a memory, for the number of nl80211 is said once.
package struct RecordingParser {
    private var wirelessFamily: UInt16?

    package init() {}

    package mutating func entries(of datagram: RecordedDatagram) -> [RecordedEntry] {
        var entries: [RecordedEntry] = []
        datagram.forEachMessage { message in
            switch datagram.family {
            case .route: entries.append(routing(message))
            case .generic: entries.append(generic(message))
            case .program:
                entries.append(RecordedEntry(change: RecordingNote(message: message).map { .note($0) }))
            }
        }
        return entries
    }

    private func routing(_ message: UnsafeMutablePointer<nlmsghdr>) -> RecordedEntry {
        let event = MessageParser.event(from: message)
        let type = Int(message.pointee.nlmsg_type)
        let change: RecordedEntry.Change? =
            switch event {
            case .link(let link): .link(link)
            case .linkGone(let index): .linkGone(index: index)
            case .address(let address): .address(address)
            case .addressGone(let address): .addressGone(address)
            case .routing(.route): TableParser.route(from: message).map { .route($0) }
            case .routing(.rule): TableParser.rule(from: message).map { .rule($0, isGone: type == RTM_DELRULE) }
            case .routing(.nexthop):
                TableParser.nexthop(from: message).map { .nexthop($0, isGone: type == RTM_DELNEXTHOP) }
            default: nil
            }
        return RecordedEntry(change: change, event: event)
    }

    private mutating func generic(_ message: UnsafeMutablePointer<nlmsghdr>) -> RecordedEntry {
        switch WirelessParser.news(from: message) {
        case .came(let family):
            if family.name == WirelessParser.familyName { wirelessFamily = family.id }
            return RecordedEntry()
        case .went: return RecordedEntry()
        case nil: break
        }
        guard message.pointee.nlmsg_type == wirelessFamily else { return RecordedEntry() }
        let event = WirelessParser.event(from: message)
        guard case .wireless(let index) = event else { return RecordedEntry(event: event) }
        if WirelessParser.saysThatTheLinkWent(message), let index {
            return RecordedEntry(change: .wirelessGone(index: index), event: event)
        }
        return RecordedEntry(change: WirelessParser.link(from: message).map { .wireless($0) }, event: event)
    }
}
