import Glibc
import Netlink
import TestSupport
import Testing

@testable import Reachability

/// The simulated kernel against the real one: the same random changes on both, and after each all questions to both.
@Suite(
    "Simulated against live", .takingTurns, .serialized,
    .enabled(if: LiveBench.isPossible || isEverythingRequired, "needs root and iproute2"),
    .timeLimit(.minutes(10)))
struct DifferentialTests {
    @Test(arguments: [1, 2, 3, 4, 5, 103, 137, 154] as [UInt64]) func answersEveryLookupAsTheKernelDoes(_ seed: UInt64)
        throws
    {
        let simulated = SimulatedBench()
        let live = try LiveBench()
        for bench in [simulated, live] as [any TestBench] {
            for name in RandomCommands.links {
                try bench.nic(name)
                try bench.ip("link set \(name) down")
                try bench.ip("link set \(name) addrgenmode none")
                try bench.ip("link set \(name) up")
            }
        }
        var comparison = try Comparison(simulated, live)
        var commands = RandomCommands(generator: SeededGenerator(seed: seed))
        for (number, name) in RandomCommands.links.enumerated() {
            guard comparison.run("addr add 10.\(number + 1).0.2/24 dev \(name)"),
                comparison.run("addr add 2001:db8:\(number + 1)::2/64 dev \(name) nodad")
            else { return }
        }
        for _ in 0..<150 {
            guard comparison.run(commands.next()), try comparison.agrees() else { return }
        }
        // A sequence of nothing but refusals would prove nothing.
        #expect(comparison.accepted > 50)
    }
}

/// Two kernels that should be alike.
private struct Comparison {
    private let simulated: any TestBench
    private let live: any TestBench
    private let simulatedKernel: any NetlinkConversation
    private let liveKernel: any NetlinkConversation
    private var history: [String] = []
    private(set) var accepted = 0

    private static let destinations = [
        "8.8.8.8", "198.41.0.4", "10.1.0.1", "10.2.0.2", "10.3.0.77", "10.9.0.1", "2001:503:ba3e::2:30",
        "2801:1b8:10::b",
        "2001:db8:1::1", "2001:db8:2::2", "2001:db8:9::1",
    ].compactMap(IPAddress.init)

    init(_ simulated: any TestBench, _ live: any TestBench) throws {
        self.simulated = simulated
        self.live = live
        simulatedKernel = try simulated.feed.open(watching: Self.destinations)
        liveKernel = try live.feed.open(watching: Self.destinations)
    }

    /// `false` where only one of them did as it was told.
    mutating func run(_ command: String) -> Bool {
        let answers = [simulated, live].map { bench -> String? in
            do { try bench.ip(command) } catch { return "\(error)" }
            return nil
        }
        history.append(command + (answers[1] == nil ? "" : "   # refused"))
        if answers[1] == nil { accepted += 1 }
        if (answers[0] == nil) == (answers[1] == nil) { return true }
        Issue.record("one refused: simulated \(answers[0] ?? "did not"), live \(answers[1] ?? "did not")\n\(story)")
        return false
    }

    private var story: String { history.joined(separator: "\n") }

    /// Asks both everything. What the real kernel leaves for later, such as the local route of a new IPv6 address, is waited for.
    func agrees() throws -> Bool {
        var difference = try firstDifference()
        while difference != nil, try liveKernelRings() { difference = try firstDifference() }
        guard let difference else { return true }
        Issue.record("\(difference)\n\(story)")
        return false
    }

    /// Takes in what the kernel has to say; `false` if it has said nothing for a second.
    private func liveKernelRings() throws -> Bool {
        var descriptors = liveKernel.doorbells.map { pollfd(fd: $0, events: Int16(POLLIN), revents: 0) }
        guard poll(&descriptors, nfds_t(descriptors.count), 1000) > 0 else { return false }
        var events: [NetlinkEvent] = []
        for descriptor in descriptors where descriptor.revents != 0 {
            _ = try liveKernel.drain(descriptor.fd, into: &events)
        }
        return true
    }

    private func firstDifference() throws -> String? {
        let ours = try names(of: simulatedKernel)
        let theirs = try names(of: liveKernel)
        // The entry first, then the way, which is over one of its legs.
        let queries = Self.destinations.flatMap { destination in
            ([nil] + RandomCommands.links).flatMap { link in
                [true, false].map { (RouteQuery(destination: destination, matchesEntry: $0), link) }
            }
        }
        let our = try ask(queries, of: simulatedKernel, ours)
        let their = try ask(queries, of: liveKernel, theirs)
        for (number, (query, link)) in queries.enumerated() where our[number] != their[number] {
            // Which leg of several a packet takes is a matter of a hash, or of whose turn it is.
            if !query.matchesEntry, our[number].isAnotherLeg(of: our[number - 1].legs, than: their[number]) { continue }
            return """
                \(query.destination) \(link.map { "oif \($0)" } ?? "") \(query.matchesEntry ? "fibmatch" : "")
                simulated: \(our[number])
                live:      \(their[number])
                """
        }
        return nil
    }

    private func ask(
        _ queries: [(RouteQuery, String?)], of kernel: any NetlinkConversation, _ names: [Int32: String]
    ) throws -> [Answer] {
        let indices = Dictionary(uniqueKeysWithValues: names.map { ($1, $0) })
        let answers = try kernel.lookUp(
            queries.map { query, link in
                var query = query
                query.link = link.flatMap { indices[$0] }
                return query
            })
        return answers.map { Answer($0, names) }
    }

    private func names(of kernel: any NetlinkConversation) throws -> [Int32: String] {
        Dictionary(uniqueKeysWithValues: try kernel.links().elements.map { ($0.index, $0.name) })
    }
}

/// A route answer with names in place of indices.
private struct Answer: Equatable, CustomStringConvertible {
    var errno: CInt?
    var route: RouteMessage?
    var legs: [String] = []

    init(_ answer: RouteAnswer, _ names: [Int32: String]) {
        switch answer {
        case .refused(let errno): self.errno = errno
        case .route(var route):
            legs = route.hops.map { hop in
                "\(names[hop.index] ?? "?") \(hop.gateway?.description ?? "")"
            }
            // IPv6 begins with the leg that the packet would take, which is a matter of a hash.
            .sorted()
            route.hops = []
            self.route = route
        }
    }

    func isAnotherLeg(of legs: [String], than other: Answer) -> Bool {
        guard legs.count > 1, var ours = route, var theirs = other.route else { return false }
        ours.preferredSource = nil
        theirs.preferredSource = nil
        return ours == theirs && self.legs.allSatisfy(legs.contains) && other.legs.allSatisfy(legs.contains)
    }

    var description: String {
        guard let route else { return "error \(errno ?? 0)" }
        return "\(route.kind) \(route.destination?.description ?? "default")/\(route.prefixLength) table \(route.table)"
            + " metric \(route.metric) src \(route.preferredSource?.description ?? "-") nhid \(route.nexthopID ?? 0)"
            + " legs \(legs)"
    }
}
