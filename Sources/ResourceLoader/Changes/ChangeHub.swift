import Synchronization

/// Tells any number of subscribers that something about a topic has changed, without saying what.
///
/// A tick carries no state, and at most one is kept for a slow subscriber: whoever wakes asks for the state of that
/// moment. Sending states instead would let two threads deliver theirs in the wrong order and leave a subscriber with
/// the older one.
final class ChangeHub<Topic: Hashable & Sendable>: Sendable {
    private struct Subscribers {
        var next = 0
        var byTopic: [Topic: [Int: AsyncStream<Void>.Continuation]] = [:]
    }

    private let subscribers = Mutex(Subscribers())

    /// Ticks for one topic, from now on. The subscription ends with the stream.
    func ticks(for topic: Topic) -> AsyncStream<Void> {
        let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let number = subscribers.withLock { all in
            all.next += 1
            all.byTopic[topic, default: [:]][all.next] = continuation
            return all.next
        }
        continuation.onTermination = { [weak self] _ in self?.drop(number, topic) }
        return stream
    }

    func tick(_ topics: some Sequence<Topic>) {
        // Collected first: yielding with the lock held deadlocks with a termination, which takes it too.
        let waiting = subscribers.withLock { all in
            topics.flatMap { topic in all.byTopic[topic].map { Array($0.values) } ?? [] }
        }
        for continuation in waiting { continuation.yield() }
    }

    func tickAll() {
        let waiting = subscribers.withLock { all in all.byTopic.values.flatMap(\.values) }
        for continuation in waiting { continuation.yield() }
    }

    /// How many are subscribed to a topic.
    func count(of topic: Topic) -> Int {
        subscribers.withLock { $0.byTopic[topic]?.count ?? 0 }
    }

    private func drop(_ number: Int, _ topic: Topic) {
        subscribers.withLock { all in
            all.byTopic[topic]?[number] = nil
            if all.byTopic[topic]?.isEmpty == true { all.byTopic[topic] = nil }
        }
    }

    /// Ends all subscriptions. For the owner's end: subscribers may hold the hub for longer.
    func finish() {
        let waiting = subscribers.withLock { all in all.byTopic.values.flatMap(\.values) }
        for continuation in waiting { continuation.finish() }
    }
}
