package import Reachability
internal import Synchronization

/// Watches how this machine's packets leave it, as Apple's Network framework does.
///
/// ```swift
/// let monitor = NWPathMonitor()
/// monitor.pathUpdateHandler = { path in print(path.status == .satisfied) }
/// monitor.start(queue: .main)
/// ```
///
/// Or, without a queue, `for await path in monitor`. All monitors of a process share one conversation with the kernel, which ends
/// when the last of them is cancelled or goes away. A monitor that nobody keeps a reference to goes away.
///
/// Where the kernel can't be asked, paths are unsatisfied, their `debugDescription` says why, and attempts go on;
/// `ReachabilityMonitor.start()`, of the module Reachability, throws the error.
///
/// All members may be used from any thread; none of them waits for the network.
public final class NWPathMonitor: Sendable {
    private struct State {
        var handler: (@Sendable (NWPath) -> Void)?
        var queue: DispatchQueue?
        var isCancelled = false
        /// What follows the paths, while somebody listens.
        var task: Task<Void, Never>?
        /// Counts these tasks, so that what an earlier one still has to say can be told from news.
        var run = 0
        /// The path that was published last, with its number.
        var last: (path: NWPath, number: Int)?
        /// The path that the handler got last, by number; one that came while there was no handler is kept for the next.
        var delivered = 0
        var iterations: [Int: AsyncStream<NWPath>.Continuation] = [:]
        var lastIteration = 0

        /// - Returns: the task of the run, to be cancelled without the lock: that runs code of others.
        mutating func endRun() -> Task<Void, Never>? {
            run += 1
            defer { task = nil }
            return task
        }
    }

    private let source: PathSource
    private let state = Mutex(State())

    /// A monitor of all interfaces.
    public convenience init() {
        self.init(monitor: .shared, filter: .all)
    }

    /// A monitor that is satisfied only by interfaces of one type. The interface need not be the one the kernel prefers: with
    /// Wi-Fi and a modem up, a monitor that requires `.cellular` is satisfied.
    public convenience init(requiredInterfaceType: NWInterface.InterfaceType) {
        self.init(monitor: .shared, filter: .required(requiredInterfaceType))
    }

    /// A monitor that is not satisfied by interfaces of some types, nor by tunnels over them. When there is no other way out, the
    /// path's `unsatisfiedReason` says so.
    public convenience init(prohibitedInterfaceTypes: [NWInterface.InterfaceType]) {
        self.init(monitor: .shared, filter: .prohibited(Set(prohibitedInterfaceTypes)))
    }

    /// The seam for tests.
    package convenience init(
        monitor: ReachabilityMonitor, requiredInterfaceType: NWInterface.InterfaceType? = nil,
        prohibitedInterfaceTypes: [NWInterface.InterfaceType] = []
    ) {
        let filter: InterfaceFilter =
            if let requiredInterfaceType {
                .required(requiredInterfaceType)
            } else {
                prohibitedInterfaceTypes.isEmpty ? .all : .prohibited(Set(prohibitedInterfaceTypes))
            }
        self.init(monitor: monitor, filter: filter)
    }

    private init(monitor: ReachabilityMonitor, filter: InterfaceFilter) {
        source = PathSource(monitor: monitor, filter: filter)
    }

    deinit { state.withLock { $0.endRun() }?.cancel() }

    // MARK: Paths

    /// The path at this moment, whether or not the monitor has been started; after ``cancel()``, the last one.
    public var currentPath: NWPath {
        let (isCancelled, last) = state.withLock { ($0.isCancelled, $0.last?.path) }
        return isCancelled ? last ?? NWPath(NWPath.Facts()) : source.present()
    }

    /// Called on the queue: with the present path soon after ``start(queue:)``, then with every change. Can be set before or after;
    /// a path that came while there was no handler is given to the next one. ``cancel()`` lets go of it.
    @preconcurrency public var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)? {
        get { state.withLock(\.handler) }
        set {
            state.withLock { state in
                if state.isCancelled { return }
                state.handler = newValue
                // One that a handler has had already goes no further than the queue.
                if newValue != nil, let last = state.last { send(last, state) }
            }
        }
    }

    /// The queue that ``start(queue:)`` was called with; `nil` before.
    public var queue: DispatchQueue? { state.withLock(\.queue) }

    // MARK: Life

    /// Starts calling the handler. Later calls are ignored, and so is one after ``cancel()``.
    ///
    /// - Parameter queue: a serial queue, on which the handler is called.
    public func start(queue: DispatchQueue) {
        state.withLock { state in
            guard state.queue == nil, !state.isCancelled else { return }
            state.queue = queue
            if let last = state.last { send(last, state) }
            follow(&state)
        }
    }

    /// Stops for good: nothing is delivered any more, and iterations end. (Called on another queue than the handler's, it does not
    /// wait for a handler that has been entered already.)
    public func cancel() {
        let (task, iterations) = state.withLock { state in
            state.isCancelled = true
            state.handler = nil
            defer { state.iterations = [:] }
            return (state.endRun(), state.iterations)
        }
        task?.cancel()
        for continuation in iterations.values { continuation.finish() }
    }

    // MARK: Inside

    private func follow(_ state: inout State) {
        guard state.task == nil else { return }
        let (source, run) = (source, state.run)
        let report: @Sendable (Result<NetworkPath, NetlinkError>) -> Void = { [weak self] result in
            self?.publish(source.path(result), run)
        }
        // On the reader's own thread, which saves a hop: what happens there is a short lock, a dispatch, and a lookup at most.
        state.task = Task(executorPreference: source.monitor.readerExecutor) {
            await source.monitor.follow(source.monitor, report: report)
        }
    }

    private func publish(_ path: NWPath, _ run: Int) {
        let iterations = state.withLock { state -> [AsyncStream<NWPath>.Continuation] in
            guard state.run == run, state.last?.path != path else { return [] }
            let last = (path, (state.last?.number ?? 0) + 1)
            state.last = last
            send(last, state)
            return Array(state.iterations.values)
        }
        // Not under the lock, which the handler of an iteration that is being cancelled takes, too.
        for continuation in iterations { continuation.yield(path) }
    }

    /// Sends a path to the queue; under the lock, so that paths come to it in order.
    private func send(_ numbered: (path: NWPath, number: Int), _ state: borrowing State) {
        state.queue?.async { [weak self] in self?.deliver(numbered.path, numbered.number) }
    }

    private func deliver(_ path: NWPath, _ number: Int) {
        let handler = state.withLock { state -> (@Sendable (NWPath) -> Void)? in
            guard let handler = state.handler, number > state.delivered else { return nil }
            state.delivered = number
            return handler
        }
        handler?(path)
    }

    fileprivate func openIteration() -> AsyncStream<NWPath> {
        let (stream, continuation) = AsyncStream.makeStream(of: NWPath.self, bufferingPolicy: .bufferingNewest(1))
        let number = state.withLock { state -> Int? in
            if state.isCancelled { return nil }
            state.lastIteration += 1
            // Nobody has the stream yet, so that nobody can be woken under the lock.
            if let last = state.last { continuation.yield(last.path) }
            state.iterations[state.lastIteration] = continuation
            follow(&state)
            return state.lastIteration
        }
        guard let number else {
            continuation.finish()
            return stream
        }
        continuation.onTermination = { [weak self] _ in self?.closeIteration(number) }
        return stream
    }

    private func closeIteration(_ number: Int) {
        let task = state.withLock { state -> Task<Void, Never>? in
            state.iterations[number] = nil
            guard state.iterations.isEmpty, state.queue == nil, !state.isCancelled else { return nil }
            state.last = nil
            return state.endRun()
        }
        task?.cancel()
    }

    fileprivate var isCancelled: Bool { state.withLock(\.isCancelled) }
}

extension NWPathMonitor: AsyncSequence {
    public typealias Element = NWPath
    public typealias AsyncIterator = Iterator

    /// The present path, then every change, until ``cancel()``. Needs no ``start(queue:)``. Any number of iterations may go on
    /// at the same time; a slow one misses paths in between, never the last one.
    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    /// The iterator of one iteration.
    public struct Iterator: AsyncIteratorProtocol {
        private let monitor: NWPathMonitor
        private var stream: AsyncStream<NWPath>.Iterator
        private var last: NWPath?

        fileprivate init(_ monitor: NWPathMonitor) {
            self.monitor = monitor
            stream = monitor.openIteration().makeAsyncIterator()
        }

        public mutating func next() async -> NWPath? { await next(isolation: nil) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> NWPath? {
            while let path = await stream.next(isolation: actor) {
                // What was still in the buffer is no news any more.
                if monitor.isCancelled { return nil }
                // To a slow reader a change and the change back are none.
                if path == last { continue }
                last = path
                return path
            }
            return nil
        }
    }
}
