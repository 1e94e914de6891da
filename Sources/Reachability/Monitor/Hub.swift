import Netlink
import Synchronization

/// Who listens, what they have been told, and whether there is a session: all that outlives a session.
///
/// Nothing is delivered under its lock, because the handler of a stream that is being cancelled takes it, too. The one exception
/// is the first element of a new stream, sent before anybody has the stream: there is no task to wake and none to be cancelled,
/// and nothing that the reader publishes can come before it.
final class Hub: Sendable {
    let executor = ReaderExecutor()
    private let configuration: ReachabilityMonitor.Configuration
    private let feed: any NetlinkFeed
    /// Held while a session is being opened, so that there is never more than one.
    private let opening = Mutex(())
    private let state = Mutex(State())

    /// What is known of one destination, and who wants to know.
    fileprivate struct Channel {
        var path = NetworkPath.unknown
        var subscribers: [ObjectIdentifier: Subscriber<NetworkPath>] = [:]
        /// Subscribers that are about to be listed.
        var arrivals = 0
        /// The session watches the address, once for the whole channel.
        var isWatched = false

        mutating func join(_ subscriber: Subscriber<NetworkPath>) {
            subscriber.send(path)
            subscribers[ObjectIdentifier(subscriber)] = subscriber
        }
    }

    fileprivate struct State {
        var session: Session?
        /// The program called `start`.
        var isStarted = false
        /// Questions under way, which need the session for as long as they take.
        var questions = 0
        var everywhere = Channel()
        var addresses: [IPAddress: Channel] = [:]
        /// Those who resolve names, to be told of all that can change what names resolve to.
        var resolvers: [ObjectIdentifier: Subscriber<NetworkPath>] = [:]
        var transitions: [ObjectIdentifier: Subscriber<Transition>] = [:]
        var refreshers: [CheckedContinuation<NetworkPath, any Error>] = []
        /// Sessions that are being ended.
        var ending: [Session] = []
        /// Of the sessions that are over.
        var statistics = ReachabilityMonitor.Statistics()

        mutating func add(_ need: Need) {
            switch need {
            case .program: isStarted = true
            case .question: questions += 1
            }
        }

        mutating func remove(_ need: Need) {
            switch need {
            case .program: isStarted = false
            case .question: questions -= 1
            }
        }

        /// Takes the session out; its counts stay in sight until they are added to those of the sessions before it.
        mutating func takeSession() -> Session? {
            guard let session else { return nil }
            self.session = nil
            ending.append(session)
            return session
        }

        /// Takes the session out if nobody needs it.
        mutating func takeSessionIfIdle() -> Session? {
            let isNeeded =
                isStarted || questions > 0 || !everywhere.subscribers.isEmpty || !addresses.isEmpty
                || !transitions.isEmpty || !resolvers.isEmpty
            return isNeeded ? nil : takeSession()
        }
    }

    /// What a session is kept open for, apart from subscribers.
    fileprivate enum Need {
        /// Until the program calls `stop`.
        case program
        /// Until ``endQuestion()``.
        case question
    }

    /// Who is to be told of a change.
    fileprivate struct Audience {
        var paths: [Subscriber<NetworkPath>] = []
        var logs: [Subscriber<Transition>] = []
    }

    init(configuration: ReachabilityMonitor.Configuration, feed: any NetlinkFeed) {
        self.configuration = configuration
        self.feed = feed
    }

    var currentPath: NetworkPath { state.withLock { $0.everywhere.path } }

    var statistics: ReachabilityMonitor.Statistics {
        let (sessions, past) = state.withLock { ($0.ending + [$0.session].compactMap(\.self), $0.statistics) }
        return sessions.reduce(into: past) { $0 += $1.statistics }
    }

    // MARK: Start and stop

    func start() throws(NetlinkError) { _ = try open(for: .program) }

    /// Opens a session if there is none, and notes the need in the same breath, so that the session can't end in between.
    private func open(for need: Need) throws(NetlinkError) -> Session {
        try opening.withLock { _ throws(NetlinkError) in
            let present = state.withLock { state in
                if state.session != nil { state.add(need) }
                return state.session
            }
            if let present { return present }
            let session = try Session(configuration, feed)
            state.withLock { state in
                state.add(need)
                state.session = session
                state.everywhere.path = session.firstPath
            }
            do throws(NetlinkError) {
                try session.startReader(reportingTo: self)
            } catch {
                finish(takeEverything())
                state.withLock { $0.remove(need) }
                throw error
            }
            return session
        }
    }

    /// Waits for a session that is being opened, so that a stop never overtakes the start before it.
    func stop() { finish(opening.withLock { _ in takeEverything() }) }

    private func takeEverything() -> State {
        state.withLock { state in
            let old = state
            _ = state.takeSession()
            state.isStarted = false
            state.everywhere.subscribers = [:]
            state.addresses = [:]
            state.transitions = [:]
            state.resolvers = [:]
            state.refreshers = []
            return old
        }
    }

    private func finish(_ old: State) {
        for channel in [old.everywhere] + old.addresses.values {
            for subscriber in channel.subscribers.values { subscriber.finish() }
        }
        for subscriber in old.transitions.values { subscriber.finish() }
        for subscriber in old.resolvers.values { subscriber.finish() }
        for refresher in old.refreshers { refresher.resume(throwing: CancellationError()) }
        end(old.session)
    }

    /// The monitor itself has gone; those who still iterate may go on.
    func release() {
        end(
            state.withLock { state in
                state.remove(.program)
                return state.takeSessionIfIdle()
            })
    }

    private func end(_ session: Session?) {
        guard let session else { return }
        session.end()
        state.withLock { state in
            state.statistics += session.statistics
            state.ending.removeAll { $0 === session }
        }
    }

    // MARK: Questions

    /// Keeps a session open until ``endQuestion()``.
    func beginQuestion() throws(NetlinkError) -> Session { try open(for: .question) }

    func endQuestion() {
        end(
            state.withLock { state in
                state.remove(.question)
                return state.takeSessionIfIdle()
            })
    }

    /// Has `body` look at the state while there is a session; `false` where there can't be one.
    private func question(_ body: @Sendable (inout State) -> Bool) -> Bool {
        guard (try? beginQuestion()) != nil else { return false }
        defer { endQuestion() }
        return state.withLock { body(&$0) }
    }

    func refresh() async throws -> NetworkPath {
        let session = try beginQuestion()
        defer { endQuestion() }
        return try await withCheckedThrowingContinuation { continuation in
            let isPresent = state.withLock { state in
                guard state.session === session else { return false }
                state.refreshers.append(continuation)
                return true
            }
            if isPresent { session.ring() } else { continuation.resume(throwing: CancellationError()) }
        }
    }

    /// Those who wait for a session's reader to look afresh.
    func takeRefreshers(of session: Session) -> [CheckedContinuation<NetworkPath, any Error>] {
        state.withLock { state in
            guard state.session === session else { return [] }
            defer { state.refreshers = [] }
            return state.refreshers
        }
    }
}

// MARK: - Subscribers to paths

extension Hub {
    /// Sends the present path, then every change.
    func add(_ subscriber: Subscriber<NetworkPath>) {
        let isListed = question { state in
            guard state.session != nil else { return false }
            state.everywhere.join(subscriber)
            return true
        }
        if !isListed { subscriber.finish() }
    }

    /// Sends the present path to an address, then every change.
    func add(_ subscriber: Subscriber<NetworkPath>, to address: IPAddress) {
        guard let session = try? beginQuestion() else { return subscriber.finish() }
        defer { endQuestion() }
        // The channel first: a change that the reader publishes as soon as the address is watched must find it.
        state.withLock { state in
            if state.session === session { state.addresses[address, default: Channel()].arrivals += 1 }
        }
        defer { abandon(address) }
        let path = try? session.watch(address)
        let (isListed, isWatchedTwice) = state.withLock { state -> (Bool, Bool) in
            // A channel of another session knows nothing of this arrival.
            guard state.session === session, var channel = state.addresses[address] else { return (false, false) }
            defer { state.addresses[address] = channel }
            channel.arrivals -= 1
            guard let path else { return (false, false) }
            if channel.path == .unknown { channel.path = path }
            channel.join(subscriber)
            defer { channel.isWatched = true }
            return (true, channel.isWatched)
        }
        if !isListed { subscriber.finish() }
        if isWatchedTwice { session.unwatch(address) }
    }

    func remove(_ subscriber: Subscriber<NetworkPath>) {
        end(
            state.withLock { state in
                state.everywhere.subscribers[ObjectIdentifier(subscriber)] = nil
                return state.takeSessionIfIdle()
            })
    }

    func remove(_ subscriber: Subscriber<NetworkPath>, from address: IPAddress) {
        let wasListed = state.withLock { state in
            state.addresses[address]?.subscribers.removeValue(forKey: ObjectIdentifier(subscriber)) != nil
        }
        if wasListed { abandon(address) }
    }

    /// Stops watching an address that nobody wants to know about any more.
    private func abandon(_ address: IPAddress) {
        let (watcher, idle) = state.withLock { state -> (Session?, Session?) in
            guard let channel = state.addresses[address], channel.subscribers.isEmpty, channel.arrivals == 0 else {
                return (nil, nil)
            }
            state.addresses[address] = nil
            return (channel.isWatched ? state.session : nil, state.takeSessionIfIdle())
        }
        watcher?.unwatch(address)
        end(idle)
    }

    /// Tells everybody. Called by the reader of a session, which no longer counts once it has been replaced.
    func publish(_ changes: [Engine.Change], _ cause: Cause, by session: Session) {
        for change in changes {
            let audience = state.withLock { state in
                state.session === session ? state.take(change) : Audience()
            }
            for subscriber in audience.paths { subscriber.send(change.path) }
            if audience.logs.isEmpty { continue }
            let transition = Transition(from: change.last, to: change.path, cause: cause)
            for subscriber in audience.logs { subscriber.send(transition) }
        }
        if changes.contains(where: { $0.address == nil }) || !cause.isDisjoint(with: [.resolver, .resume]) {
            let (resolvers, path) = state.withLock { state in
                (state.session === session ? Array(state.resolvers.values) : [], state.everywhere.path)
            }
            for subscriber in resolvers { subscriber.send(path) }
        }
    }
}

// MARK: - Those who resolve names

extension Hub {
    /// Sends the present path to everywhere, then again whenever names may resolve to something else: when it changes, when the
    /// name servers do, and after the machine slept.
    func addNews(_ subscriber: Subscriber<NetworkPath>) {
        let isListed = question { state in
            guard state.session != nil else { return false }
            subscriber.send(state.everywhere.path)
            state.resolvers[ObjectIdentifier(subscriber)] = subscriber
            return true
        }
        if !isListed { subscriber.finish() }
    }

    func removeNews(_ subscriber: Subscriber<NetworkPath>) {
        end(
            state.withLock { state in
                state.resolvers[ObjectIdentifier(subscriber)] = nil
                return state.takeSessionIfIdle()
            })
    }
}

extension Hub.State {
    /// Makes the change the present state, and says who is to be told.
    fileprivate mutating func take(_ change: Engine.Change) -> Hub.Audience {
        if let address = change.address {
            addresses[address]?.path = change.path
            return Hub.Audience(paths: addresses[address].map { Array($0.subscribers.values) } ?? [])
        }
        everywhere.path = change.path
        return Hub.Audience(
            paths: Array(everywhere.subscribers.values),
            logs: change.path.status == change.last.status ? [] : Array(transitions.values))
    }
}

// MARK: - Subscribers to transitions

extension Hub {
    /// A stream of transitions begins with the one from `unknown` to the present state.
    func add(_ subscriber: Subscriber<Transition>) {
        let isListed = question { state in
            guard state.session != nil else { return false }
            subscriber.send(Transition(from: .unknown, to: state.everywhere.path, cause: .start))
            state.transitions[ObjectIdentifier(subscriber)] = subscriber
            return true
        }
        if !isListed { subscriber.finish() }
    }

    func remove(_ subscriber: Subscriber<Transition>) {
        end(
            state.withLock { state in
                state.transitions[ObjectIdentifier(subscriber)] = nil
                return state.takeSessionIfIdle()
            })
    }
}
