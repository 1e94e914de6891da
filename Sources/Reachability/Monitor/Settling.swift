extension ReachabilityMonitor {
    /// Paths for user interfaces: a change is reported once it has lasted; a costlier network at once.
    ///
    /// A roam from one access point to another, 0.3 s without carrier, is no change at all in such a stream. A change from one way
    /// out to a costlier one is passed on at once, because a program that goes on as before would spend money; so is the first path. A
    /// change to offline, or back, has to hold like any other.
    ///
    /// - Parameters:
    ///   - duration: how long the status has to hold.
    ///   - clock: what measures it; tests give their own.
    /// - Returns: a stream that starts the monitor as iterating over the monitor does.
    public func paths(
        settling duration: Duration, clock: any Clock<Duration> = ContinuousClock()
    ) -> SettledPaths {
        SettledPaths(hub: hub, duration: duration, clock: clock)
    }
}

/// A stream of paths that have lasted: the present one first, then every change that holds.
///
/// Each iteration settles by itself and has room for one element: a slow reader misses states in between, never the last one.
public struct SettledPaths: AsyncSequence, Sendable {
    public typealias Element = NetworkPath

    let hub: Hub
    let duration: Duration
    let clock: any Clock<Duration>

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// The iterator of one subscriber.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private var news: PathNews

        init(_ paths: SettledPaths) {
            let (hub, duration, clock) = (paths.hub, paths.duration, paths.clock)
            let subscription = Subscription<NetworkPath>(
                .bufferingNewest(1), subscribe: { hub.add($0) }, unsubscribe: { hub.remove($0) })
            news = PathNews(subscription) { source, show in await settle(source, for: duration, on: clock, show: show) }
        }

        public mutating func next() async -> NetworkPath? { await next(isolation: nil) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> NetworkPath? {
            await news.next(isolation: actor)
        }
    }
}

/// One task reads the paths, at most one sleeps, and this one decides: so everything happens in an order that a test can know.
private func settle<C: Clock>(
    _ paths: AsyncStream<NetworkPath>, for duration: Duration, on clock: C, show: @Sendable (NetworkPath) -> Void
) async where C.Duration == Duration {
    let (events, sender) = AsyncStream.makeStream(of: SettlingEvent.self)
    await withDiscardingTaskGroup { group in
        group.addTask {
            for await path in paths { sender.yield(.path(path)) }
            sender.finish()
        }
        var settler = Settler<C.Instant>(duration: duration)
        for await event in events {
            let action =
                switch event {
                case .path(let path): settler.take(path, at: clock.now)
                case .alarm: settler.alarm(at: clock.now)
                }
            if let path = action.show { show(path) }
            if let deadline = action.sleepUntil {
                group.addTask {
                    // Cancelled only together with all of this, when nobody waits for the alarm any more.
                    try? await clock.sleep(until: deadline, tolerance: nil)
                    sender.yield(.alarm)
                }
            }
        }
        group.cancelAll()
    }
}

private enum SettlingEvent: Sendable {
    case path(NetworkPath)
    case alarm
}

/// Decides what is passed on and when. Knows no clock.
struct Settler<Instant: InstantProtocol> where Instant.Duration == Duration {
    struct Action {
        var show: NetworkPath?
        var sleepUntil: Instant?
    }

    private let duration: Duration
    private var shown: NetworkPath?
    private var pending: (path: NetworkPath, due: Instant)?
    /// There is an alarm under way, so that there is never more than one.
    private var isAlarmSet = false

    init(duration: Duration) { self.duration = duration }

    mutating func take(_ path: NetworkPath, at now: Instant) -> Action {
        guard let shown, !path.isCostlier(than: shown) else { return show(path) }
        if path == shown {
            pending = nil
            return Action()
        }
        // What has to hold is the status: details that change on the way, such as the reason for being offline, start nothing anew.
        let due = pending.flatMap { $0.path.status == path.status ? $0.due : nil } ?? now.advanced(by: duration)
        pending = (path, due)
        return sleepIfNeeded(until: due)
    }

    mutating func alarm(at now: Instant) -> Action {
        isAlarmSet = false
        guard let pending else { return Action() }
        return pending.due <= now ? show(pending.path) : sleepIfNeeded(until: pending.due)
    }

    private mutating func show(_ path: NetworkPath) -> Action {
        shown = path
        pending = nil
        return Action(show: path)
    }

    private mutating func sleepIfNeeded(until due: Instant) -> Action {
        if isAlarmSet { return Action() }
        isAlarmSet = true
        return Action(sleepUntil: due)
    }
}

extension NetworkPath {
    /// Both are ways out, and this one costs more.
    fileprivate func isCostlier(than other: NetworkPath) -> Bool {
        guard isOnline, other.isOnline else { return false }
        func cost(_ path: NetworkPath) -> [Int] {
            [path.isExpensive ? 1 : 0, path.status.costRank, path.isConstrained ? 1 : 0]
        }
        return cost(other).lexicographicallyPrecedes(cost(self))
    }
}
