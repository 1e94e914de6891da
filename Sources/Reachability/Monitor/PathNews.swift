/// What one iteration gets of the paths that come in: nothing once the monitor has been stopped, and no path twice in a row.
struct PathNews {
    private let subscription: Subscription<NetworkPath>
    private var stream: AsyncStream<NetworkPath>.Iterator
    private var last: NetworkPath?

    /// The paths as they come.
    init(_ subscription: Subscription<NetworkPath>) {
        self.subscription = subscription
        stream = subscription.stream.makeAsyncIterator()
    }

    /// What is made of the paths by `work`, which runs in a task of its own until they are over or nobody iterates any more.
    init(
        _ subscription: Subscription<NetworkPath>,
        work: @escaping @Sendable (AsyncStream<NetworkPath>, _ show: @Sendable (NetworkPath) -> Void) async -> Void
    ) {
        self.subscription = subscription
        // The task must not keep the subscription, which ends with the iterator.
        let source = subscription.stream
        let (stream, continuation) = AsyncStream.makeStream(of: NetworkPath.self, bufferingPolicy: .bufferingNewest(1))
        self.stream = stream.makeAsyncIterator()
        let task = Task {
            await work(source) { continuation.yield($0) }
            continuation.finish()
        }
        continuation.onTermination = { _ in task.cancel() }
    }

    mutating func next(isolation actor: isolated (any Actor)?) async -> NetworkPath? {
        while let path = await stream.next(isolation: actor) {
            // What was still in the buffer when the monitor was stopped is no news any more.
            if subscription.isOver { return nil }
            // A slow consumer can miss a change and the change back: to it, nothing has happened. The comparison is with what it
            // got last, not with anything older, so that offline in between is never swallowed.
            if path == last { continue }
            last = path
            return path
        }
        return nil
    }
}
