import Glibc
import Netlink

/// Hears what a kernel says, and puts it into short words: `link eth0 up running`, `gone eth0`, `address eth0 10.1.0.2`,
/// `no address eth0 10.1.0.2`, `route`, `rule`, `nexthop`, `partial`.
final class Listener {
    private let conversation: any NetlinkConversation
    private var names: [Int32: String]
    private(set) var heard: [String] = []

    /// Watches the probes that stand for everywhere, so that routes which cover neither are not heard.
    init(_ bench: any TestBench) throws {
        let destinations = ["8.8.8.8", "198.41.0.4", "2001:503:ba3e::2:30"].compactMap(IPAddress.init)
        conversation = try bench.feed.open(watching: destinations)
        names = Dictionary(uniqueKeysWithValues: try conversation.links().elements.map { ($0.index, $0.name) })
    }

    /// What is said because of `changes`, as far as it is said at once.
    func hear(_ changes: () throws -> Void) throws -> [String] {
        try takeIn()
        heard = []
        try changes()
        try takeIn()
        return heard
    }

    /// Waits until something has been said; `false` after five seconds of silence.
    func wait(for word: String) throws -> Bool {
        while !heard.contains(word) {
            var descriptors = conversation.doorbells.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
            guard poll(&descriptors, nfds_t(descriptors.count), 5000) > 0 else { return false }
            try takeIn()
        }
        return true
    }

    func lookUp(_ destination: String) throws -> RouteAnswer {
        let query = IPAddress(destination).map { RouteQuery(destination: $0) }
        return try query.flatMap { try conversation.lookUp([$0]).first } ?? .refused(errno: EINVAL)
    }

    private func takeIn() throws {
        var events: [NetlinkEvent] = []
        for doorbell in conversation.doorbells { while try conversation.drain(doorbell, into: &events) {} }
        // Other programs change resolv.conf when they please.
        heard += events.filter { $0 != .resolver }.map(words)
    }

    private func words(_ event: NetlinkEvent) -> String {
        func name(_ index: Int32) -> String { names[index] ?? "?" }
        switch event {
        case .link(let link):
            names[link.index] = link.name
            let flags: [(LinkFlags, String)] = [(.up, "up"), (.lowerUp, "carrier"), (.running, "running")]
            let words = flags.filter { link.flags.contains($0.0) }.map { " \($0.1)" }.joined()
            return "link \(link.name)\(words.isEmpty ? " down" : words)"
        case .linkGone(let index): return "gone \(name(index))"
        case .address(let address):
            let isTentative = address.flags.contains(.tentative)
            return "address \(name(address.index)) \(address.address)\(isTentative ? " tentative" : "")"
        case .addressGone(let address): return "no address \(name(address.index)) \(address.address)"
        case .routing(.route): return "route"
        case .routing(.rule): return "rule"
        case .routing(.nexthop): return "nexthop"
        case .wireless: return "wireless"
        case .resolver: return "resolver"
        case .overrun: return "overrun"
        case .resumed: return "resumed"
        case .skipped(let reason): return "\(reason)"
        }
    }
}
