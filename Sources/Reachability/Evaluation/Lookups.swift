import Netlink

/// The questions to the routing tables about one destination. They travel in one datagram, and what can't matter is not asked: this
/// is most of what an event costs.
struct Questions: Sendable, Hashable {
    let probes: [IPAddress]
    /// How many of the probes, from the first on, have their table entry asked for as well: it has all legs of a multipath route,
    /// of which the way that a packet takes is but one.
    let entries: Int
    /// The links that are asked for one by one: is there a way out over them, too?
    let candidates: [Int32]

    /// - Parameter isThorough: asks for more than a path takes, for people who want to know.
    init(_ destination: Destination, _ state: MachineState, isThorough: Bool = false) {
        switch destination {
        case .anywhere(let all):
            // A family that has no address to send from has no way out, whatever its routes say.
            probes = all.filter { state.hasUsableAddress($0.family) }
        case .address(let address):
            probes = [address]
        }
        // Where a single link could be sent from no other can carry anything. All that further legs could add is a gateway.
        let isAlone = state.candidates.count <= 1
        entries = isAlone && !isThorough ? min(1, probes.count) : probes.count
        candidates = isAlone ? [] : state.candidates
    }

    var queries: [RouteQuery] {
        probes.map { RouteQuery(destination: $0) }
            + probes.prefix(entries).map { RouteQuery(destination: $0, matchesEntry: true) }
            + candidates.flatMap { link in probes.map { RouteQuery(destination: $0, link: link, matchesEntry: true) } }
    }
}

/// The answers to one round of questions.
struct Lookups: Sendable, Hashable {
    private let questions: Questions
    private let answers: [RouteAnswer]

    /// - Parameter answers: one for each of the questions' queries, in that order.
    init(_ questions: Questions, _ answers: [RouteAnswer]) {
        self.questions = questions
        self.answers = answers
    }

    var probes: [IPAddress] { questions.probes }
    var candidates: [Int32] { questions.candidates }

    /// The links that packets are handed to.
    var answeredLinks: Set<Int32> {
        Set(answers.prefix(probes.count).compactMap { $0.unicastRoute?.hops.first?.index })
    }

    /// The way a packet would take.
    func way(_ probe: Int) -> RouteAnswer { answers[probe] }

    /// The entry of the table behind it, with all its legs; `nil` where there is none, or it was not asked for.
    func entry(_ probe: Int) -> RouteMessage? {
        probe < questions.entries ? answers[probes.count + probe].unicastRoute : nil
    }

    /// The entry for a way out over a candidate, if there is one.
    func entry(_ probe: Int, over candidate: Int) -> RouteMessage? {
        answers[probes.count * (1 + candidate) + questions.entries + probe].unicastRoute
    }
}

extension RouteAnswer {
    fileprivate var unicastRoute: RouteMessage? {
        if case .route(let route) = self, route.kind == .unicast { route } else { nil }
    }
}
