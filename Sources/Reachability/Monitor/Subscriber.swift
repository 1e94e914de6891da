import Synchronization

/// The sending end of one iteration.
final class Subscriber<Element: Sendable>: Sendable {
    let continuation: AsyncStream<Element>.Continuation
    private let over = Atomic(false)
    private let dropped = Atomic(0)

    init(_ continuation: AsyncStream<Element>.Continuation) { self.continuation = continuation }

    /// Nothing may arrive any more, not even what is in the buffer.
    var isOver: Bool { over.load(ordering: .acquiring) }

    func send(_ element: Element) {
        if case .dropped = continuation.yield(element) { dropped.add(1, ordering: .relaxed) }
    }

    /// The number of elements dropped since the last call, because the buffer was full.
    func takeDropped() -> Int { dropped.exchange(0, ordering: .relaxed) }

    func finish() {
        over.store(true, ordering: .releasing)
        continuation.finish()
    }
}

/// The receiving end of one iteration; when it goes, the monitor knows.
final class Subscription<Element: Sendable>: Sendable {
    let stream: AsyncStream<Element>
    private let subscriber: Subscriber<Element>
    private let unsubscribe: @Sendable (Subscriber<Element>) -> Void

    /// - Parameters:
    ///   - subscribe: has a hub send to the subscriber.
    ///   - unsubscribe: ends that; called more than once.
    init(
        _ policy: AsyncStream<Element>.Continuation.BufferingPolicy, subscribe: (Subscriber<Element>) -> Void,
        unsubscribe: @escaping @Sendable (Subscriber<Element>) -> Void
    ) {
        self.unsubscribe = unsubscribe
        let (stream, continuation) = AsyncStream.makeStream(of: Element.self, bufferingPolicy: policy)
        self.stream = stream
        let subscriber = Subscriber(continuation)
        self.subscriber = subscriber
        // A cancelled task ends its stream before it lets go of the iterator.
        continuation.onTermination = { _ in unsubscribe(subscriber) }
        subscribe(subscriber)
    }

    deinit { unsubscribe(subscriber) }

    var isOver: Bool { subscriber.isOver }

    func takeDropped() -> Int { subscriber.takeDropped() }
}
