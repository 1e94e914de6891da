import Netlink

/// Where a path leads: out into the Internet, or to one address.
enum Destination: Sendable, Hashable {
    /// Anywhere: the probes stand for it, two a family, so that one blackholed prefix does not read as offline.
    case anywhere(probes: [IPAddress])
    case address(IPAddress)

    var probes: [IPAddress] {
        switch self {
        case .anywhere(let probes): probes
        case .address(let address): [address]
        }
    }
}

/// The answers of one round of lookups, for one destination.
struct Lookups: Sendable, Hashable {
    /// The links that were asked for one by one, in the order of the queries.
    let candidates: [Int32]
    let probes: [IPAddress]
    private let answers: [RouteAnswer]

    /// All the questions of a round, which travel in one datagram.
    static func queries(for probes: [IPAddress], candidates: [Int32]) -> [RouteQuery] {
        probes.map { RouteQuery(destination: $0) }
            + probes.map { RouteQuery(destination: $0, matchesEntry: true) }
            + candidates.flatMap { link in probes.map { RouteQuery(destination: $0, link: link, matchesEntry: true) } }
    }

    /// - Parameter answers: one for each of ``queries(for:candidates:)``, in that order.
    init(probes: [IPAddress], candidates: [Int32], answers: [RouteAnswer]) {
        self.probes = probes
        self.candidates = candidates
        self.answers = answers
    }

    /// The way a packet would take.
    func way(_ probe: Int) -> RouteAnswer { answers[probe] }

    /// The entry of the table behind it, with all its legs.
    func entry(_ probe: Int) -> RouteAnswer { answers[probes.count + probe] }

    /// The entry for ways out over one candidate.
    func entry(_ probe: Int, over candidate: Int) -> RouteAnswer { answers[probes.count * (2 + candidate) + probe] }
}
