import Netlink

/// A stream of paths to a host: the present one first, as soon as the host's name is resolved, then every change.
///
/// Each iteration is a stream of its own with room for one element: a slow reader misses states in between, never the last one.
public struct HostPaths: AsyncSequence, Sendable {
    public typealias Element = NetworkPath

    let hub: Hub
    let host: Host
    let timeout: Duration
    let resolver: any HostResolver
    let clock: any Clock<Duration>

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// The iterator of one subscriber.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private enum Source {
            case address(Paths.AsyncIterator)
            case name(PathNews)
        }

        private var source: Source

        init(_ paths: HostPaths) {
            source =
                if case .address(let address) = paths.host {
                    .address(Paths.AsyncIterator(paths.hub, address))
                } else {
                    .name(PathNews(paths))
                }
        }

        public mutating func next() async -> NetworkPath? { await next(isolation: nil) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> NetworkPath? {
            switch source {
            case .address(var iterator):
                defer { source = .address(iterator) }
                return await iterator.next(isolation: actor)
            case .name(var iterator):
                defer { source = .name(iterator) }
                return await iterator.next(isolation: actor)
            }
        }
    }
}

extension ReachabilityMonitor {
    /// The path to a host, then every change of it.
    ///
    /// A name is resolved on a thread of its own, off every caller's, and again whenever the path to everywhere or the list of name
    /// servers changes, and after the machine slept. Of several addresses, the first with a way out counts, in the order of the
    /// system's resolver (16 of them at most). A host is offline, with the reason ``NetworkPath/OfflineReason/unresolvedName``,
    /// while its name has no address: it does not exist, the servers do not answer in time, or the text is no name at all (empty,
    /// too long, a URL). Where nothing has a way out, the reason is that of the machine. A name that could not be resolved is tried
    /// again every 30 seconds, without waiting for the network to change; a name that was resolved is not asked for again when its
    /// DNS record runs out.
    ///
    /// For an address in text form nobody is asked, as in ``paths(to:)-(IPAddress)``.
    ///
    /// - Parameters:
    ///   - host: a name such as `example.com`, or an address such as `192.0.2.1`. No scheme, port or path.
    ///   - timeout: how long a resolution may take before the name counts as unresolved. A late answer is used when it comes.
    /// - Returns: a stream whose first element comes once the name is resolved, or after `timeout`. It starts the monitor as iterating
    ///   over the monitor does.
    public func paths(to host: String, resolvingWithin timeout: Duration = .seconds(5)) -> HostPaths {
        paths(to: host, resolvingWithin: timeout, resolver: ResolverPool.shared, clock: ContinuousClock())
    }

    /// The seam for tests: any resolver, any clock.
    package func paths(
        to host: String, resolvingWithin timeout: Duration, resolver: any HostResolver, clock: any Clock<Duration>
    ) -> HostPaths {
        HostPaths(hub: hub, host: Host(host), timeout: timeout, resolver: resolver, clock: clock)
    }

    /// The path to a host at this moment: the first element of ``paths(to:resolvingWithin:)``.
    ///
    /// - Throws: ``NetlinkError`` as ``start()`` does.
    /// - Returns: the path; the last known one to everywhere if the monitor is stopped or the task is cancelled meanwhile.
    public func path(
        to host: String, resolvingWithin timeout: Duration = .seconds(5)
    ) async throws(NetlinkError) -> NetworkPath {
        _ = try hub.beginQuestion()
        defer { hub.endQuestion() }
        for await path in paths(to: host, resolvingWithin: timeout) { return path }
        return currentPath
    }
}

extension PathNews {
    /// One iteration over the paths to a name.
    init(_ paths: HostPaths) {
        let hub = paths.hub
        let subscription = Subscription<NetworkPath>(
            .bufferingNewest(1), subscribe: { hub.addNews($0) }, unsubscribe: { hub.removeNews($0) })
        self.init(subscription) { source, show in await HostFollower(paths).run(source, show: show) }
    }
}

/// Does what a tracker decides.
private struct HostFollower {
    private static let retryInterval = Duration.seconds(30)

    private let paths: HostPaths
    private var tracker: HostTracker
    private var watches: [IPAddress: Task<Void, Never>] = [:]
    private var alarm: Task<Void, Never>?
    private let events: AsyncStream<HostEvent>
    private let sender: AsyncStream<HostEvent>.Continuation

    init(_ paths: HostPaths) {
        self.paths = paths
        let isName = paths.host != .nonsense
        tracker = HostTracker(timeout: paths.timeout, retryInterval: isName ? Self.retryInterval : nil)
        (events, sender) = AsyncStream.makeStream(of: HostEvent.self)
    }

    /// Until the news are over, or the task is cancelled.
    consuming func run(_ news: AsyncStream<NetworkPath>, show: @Sendable (NetworkPath) -> Void) async {
        let sender = sender
        let forwarder = Task {
            for await path in news { sender.yield(.news(path)) }
            sender.finish()
        }
        for await event in events {
            let action = tracker.take(event)
            if let path = tracker.path { show(path) }
            perform(action)
            watchAddresses()
        }
        forwarder.cancel()
        alarm?.cancel()
        for watch in watches.values { watch.cancel() }
    }

    private mutating func perform(_ action: HostTracker.Action) {
        let sender = sender
        if let question = action.question {
            if case .name(let name) = paths.host {
                paths.resolver.resolve(name) { sender.yield(.answer($0, question: question)) }
            } else {
                sender.yield(.answer([], question: question))
            }
        }
        guard let setting = action.alarm else { return }
        alarm?.cancel()
        alarm = nil
        if case .after(let duration) = setting {
            let clock = paths.clock
            alarm = Task {
                // A cancelled alarm is one that nobody waits for any more.
                guard (try? await clock.sleep(for: duration)) != nil else { return }
                sender.yield(.alarm)
            }
        }
    }

    private mutating func watchAddresses() {
        for (address, watch) in watches where !tracker.addresses.contains(address) {
            watch.cancel()
            watches[address] = nil
        }
        for address in tracker.addresses where watches[address] == nil {
            let (paths, sender) = (Paths(hub: paths.hub, address: address), sender)
            watches[address] = Task {
                for await path in paths { sender.yield(.path(address, path)) }
            }
        }
    }
}
