import Dispatch
import Reachability
import Testing

/// Sees every path that a monitor publishes, in order.
struct Watcher: ~Copyable {
    let monitor: ReachabilityMonitor
    private let task: Task<Void, Never>
    private let continuation: AsyncStream<NetworkPath>.Continuation
    private var paths: AsyncStream<NetworkPath>.Iterator
    /// All that has been taken so far.
    private(set) var seen: [NetworkPath] = []

    /// Starts the monitor if need be.
    init(_ monitor: ReachabilityMonitor) throws {
        try monitor.start()
        self.monitor = monitor
        let (stream, continuation) = AsyncStream<NetworkPath>.makeStream()
        self.continuation = continuation
        paths = stream.makeAsyncIterator()
        // On the reader's own thread, so that nothing can be missed.
        task = Task(executorPreference: monitor.readerExecutor) {
            for await path in monitor { continuation.yield(path) }
            continuation.finish()
        }
    }

    deinit {
        task.cancel()
        monitor.stop()
    }

    /// Nothing takes that long, not even on a machine that has better things to do.
    private static let patience = 60.0

    /// Waits for a path like that, which need not be the next one.
    @discardableResult
    mutating func expect(
        _ what: String, where isRight: (NetworkPath) -> Bool, _ location: SourceLocation = #_sourceLocation
    ) async throws -> NetworkPath {
        let deadline = DispatchWorkItem { [continuation] in continuation.finish() }
        DispatchQueue.global().asyncAfter(deadline: .now() + Self.patience, execute: deadline)
        defer { deadline.cancel() }
        while let path = await paths.next(isolation: #isolation) {
            seen.append(path)
            if isRight(path) { return path }
        }
        let last = seen.last.map(\.description) ?? "nothing"
        Issue.record("waited for \(what), and the last path was: \(last)", sourceLocation: location)
        throw CancellationError()
    }

    @discardableResult
    mutating func expect(
        _ status: NetworkPath.Status, _ reason: NetworkPath.OfflineReason? = nil, over name: String? = nil,
        _ location: SourceLocation = #_sourceLocation
    ) async throws -> NetworkPath {
        try await expect(
            "\(status) \(reason.map(String.init(describing:)) ?? "") \(name ?? "")",
            where: { path in
                path.status == status && (reason == nil || path.reason == reason)
                    && (name == nil || path.interface?.name == name)
            }, location)
    }

    /// Checks that changes are none to a program.
    mutating func expectNothing(
        from changes: () throws -> Void, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        let before = monitor.statistics.changes
        let path = monitor.currentPath
        try changes()
        // The messages are in the queue by now, and a fresh look comes after them.
        let now = try await monitor.refresh()
        #expect(now == path, sourceLocation: location)
        #expect(monitor.statistics.changes == before, sourceLocation: location)
    }

    /// The statuses so far, without repetitions.
    var statuses: [NetworkPath.Status] {
        seen.map(\.status).reduce(into: []) { if $0.last != $1 { $0.append($1) } }
    }
}
