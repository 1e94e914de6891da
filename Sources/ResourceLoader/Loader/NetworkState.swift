import DownloadPolicy
import Reachability
import Synchronization

/// The path as the loader last heard of it, and a tick for each change.
final class NetworkState: Sendable {
    private let state = Mutex(PathFacts(.unknown))
    private let hub = ChangeHub<Int>()

    var facts: PathFacts { state.withLock { $0 } }

    func set(_ facts: PathFacts) { state.withLock { $0 = facts } }

    /// Ticks for what was set, once the transfers have been told as well.
    func announce() { hub.tickAll() }

    func ticks() -> AsyncStream<Void> { hub.ticks(for: 0) }
}

extension TransferPath {
    /// What transfers need to know of a path. Before anything is known of it, it is taken for an expensive one (rule B1).
    init(_ path: NetworkPath, _ facts: PathFacts) {
        let facts = facts.status == .unknown ? .assumedWhenUnknown : facts
        let link: Link =
            switch facts.status {
            case .wifi: .wifi
            case .wwan: .wwan
            case .wired: .wired
            case .unknown, .offline, .other: .other
            }
        let interface = path.interface.map { "\($0.index)" } ?? ""
        let addresses = (path.gateways + path.sourceAddresses).map(\.description)
        self.init(
            isOnline: facts.status.isOnline, link: link, isExpensive: facts.isExpensive,
            isConstrained: facts.constrained == .yes, isRoaming: facts.roaming == .yes,
            route: ([interface] + addresses).joined(separator: " "))
    }
}

extension TransferPreferences {
    /// What the user's preferences and the budget allow running transfers.
    init(_ preferences: DownloadPreferences, remaining: Int64?, reserve: Int64?) {
        self.init(
            alwaysOriginal: preferences.alwaysDownloadOriginal, allowsRoaming: preferences.allowsRoaming,
            remainingBudget: remaining)
        if let reserve { self.reserve = reserve }
    }
}
