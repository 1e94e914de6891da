import Netlink

/// The questions to the routing tables about one destination, and the answers. They go in two rounds, each in one datagram, and
/// what can't matter is not asked: this is most of what an event costs.
struct Lookups: Sendable, Hashable {
    let probes: [IPAddress]
    /// For each probe, the way a packet would take.
    private let ways: [RouteAnswer]
    /// For each probe, the table entry behind the way, where it was asked for.
    private var entries: [RouteAnswer?]
    /// The links that were asked for one by one.
    private(set) var candidates: [Int32] = []
    private var entriesOverCandidates: [RouteAnswer] = []

    // MARK: First round

    /// The probes worth a question. A family that has no address to send from has no way out, whatever its routes say; the
    /// path to one address is asked for in any case.
    static func probes(for destination: Destination, _ state: MachineState) -> [IPAddress] {
        switch destination {
        case .anywhere(let probes): probes.filter { state.hasUsableAddress($0.family) }
        case .address(let address): [address]
        }
    }

    static func firstQueries(for probes: [IPAddress]) -> [RouteQuery] { probes.map { RouteQuery(destination: $0) } }

    /// - Parameter answers: those to ``firstQueries(for:)``.
    init(probes: [IPAddress], answers: [RouteAnswer]) {
        self.probes = probes
        ways = answers
        entries = Array(repeating: nil, count: probes.count)
    }

    // MARK: Second round

    /// What to ask once it is known which way packets go.
    struct Further {
        /// Probes whose table entry is asked for: it has all legs of a multipath route, of which the way is but one.
        fileprivate var entries: [Int] = []
        /// Links to ask for one by one: is there a way out over them, too?
        fileprivate var candidates: [Int32] = []

        func queries(for probes: [IPAddress]) -> [RouteQuery] {
            entries.map { RouteQuery(destination: probes[$0], matchesEntry: true) }
                + candidates.flatMap { link in
                    probes.map { RouteQuery(destination: $0, link: link, matchesEntry: true) }
                }
        }
    }

    /// - Parameter isThorough: asks for all entries, for people who want to know.
    func further(_ state: MachineState, isThorough: Bool = false) -> Further {
        let routes = ways.map(\.unicastRoute)
        let answered = Set(routes.compactMap { $0?.hops.first?.index })
        if answered.isEmpty { return Further() }

        // Where no other link is usable, legs can differ in their gateways only, and equal answers have equal entries.
        let isAlone = state.usableLinks.subtracting(answered).isEmpty
        let entries = routes.indices.filter { probe in
            guard let route = routes[probe] else { return false }
            return isThorough || !isAlone || !routes[..<probe].contains { $0?.isSameWay(as: route) ?? false }
        }
        // One link that carries everything need not be asked whether it does.
        let candidates = answered.count == 1 ? state.candidates.subtracting(answered) : state.candidates
        return Further(entries: entries, candidates: candidates.sorted())
    }

    /// - Parameter answers: those to the queries of `further`.
    mutating func add(_ answers: [RouteAnswer], to further: Further) {
        for (probe, answer) in zip(further.entries, answers) { entries[probe] = answer }
        candidates = further.candidates
        entriesOverCandidates = Array(answers.dropFirst(further.entries.count))
    }

    // MARK: Answers

    /// The way a packet would take.
    func way(_ probe: Int) -> RouteAnswer { ways[probe] }

    /// The entry of the table behind it, with all its legs; `nil` where it can't have more legs than the way shows.
    func entry(_ probe: Int) -> RouteMessage? { entries[probe]?.unicastRoute }

    /// The entry for a way out over a candidate, if there is one.
    func entry(_ probe: Int, over candidate: Int) -> RouteMessage? {
        entriesOverCandidates[probes.count * candidate + probe].unicastRoute
    }
}

extension RouteAnswer {
    fileprivate var unicastRoute: RouteMessage? {
        if case .route(let route) = self, route.kind == .unicast { route } else { nil }
    }
}

extension RouteMessage {
    /// Whether packets go to the same next hop, from the same address, by the same table.
    fileprivate func isSameWay(as other: RouteMessage) -> Bool {
        family == other.family && hops == other.hops && preferredSource == other.preferredSource && table == other.table
    }
}
