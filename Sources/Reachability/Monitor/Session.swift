import Glibc
import Netlink
import Synchronization
import Threads

/// One run of the monitor: an open conversation with the kernel, and the thread that waits at its doorbells.
final class Session: Sendable {
    /// The lock is held while the kernel is being asked, never while something is delivered. `nil` once the session is over.
    private let engine: Mutex<Engine?>
    private let wake: WakeDescriptor
    private let poller: Mutex<Poller>
    private let isOver = Atomic(false)
    private let lastStatistics = Mutex(ReachabilityMonitor.Statistics())
    /// The path that was there when the session was opened.
    let firstPath: NetworkPath

    init(
        _ configuration: ReachabilityMonitor.Configuration, _ feed: any NetlinkFeed
    ) throws(NetlinkError) {
        wake = try WakeDescriptor()
        let poller = try Poller()
        let engine = try Engine(configuration, feed)
        firstPath = engine.lastPath
        self.engine = Mutex(engine)
        self.poller = Mutex(poller)
    }

    /// Ends the session: descriptors are closed when this returns, the thread ends by itself. It is not waited for, because the
    /// caller may be what the thread is waiting for: a cancellation handler, or a job on the thread itself.
    func end() {
        isOver.store(true, ordering: .releasing)
        wake.ring()
        engine.withLock { engine in
            if let engine { lastStatistics.withLock { $0 = engine.statistics } }
            engine = nil
        }
    }

    /// Of this session alone; after its end, the last ones.
    var statistics: ReachabilityMonitor.Statistics {
        engine.withLock { engine in engine?.statistics ?? lastStatistics.withLock(\.self) }
    }

    /// Has the reader look whether somebody wants something.
    func ring() { wake.ring() }

    /// Asks on the calling thread; `nil` once the session is over.
    func path(to destination: Destination) throws(NetlinkError) -> NetworkPath? {
        try engine.withLock { engine throws(NetlinkError) in try engine?.path(to: destination) }
    }

    /// Asks on the calling thread, and keeps what was said; `nil` once the session is over.
    func explanation(of address: IPAddress?) throws(NetlinkError) -> Explanation? {
        try engine.withLock { engine throws(NetlinkError) in try engine?.explanation(of: address) }
    }

    /// Asks on the calling thread; `nil` once the session is over.
    func reach(over index: Int32) throws(NetlinkError) -> InterfaceReach? {
        try engine.withLock { engine throws(NetlinkError) in try engine?.reach(over: index) }
    }

    /// The present path to an address that is watched from now on; `nil` once the session is over.
    func watch(_ address: IPAddress) throws(NetlinkError) -> NetworkPath? {
        try engine.withLock { engine throws(NetlinkError) in try engine?.watch(address) }
    }

    func unwatch(_ address: IPAddress) { engine.withLock { $0?.unwatch(address) } }

    // MARK: The reader

    /// Starts the thread that reports to `hub`. It keeps both alive until it ends.
    func startReader(reportingTo hub: Hub) throws(NetlinkError) {
        hub.executor.expectReader(wokenBy: wake)
        let error = DedicatedThread.start("reachability") { [self] in read(reportingTo: hub) }
        guard error == 0 else {
            hub.executor.dismissReader(wokenBy: wake)
            throw NetlinkError(.createThread, errno: error)
        }
    }

    private func read(reportingTo hub: Hub) {
        hub.executor.adoptReader(wokenBy: wake)
        // What is left over from a reader before this one has rung its wake-up, or none at all.
        var isBusy = hub.executor.runJobs()
        // Nobody else ever asks for this lock.
        poller.withLock { poller in
            while !isOver.load(ordering: .acquiring), turn(&poller, &isBusy, hub) {}
        }
        hub.executor.dismissReader(wokenBy: wake)
    }

    /// Waits for something to happen, and deals with it; `false` once the session is over.
    private func turn(_ poller: inout Poller, _ isBusy: inout Bool, _ hub: Hub) -> Bool {
        // A broken conversation has no doorbells for a turn, so that those of the next one are taken for new, whatever numbers
        // they have.
        guard let doorbells = engine.withLock({ $0?.doorbells }) else { return false }
        var deafness: NetlinkError?
        do throws(NetlinkError) { try poller.watch([wake.descriptor] + doorbells) } catch { deafness = error }
        let patience = engine.withLock { engine -> Duration? in
            engine?.deafness = deafness
            return engine.map(\.patience) ?? .zero
        }
        let hasTimedOut = poller.wait(for: isBusy ? .zero : patience)

        var refreshers: [CheckedContinuation<NetworkPath, any Error>] = []
        if poller.ringing.contains(wake.descriptor) {
            wake.silence()
            refreshers = hub.takeRefreshers(of: self)
        }
        let isPoll = hasTimedOut && !isBusy
        if isPoll || !refreshers.isEmpty || poller.ringing.contains(where: { $0 != wake.descriptor }) {
            let outcome = engine.withLock { engine in
                engine?.turn(ringing: poller.ringing, poll: isPoll, refresh: !refreshers.isEmpty)
            }
            if let outcome { hub.publish(outcome.changes, outcome.cause, by: self) }
            for refresher in refreshers {
                if let outcome {
                    refresher.resume(returning: outcome.path)
                } else {
                    refresher.resume(throwing: CancellationError())
                }
            }
        }
        isBusy = hub.executor.runJobs()
        return true
    }
}
