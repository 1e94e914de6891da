import Netlink
import ReachabilityTestKit
import Synchronization

/// A feed that counts what it is asked.
final class CountingFeed: NetlinkFeed {
    struct Count: Sendable {
        var questions = 0
        var dumps = 0
        /// The destinations whose routes ring, of the last conversation.
        var watched: [IPAddress] = []
        /// A doorbell that is one more than the kernel's.
        var extraDoorbell: CInt?
    }

    private let feed: SimulatedKernel
    private let total = Mutex(Count())

    init(feed: SimulatedKernel) { self.feed = feed }

    var count: Count { total.withLock { $0 } }

    func add(_ change: (inout Count) -> Void) { total.withLock { change(&$0) } }

    func open(watching destinations: [IPAddress]) throws(NetlinkError) -> sending any NetlinkConversation {
        add { $0.watched = destinations }
        return CountingConversation(try feed.open(watching: destinations), self)
    }
}

private final class CountingConversation: NetlinkConversation {
    private let conversation: any NetlinkConversation
    private let feed: CountingFeed

    init(_ conversation: sending any NetlinkConversation, _ feed: CountingFeed) {
        self.conversation = conversation
        self.feed = feed
    }

    var doorbells: [CInt] { conversation.doorbells + [feed.count.extraDoorbell].compactMap(\.self) }
    var deafness: NetlinkError? { conversation.deafness }

    func watch(_ destinations: [IPAddress]) throws(NetlinkError) {
        feed.add { $0.watched = destinations }
        try conversation.watch(destinations)
    }

    func drain(_ doorbell: CInt, into events: inout [NetlinkEvent]) throws(NetlinkError) -> Bool {
        try conversation.drain(doorbell, into: &events)
    }

    func link(_ index: Int32) throws(NetlinkError) -> LinkMessage? { try conversation.link(index) }

    func links() throws(NetlinkError) -> Dump<LinkMessage> {
        feed.add { $0.dumps += 1 }
        return try conversation.links()
    }

    func addresses() throws(NetlinkError) -> Dump<AddressMessage> {
        feed.add { $0.dumps += 1 }
        return try conversation.addresses()
    }

    func lookUp(_ queries: [RouteQuery]) throws(NetlinkError) -> [RouteAnswer] {
        feed.add { $0.questions += queries.count }
        return try conversation.lookUp(queries)
    }

    func device(of link: LinkMessage) -> DeviceFacts { conversation.device(of: link) }
    func nameservers() -> [IPAddress] { conversation.nameservers() }
}
