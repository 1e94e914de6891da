import Netlink

/// Watches how this machine's packets leave it, and what they cost.
///
/// ```swift
/// let monitor = ReachabilityMonitor()
/// for await path in monitor {
///     print(path.status)   // the present state first, then every change
/// }
/// ```
///
/// Any number of tasks may iterate at the same time; each gets the present path first, then every change. A task that is slow
/// misses states in between, never the last one, and holds up nobody else. Iterating starts the monitor, and when the last
/// iteration is over its sockets and its thread are freed. ``start()`` keeps it running until ``stop()``; throws if it cannot start.
///
/// No privilege is needed. The monitor sees the network namespace of the thread that starts it. All members may be used from
/// any thread; none of them waits for the network.
public final class ReachabilityMonitor: Sendable, AsyncSequence {
    public typealias Element = NetworkPath

    let hub: Hub

    /// A monitor that has not read anything yet.
    public convenience init(configuration: Configuration = Configuration()) {
        self.init(configuration: configuration, feed: LiveFeed())
    }

    /// The seam for tests: any feed in place of the kernel.
    package init(configuration: Configuration = Configuration(), feed: some NetlinkFeed) {
        hub = Hub(configuration: configuration, feed: feed)
    }

    deinit { hub.release() }

    // MARK: Life

    /// Starts watching, until ``stop()`` or until the monitor goes away. Does nothing if it is started already.
    ///
    /// When it returns, ``currentPath`` is the machine's present path: the kernel has been asked, which takes well under a
    /// millisecond on most machines and no packet on any.
    ///
    /// - Throws: ``NetlinkError`` where the kernel can't be talked to, as in sandboxes that deny netlink or when descriptors are
    ///   used up. Nothing is left half-open, and a later attempt may succeed.
    public func start() throws(NetlinkError) { try hub.start() }

    /// Stops watching: iterations end, and nothing arrives any more once this has returned. Idempotent; may be started again.
    public func stop() { hub.stop() }

    /// Starts, and returns when the task is cancelled or somebody calls ``stop()``: for service runners.
    ///
    /// - Throws: ``NetlinkError`` as ``start()`` does.
    public func run() async throws {
        // Listening comes first, so that a `stop` that follows the start at once finds an iteration to end.
        var paths = makeAsyncIterator()
        try start()
        while await paths.next() != nil {}
        stop()
    }

    // MARK: State

    /// The present path, without waiting; `unknown` until the monitor is started. After ``stop()``, the last one.
    public var currentPath: NetworkPath { hub.currentPath }

    /// What has happened to the conversation with the kernel so far.
    public var statistics: Statistics { hub.statistics }

    /// Asks the kernel afresh for everything, and returns the path that comes of it.
    ///
    /// There is usually no need to, because the kernel sends a notification of every change. Use it where
    /// ``NetworkPath/updates`` says `polling`, or in doubt. Starts the monitor for as long as it takes.
    ///
    /// - Throws: ``NetlinkError`` as ``start()`` does; `CancellationError` if the monitor is stopped meanwhile.
    public func refresh() async throws -> NetworkPath { try await hub.refresh() }

    // MARK: Streams

    /// The present path, then every change; see ``ReachabilityMonitor``.
    ///
    /// Starts the monitor if need be. Where that fails, the iteration is over at once, and ``start()`` says why.
    public func makeAsyncIterator() -> Paths.AsyncIterator { Paths.AsyncIterator(hub, nil) }

    // MARK: Single destinations

    /// The path to one address at this moment: what the routing tables say of it, which need not be what they say of the
    /// Internet. For an address of this machine itself, the path is over loopback, with status `other`.
    ///
    /// Asks the kernel on the calling thread, which takes microseconds; no packet is sent. Starts the monitor for as long as it
    /// takes.
    ///
    /// - Throws: ``NetlinkError`` as ``start()`` does.
    public func path(to address: IPAddress) throws(NetlinkError) -> NetworkPath {
        let session = try hub.beginQuestion()
        defer { hub.endQuestion() }
        return try session.path(to: .address(address)) ?? .unknown
    }

    /// The path to one address, then every change of it. Routes that cover the address ring from then on.
    public func paths(to address: IPAddress) -> Paths { Paths(hub: hub, address: address) }

    /// Runs tasks on the monitor's own reader thread, which saves the hop between threads that a delivery otherwise costs.
    ///
    /// ```swift
    /// Task(executorPreference: monitor.readerExecutor) { for await path in monitor { note(path) } }
    /// ```
    ///
    /// Only for tasks that never block: while one runs, the monitor hears nothing. While the monitor is not running, such tasks run
    /// on the default executor.
    public var readerExecutor: any TaskExecutor { hub.executor }
}
