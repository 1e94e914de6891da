import Netlink
import Synchronization

/// Who listens, what they have been told, and whether there is a session: all that outlives a session.
///
/// Nothing is delivered under its lock, because the handler of a stream that is being cancelled takes it, too.
final class Hub: Sendable {
    let executor = ReaderExecutor()
    private let configuration: ReachabilityMonitor.Configuration
    private let feed: any NetlinkFeed
    /// Held while a session is being opened, so that there is never more than one.
    private let opening = Mutex(())
    private let state = Mutex(State())

    private struct State {
        var session: Session?
        /// The program called `start`.
        var isStarted = false
        /// Questions under way, which need the session for as long as they take.
        var questions = 0
        var path = NetworkPath.unknown
        /// Counts the changes of path, to tell whether one happened in between.
        var version = 0
        var statistics = ReachabilityMonitor.Statistics()
        var paths: [ObjectIdentifier: Subscriber<NetworkPath>] = [:]
        var transitions: [ObjectIdentifier: Subscriber<Transition>] = [:]
        var refreshers: [CheckedContinuation<NetworkPath, any Error>] = []

        var isNeeded: Bool { isStarted || questions > 0 || !paths.isEmpty || !transitions.isEmpty }

        /// Takes the session out if nobody needs it.
        mutating func takeSessionIfIdle() -> Session? {
            if isNeeded { return nil }
            defer { session = nil }
            return session
        }
    }

    init(configuration: ReachabilityMonitor.Configuration, feed: any NetlinkFeed) {
        self.configuration = configuration
        self.feed = feed
    }

    var currentPath: NetworkPath { state.withLock { $0.path } }

    var statistics: ReachabilityMonitor.Statistics {
        let (session, past) = state.withLock { ($0.session, $0.statistics) }
        return session?.statistics ?? past
    }

    // MARK: Start and stop

    func start() throws(NetlinkError) { try open { $0.isStarted = true } }

    /// Opens a session if there is none, and runs `reason` in the same breath, so that the session can't end in between.
    private func open(_ reason: @Sendable (inout State) -> Void) throws(NetlinkError) {
        try opening.withLock { _ throws(NetlinkError) in
            let past = state.withLock { state -> ReachabilityMonitor.Statistics? in
                if state.session == nil { return state.statistics }
                reason(&state)
                return nil
            }
            guard let past else { return }
            let session = try Session(configuration, feed, continuing: past)
            state.withLock { state in
                reason(&state)
                state.session = session
                state.path = session.firstPath
                state.version += 1
            }
            do throws(NetlinkError) {
                try session.startReader(reportingTo: self)
            } catch {
                stop()
                throw error
            }
        }
    }

    func stop() {
        let (session, paths, transitions, refreshers) = state.withLock { state in
            let old = state
            state.session = nil
            state.isStarted = false
            state.paths = [:]
            state.transitions = [:]
            state.refreshers = []
            return (old.session, old.paths.values, old.transitions.values, old.refreshers)
        }
        for subscriber in paths { subscriber.finish() }
        for subscriber in transitions { subscriber.finish() }
        for refresher in refreshers { refresher.resume(throwing: CancellationError()) }
        end(session)
    }

    /// The monitor itself has gone; those who still iterate may go on.
    func release() {
        end(
            state.withLock { state in
                state.isStarted = false
                return state.takeSessionIfIdle()
            })
    }

    private func end(_ session: Session?) {
        guard let statistics = session?.end() else { return }
        state.withLock { $0.statistics = statistics }
    }
}

// MARK: - Subscribers

extension Hub {
    func add(_ subscriber: Subscriber<NetworkPath>) {
        add(subscriber, to: \.paths) { $0 }
    }

    /// A stream of transitions begins with the one from `unknown` to the present state.
    func add(_ subscriber: Subscriber<Transition>) {
        add(subscriber, to: \.transitions) { Transition(from: .unknown, to: $0, cause: .start) }
    }

    func remove<Element>(_ subscriber: Subscriber<Element>) {
        end(
            state.withLock { state in
                state.paths[ObjectIdentifier(subscriber)] = nil
                state.transitions[ObjectIdentifier(subscriber)] = nil
                return state.takeSessionIfIdle()
            })
    }

    /// Sends the present state, then lists the subscriber for what is to come, in an order that nothing can come between.
    private func add<Element>(
        _ subscriber: Subscriber<Element>,
        to list: WritableKeyPath<State, [ObjectIdentifier: Subscriber<Element>]> & Sendable,
        present: (NetworkPath) -> Element
    ) {
        do {
            try open { $0.questions += 1 }
        } catch {
            subscriber.finish()
            return
        }
        defer { endQuestion() }
        while true {
            let (path, version) = state.withLock { ($0.path, $0.version) }
            subscriber.send(present(path))
            let isListed = state.withLock { state -> Bool? in
                if state.session == nil { return nil }
                // Had a change been published in between, the reader's newer path could arrive before this older one.
                guard state.version == version else { return false }
                state[keyPath: list][ObjectIdentifier(subscriber)] = subscriber
                return true
            }
            switch isListed {
            case .some(true): return
            case .some(false): continue
            case .none: return subscriber.finish()
            }
        }
    }

    private func endQuestion() {
        end(
            state.withLock { state in
                state.questions -= 1
                return state.takeSessionIfIdle()
            })
    }

    /// Tells everybody. Called by the reader of a session, which no longer counts once it has been replaced.
    func publish(_ path: NetworkPath, from last: NetworkPath, _ cause: Cause, by session: Session) {
        let audience = state.withLock {
            state -> (paths: [Subscriber<NetworkPath>], transitions: [Subscriber<Transition>])? in
            guard state.session === session else { return nil }
            state.path = path
            state.version += 1
            let isTransition = path.status != last.status
            return (Array(state.paths.values), isTransition ? Array(state.transitions.values) : [])
        }
        guard let audience else { return }
        for subscriber in audience.paths { subscriber.send(path) }
        if audience.transitions.isEmpty { return }
        let transition = Transition(from: last, to: path, cause: cause)
        for subscriber in audience.transitions { subscriber.send(transition) }
    }
}

// MARK: - Questions

extension Hub {
    func refresh() async throws -> NetworkPath {
        try open { $0.questions += 1 }
        defer { endQuestion() }
        return try await withCheckedThrowingContinuation { continuation in
            let session = state.withLock { state in
                if state.session != nil { state.refreshers.append(continuation) }
                return state.session
            }
            if let session { session.ring() } else { continuation.resume(throwing: CancellationError()) }
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
