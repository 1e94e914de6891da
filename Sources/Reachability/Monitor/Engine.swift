import Netlink

/// The conversation with the kernel and what is known from it. Whoever holds the lock around it uses it, one at a time.
struct Engine {
    private let configuration: ReachabilityMonitor.Configuration
    private let feed: any NetlinkFeed
    private var conversation: any NetlinkConversation
    private var state: MachineState
    /// The last path to everywhere.
    private(set) var lastPath = NetworkPath.unknown
    private var watches: [IPAddress: Watch] = [:]
    private var memory: Memory?
    private var events: [NetlinkEvent] = []
    private var needsSnapshot = false
    /// What the next turn asks again for, whatever it hears: what was taken in ahead of its message says nothing new any more.
    private var overtaken: Cause = []
    private var failure: NetlinkError?
    /// Why there are doorbells that nobody can wait at; `nil` where there are none. The next turn takes a new look when that changes.
    var deafness: NetlinkError? {
        didSet {
            guard deafness != oldValue else { return }
            // Paths say how changes are learnt of.
            memory = nil
            overtaken.insert(.poll)
        }
    }
    /// Turns in a row that left something waiting.
    private var unfinishedTurns = 0
    private(set) var statistics = ReachabilityMonitor.Statistics()

    /// Opens the conversation, takes the first snapshot, and asks for the first path.
    init(
        _ configuration: ReachabilityMonitor.Configuration, _ feed: any NetlinkFeed
    ) throws(NetlinkError) {
        self.configuration = configuration
        self.feed = feed
        conversation = try feed.open(watching: configuration.probes)
        state = MachineState(rules: configuration.rules)
        try takeSnapshot()
        lastPath = try pathEverywhere()
    }

    /// An address that somebody wants to know the path to.
    private struct Watch {
        var users: Int
        var path: NetworkPath
    }

    /// Where to wait. Nowhere while the conversation is broken: its descriptors might ring without an end.
    var doorbells: [CInt] { failure == nil ? conversation.doorbells : [] }

    /// How long to wait for a doorbell at most; `nil` while there is nothing to wait for but doorbells.
    var patience: Duration? {
        if overtaken.contains(.poll), failure == nil { return .zero }
        return pollingCause != nil || failure != nil || needsSnapshot ? configuration.pollInterval : nil
    }

    /// Why changes can arrive unheard, so that it has to be asked every now and then.
    private var pollingCause: NetlinkError? { conversation.deafness ?? deafness }

    // MARK: Turns

    private static let patienceWithFloods = 8

    /// What one turn came to.
    struct Outcome {
        let cause: Cause
        let changes: [Change]
        /// The path to everywhere, changed or not.
        let path: NetworkPath
    }

    /// Takes in what the doorbells brought and, if that can have changed an answer, asks again.
    ///
    /// Something may be left at a doorbell that many were waiting at; then it goes on ringing.
    mutating func turn(ringing: [CInt], poll: Bool, refresh: Bool) -> Outcome {
        let cause = takeIn(ringing: ringing, poll: poll, refresh: refresh)
        return Outcome(cause: cause, changes: cause.isEmpty ? [] : changes(), path: lastPath)
    }

    private mutating func takeIn(ringing: [CInt], poll: Bool, refresh: Bool) -> Cause {
        do throws(NetlinkError) {
            var cause = overtaken
            overtaken = []
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
        try path(to: destination, after: .unknown)
    }

    private mutating func path(
        to destination: Destination, after last: NetworkPath
    ) throws(NetlinkError) -> NetworkPath {
        try ask { engine throws(NetlinkError) in
            let questions = Questions(destination, engine.state)
            let lookups = Lookups(questions, try engine.lookUp(questions.queries))
            let path = engine.path(to: destination, lookups)
            return (path, path.isEnd(of: last) ? lookups.answeredLinks : [])
        }
    }

    mutating func explanation(of address: IPAddress?) throws(NetlinkError) -> Explanation {
        let destination = address.map { .address($0) } ?? everywhere
        return try ask { engine throws(NetlinkError) in
            let questions = Questions(destination, engine.state, isThorough: true)
            let lookups = Lookups(questions, try engine.lookUp(questions.queries))
            let radios = engine.state.links.keys.compactMap { engine.conversation.wireless($0) }
            let path = engine.path(to: destination, lookups)
            let explainer = Explainer(state: engine.state, lookups: lookups, path: path, radios: radios)
            return (explainer.explanation(), path.isOnline ? [] : lookups.answeredLinks)
        }
    }

    mutating func reach(over index: Int32) throws(NetlinkError) -> InterfaceReach {
        try ask { engine throws(NetlinkError) in
            let questions = Questions(engine.everywhere, engine.state, isThorough: true)
            let lookups = Lookups(questions, try engine.lookUp(questions.queries))
            let reach = InterfaceReach(index, state: engine.state, lookups: lookups)
            return (reach, reach.families.isEmpty ? [index] : [])
        }
    }

    private var everywhere: Destination { .anywhere(probes: configuration.probes) }

    /// Asks a question, and asks it again where the links that are known were behind the routing tables.
    ///
    /// The routing tables answer as of now, the links are known as of the last message that has been read. A link that came up
    /// in between must not read as offline.
    ///
    /// - Parameter question: the answer and, where that is in doubt, the links that packets would be handed to.
    private mutating func ask<Answer>(
        _ question: (inout Engine) throws(NetlinkError) -> (answer: Answer, doubts: [Int32])
    ) throws(NetlinkError) -> Answer {
        let (answer, doubts) = try question(&self)
        return try catchUp(with: doubts) ? try question(&self).answer : answer
    }

    /// Asks about those of some links that are not known to be usable; `true` if one of them is another one by now.
    private mutating func catchUp(with links: [Int32]) throws(NetlinkError) -> Bool {
        let known = state.version
        for index in links where !state.usableLinks.contains(index) {
            if let link = try conversation.link(index) { state.update(link, device: conversation.device) }
        }
        if state.version == known { return false }
        overtaken.insert(.link)
        return true
    }

    private mutating func lookUp(_ queries: [RouteQuery]) throws(NetlinkError) -> [RouteAnswer] {
        statistics.evaluations += 1
        return try conversation.lookUp(queries)
    }

    private func path(to destination: Destination, _ lookups: Lookups) -> NetworkPath {
        let path = PathEvaluator(state: state, destination: destination, lookups: lookups).path()
        return pollingCause.map { path.updated(by: .polling(because: $0)) } ?? path
    }

    /// The path to everywhere, with what is known from the last time: a route that comes and goes over links that stay as they
    /// are brings the same questions, and the same few answers, again and again.
    private mutating func pathEverywhere() throws(NetlinkError) -> NetworkPath {
        let last = lastPath
        return try ask { engine throws(NetlinkError) in
            let (path, lookups) = try engine.askEverywhere()
            return (path, path.isEnd(of: last) ? lookups.answeredLinks : [])
        }
    }

    private mutating func askEverywhere() throws(NetlinkError) -> (path: NetworkPath, lookups: Lookups) {
        let memory =
            memory.flatMap { $0.version == state.version ? $0 : nil } ?? Memory(of: state, Questions(everywhere, state))
        let lookups = Lookups(memory.questions, try lookUp(memory.queries))
        if let known = memory.paths.first(where: { $0.lookups == lookups }) { return (known.path, lookups) }
        let path = path(to: everywhere, lookups)
        self.memory = memory.with(lookups, path)
        return (path, lookups)
    }

    /// What was asked and answered while the state of links and addresses was the same.
    private struct Memory {
        let version: Int
        let questions: Questions
        let queries: [RouteQuery]
        /// The last two: the one that is, and the one it changes to and fro with.
        private(set) var paths: [(lookups: Lookups, path: NetworkPath)] = []

        init(of state: MachineState, _ questions: Questions) {
            version = state.version
            self.questions = questions
            queries = questions.queries
        }

        func with(_ lookups: Lookups, _ path: NetworkPath) -> Memory {
            var memory = self
            memory.paths = memory.paths.suffix(1) + [(lookups, path)]
            return memory
        }
    }

    /// A path that is another one than before: to everywhere, or to an address.
    struct Change {
        let address: IPAddress?
        let last: NetworkPath
        let path: NetworkPath
    }

    /// Asks again for everything that somebody wants to know.
    private mutating func changes() -> [Change] {
        var changes: [Change] = []
        let path = orStale(lastPath) { engine throws(NetlinkError) in try engine.pathEverywhere() }
        if path != lastPath {
            changes.append(Change(address: nil, last: lastPath, path: path))
            lastPath = path
        }
        for (address, watch) in watches {
            let path = orStale(watch.path) { engine throws(NetlinkError) in
                try engine.path(to: .address(address), after: watch.path)
            }
            guard path != watch.path else { continue }
            changes.append(Change(address: address, last: watch.path, path: path))
            watches[address]?.path = path
        }
        statistics.changes += changes.count
        return changes
    }

    /// The answer or, where the kernel can't be asked, the last path, marked as stale.
    private mutating func orStale(
        _ last: NetworkPath, _ ask: (inout Engine) throws(NetlinkError) -> NetworkPath
    ) -> NetworkPath {
        do throws(NetlinkError) {
            if let failure { throw failure }
            return try ask(&self)
        } catch {
            failure = error
            return last.updated(by: .stale(because: error))
        }
    }

    private var watched: [IPAddress] { configuration.probes + watches.keys }

    /// Makes routes that cover an address ring, until ``unwatch(_:)`` has been called as often.
    ///
    /// - Returns: the last path to it.
    mutating func watch(_ address: IPAddress) throws(NetlinkError) -> NetworkPath {
        if let watch = watches[address] {
            watches[address]?.users += 1
            return watch.path
        }
        // The filter first, so that no change is missed between the question and the watch.
        try conversation.watch(watched + [address])
        let path = try path(to: .address(address))
        watches[address] = Watch(users: 1, path: path)
        return path
    }

    mutating func unwatch(_ address: IPAddress) {
        guard let watch = watches[address] else { return }
        watches[address]?.users -= 1
        if watch.users > 1 { return }
        watches[address] = nil
        // A filter that is too wide costs a wake-up now and then; the next change of the watches narrows it.
        try? conversation.watch(watched)
    }
}

extension NetworkPath {
    /// There was a path and is none any more, or there is none to begin with. One that stays away is not asked about again and
    /// again: messages are still to come about a link that is behind.
    fileprivate func isEnd(of last: NetworkPath) -> Bool { !isOnline && last.status != .offline }
}
