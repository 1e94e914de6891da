import Netlink

/// The conversation with the kernel and what is known from it. Whoever holds the lock around it uses it, one at a time.
struct Engine {
    private let configuration: ReachabilityMonitor.Configuration
    private let feed: any NetlinkFeed
    private var conversation: any NetlinkConversation
    private var state: MachineState
    private var destinations: [IPAddress: Int] = [:]
    private var events: [NetlinkEvent] = []
    private var needsSnapshot = false
    private var failure: NetlinkError?
    /// Turns in a row that left something waiting.
    private var unfinishedTurns = 0
    private(set) var statistics: ReachabilityMonitor.Statistics

    /// Opens the conversation, takes the first snapshot, and asks for the first path.
    init(
        _ configuration: ReachabilityMonitor.Configuration, _ feed: any NetlinkFeed,
        continuing statistics: ReachabilityMonitor.Statistics
    ) throws(NetlinkError) {
        self.statistics = statistics
        self.configuration = configuration
        self.feed = feed
        conversation = try feed.open(watching: configuration.probes)
        state = MachineState(rules: configuration.rules)
        try takeSnapshot()
    }

    var doorbells: [CInt] { conversation.doorbells }

    /// How long to wait for a doorbell at most; `nil` while there is nothing to wait for but doorbells.
    var patience: Duration? {
        conversation.deafness != nil || failure != nil || needsSnapshot ? configuration.pollInterval : nil
    }

    // MARK: Turns

    private static let patienceWithFloods = 8

    /// Takes in what the doorbells brought. Afterwards, if there is a cause, the path may have changed.
    ///
    /// Something may be left at a doorbell that many were waiting at; then it goes on ringing.
    mutating func turn(ringing: [CInt], poll: Bool, refresh: Bool) -> Cause {
        do throws(NetlinkError) {
            var cause: Cause = []
            if failure != nil {
                try reopen()
                cause.insert(.failure)
            }
            var isUnfinished = false
            events.removeAll(keepingCapacity: true)
            for doorbell in ringing where conversation.doorbells.contains(doorbell) {
                if try conversation.drain(doorbell, into: &events) { isUnfinished = true }
            }
            for event in events { cause.formUnion(take(event)) }
            if poll { cause.insert(.poll) }
            if refresh { cause.insert(.refresh) }
            if !cause.isDisjoint(with: [.overrun, .resume, .poll, .refresh]) { needsSnapshot = true }
            unfinishedTurns = isUnfinished ? unfinishedTurns + 1 : 0
            // After an overrun the kernel goes on losing messages until the queue has been empty, so that comes first; but a
            // flood without an end must not keep the answers for ever.
            if needsSnapshot, unfinishedTurns % Self.patienceWithFloods == 0 {
                try takeSnapshot()
                needsSnapshot = needsSnapshot || isUnfinished
            }
            return cause
        } catch {
            failure = error
            return .failure
        }
    }

    /// The conversation broke off: an unheard-of error on a socket. A new one starts from a new snapshot.
    private mutating func reopen() throws(NetlinkError) {
        conversation = try feed.open(watching: watched)
        try takeSnapshot()
        failure = nil
        statistics.reopenings += 1
    }

    private mutating func takeSnapshot() throws(NetlinkError) {
        let links = try conversation.links()
        let addresses = try conversation.addresses()
        state.replace(
            links: links.elements, addresses: addresses.elements, nameservers: conversation.nameservers(),
            device: conversation.device)
        // Interrupted to the end: what came is used, and the next turn looks again.
        needsSnapshot = links.isInterrupted || addresses.isInterrupted
        if needsSnapshot { statistics.interruptedDumps += 1 }
        statistics.snapshots += 1
    }

    /// What an event changes; empty if it can't have changed an answer.
    private mutating func take(_ event: NetlinkEvent) -> Cause {
        switch event {
        case .link(let link):
            return state.update(link, device: conversation.device) ? .link : []
        case .linkGone(let index):
            return state.removeLink(index) ? .link : []
        case .address(let address):
            return state.update(address) ? .address : []
        case .addressGone(let address):
            return state.remove(address) ? .address : []
        case .routing(.route): return .route
        case .routing(.rule): return .rule
        case .routing(.nexthop): return .nexthop
        case .wireless(let index):
            let indices = index.map { [$0] } ?? Array(state.links.keys)
            let changed = indices.filter { state.refreshDevice($0, device: conversation.device) }
            return changed.isEmpty ? [] : .wireless
        case .resolver:
            return state.update(nameservers: conversation.nameservers()) ? .resolver : []
        case .overrun:
            statistics.overruns += 1
            return .overrun
        case .resumed:
            statistics.resumes += 1
            return .resume
        case .skipped(let reason):
            switch reason {
            case .forged: statistics.forgedMessages += 1
            case .malformed: statistics.malformedMessages += 1
            case .partial, .unknown: statistics.irrelevantMessages += 1
            }
            return []
        }
    }

    // MARK: Asking

    /// Asks the kernel for the present path to a destination.
    mutating func path(to destination: Destination) throws(NetlinkError) -> NetworkPath {
        let candidates = state.candidates.sorted()
        let probes = destination.probes
        let answers = try conversation.lookUp(Lookups.queries(for: probes, candidates: candidates))
        let lookups = Lookups(probes: probes, candidates: candidates, answers: answers)
        statistics.evaluations += 1
        var path = PathEvaluator(state: state, destination: destination, lookups: lookups).path()
        if let deafness = conversation.deafness { path.updates = .polling(because: deafness) }
        return path
    }

    /// The path to everywhere, if it is another one than the last; where the kernel can't be asked, the last one, marked as stale.
    mutating func change(of last: NetworkPath) -> NetworkPath? {
        let path = path(after: last)
        guard path != last else { return nil }
        statistics.changes += 1
        return path
    }

    private mutating func path(after last: NetworkPath) -> NetworkPath {
        do throws(NetlinkError) {
            if let failure { throw failure }
            return try path(to: .anywhere(probes: configuration.probes))
        } catch {
            failure = error
            var path = last
            path.updates = .stale(because: error)
            return path
        }
    }

    private var watched: [IPAddress] { configuration.probes + destinations.keys }

    /// Makes routes that cover an address ring, until ``unwatch(_:)`` has been called as often.
    mutating func watch(_ address: IPAddress) throws(NetlinkError) {
        destinations[address, default: 0] += 1
        if destinations[address] == 1 { try conversation.watch(watched) }
    }

    mutating func unwatch(_ address: IPAddress) {
        guard let count = destinations[address] else { return }
        destinations[address] = count > 1 ? count - 1 : nil
        // A filter that is too wide costs a wake-up now and then; the next change of destinations narrows it.
        if count == 1 { try? conversation.watch(watched) }
    }
}
