/// What the time table makes of a path that changes: which facts fetching goes by, and which facts what is shown goes
/// by.
///
/// | change | acts on | delay |
/// |---|---|---|
/// | to something costlier | fetching | none |
/// | to offline | fetching | none |
/// | to offline | what is displayed | 2 s, cancelled if it is back |
/// | to online, after an outage | fetching | none |
/// | to unmetered | upgrades | 3 s of stability |
/// | flapping (3 changes in 30 s) | upgrades | 5 s, doubling to 60 s |
///
/// A pure value: it is told of changes and of moments, and says when it wants to be told of a moment.
///
/// Choices where the table leaves room:
/// - What has been learned to be costly stays in force until a cheaper path has held: for 3 s, facts are the worst of
///   both (``PathFacts/joined(with:)``), also across an outage. So is the end of a constraint or of roaming, not only
///   of a meter. The return from an outage to what was there before is not cheaper, and nothing waits.
/// - Every change of facts counts for flapping and begins the stability anew, with two exceptions. The first path ever
///   known takes effect at once, offline included. And another network with the same facts is no change, since the
///   gateways of one that has just been joined come in one by one.
/// - While the path flaps, upgrades wait whatever the change was; what is not an upgrade (a first picture, a
///   revalidation of what is shown) does not. The wait doubles with each further change and starts over once there have
///   been fewer than 3 in 30 s.
/// - What a tap asks for never waits for a path to hold.
/// - A path that becomes unknown again is treated like the first one (B1): nothing is fetched for at most 500 ms.
struct PathTiming: Sendable {
    /// How long an unknown path holds everything up (B1).
    static let unknownHold = Duration.milliseconds(500)
    static let offlineGrace = Duration.seconds(2)

    /// Something that waits for the path to hold.
    struct Hold: Sendable, Equatable {
        /// When it has held long enough.
        var until: Duration
        /// Whether upgrades wait even where fetching goes by the path as it is.
        var isForFlapping: Bool
    }

    /// The path as it was last seen.
    private(set) var observed = PathFacts(.unknown)
    /// What fetching goes by.
    private(set) var fetching = PathFacts(.unknown)
    /// What the choice of a placeholder goes by.
    private(set) var displaying = PathFacts(.unknown)
    /// What waits, if anything does.
    private(set) var hold: Hold?

    /// The facts in force when the path was last online.
    private var lastOnline: PathFacts?
    private var hasBeenKnown = false
    private var stability = PathStability()
    private var guessAt: Duration?
    private var showOfflineAt: Duration?

    /// A path of which nothing is known.
    init(at now: Duration) {
        guessAt = now + Self.unknownHold
    }

    /// Whether there is known to be no way out.
    var isOut: Bool { observed.status == .offline }

    /// The next moment at which something changes by itself.
    var nextDeadline: Duration? {
        [guessAt, showOfflineAt, hold?.until].compactMap(\.self).min()
    }

    /// Lets time pass.
    mutating func advance(to now: Duration) {
        if let moment = guessAt, moment <= now {
            guessAt = nil
            // Never cheaper than what was known before, since nothing says that it has become so.
            fetching = lastOnline?.joined(with: .assumedWhenUnknown) ?? .assumedWhenUnknown
            fetching.network = observed.network
            displaying = fetching
        }
        if let moment = showOfflineAt, moment <= now {
            showOfflineAt = nil
            displaying = observed
        }
        if let moment = hold?.until, moment <= now {
            hold = nil
            goBy(observed)
        }
    }

    /// Takes notice of the path.
    mutating func observe(_ facts: PathFacts, at now: Duration) {
        advance(to: now)
        guard facts != observed else { return }
        let isAnotherNetworkOnly = facts == observed.over(facts.network)
        observed = facts
        guard !isAnotherNetworkOnly else {
            fetching.network = facts.network
            displaying.network = facts.network
            lastOnline?.network = facts.network
            return
        }
        let isFirst = !hasBeenKnown
        hasBeenKnown = hasBeenKnown || facts.status != .unknown
        let holdTime = isFirst ? nil : stability.changed(at: now)
        guessAt = nil
        hold = nil
        switch facts.status {
        case .unknown:
            guessAt = now + Self.unknownHold
            showOfflineAt = nil
            fetching = facts
            displaying = facts
        case .offline:
            fetching = facts
            if isFirst {
                displaying = facts
            } else if displaying.status != .offline, showOfflineAt == nil {
                showOfflineAt = now + Self.offlineGrace
            }
        default:
            showOfflineAt = nil
            let joined = lastOnline?.joined(with: facts) ?? facts
            goBy(joined)
            if let holdTime, joined != facts || stability.isFlapping {
                hold = Hold(until: now + holdTime, isForFlapping: stability.isFlapping)
            }
        }
    }

    private mutating func goBy(_ facts: PathFacts) {
        lastOnline = facts
        fetching = facts
        displaying = facts
    }
}

extension PathFacts {
    /// The same facts over another network.
    fileprivate func over(_ network: String?) -> PathFacts {
        var facts = self
        facts.network = network
        return facts
    }

    /// The worst of two paths that are online: the facts of `other`, made no cheaper than these.
    func joined(with other: PathFacts) -> PathFacts {
        var facts = other
        if isExpensive {
            if status.costRank > other.status.costRank { facts.status = status }
            facts.metered = metered.rawValue > other.metered.rawValue ? metered : other.metered
        }
        if constrained == .yes { facts.constrained = .yes }
        if roaming == .yes { facts.roaming = .yes }
        return facts
    }
}
