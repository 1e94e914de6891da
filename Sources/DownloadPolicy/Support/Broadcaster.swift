import Synchronization

/// Hands one changing value to any number of streams.
///
/// Every stream is its own `AsyncStream` (two consumers of one stream would split its elements): the present value
/// first, then every change, of which a slow consumer keeps the newest only. Equal values are not repeated.
///
/// Posting and delivering are two steps, so that an owner can post under the lock that orders its changes and deliver
/// after it has let go.
final class Broadcaster<Value: Sendable & Equatable>: Sendable {
    private struct State {
        var value: Value
        var continuations: [UInt64: AsyncStream<Value>.Continuation] = [:]
        var lastID: UInt64 = 0
    }

    private let state: Mutex<State>
    private let queue = DeliveryQueue<Value>()

    init(_ value: Value) {
        state = Mutex(State(value: value))
    }

    /// The value posted last.
    var value: Value { state.withLock { $0.value } }

    /// How many streams somebody holds.
    var streamCount: Int { state.withLock { $0.continuations.count } }

    /// Takes a value; call ``deliver()`` afterwards, without any lock.
    func post(_ value: Value) {
        state.withLock { state in
            guard state.value != value else { return }
            state.value = value
            for continuation in state.continuations.values { queue.post(value, to: continuation) }
        }
    }

    /// Wakes the consumers of what has been posted.
    func deliver() {
        queue.deliver()
    }

    /// A stream of its own. It keeps `owner` alive for as long as somebody holds the stream or iterates over it.
    func stream(keeping owner: any AnyObject & Sendable) -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream<Value>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let id = state.withLock { state in
            state.lastID += 1
            state.continuations[state.lastID] = continuation
            queue.post(state.value, to: continuation)
            return state.lastID
        }
        continuation.onTermination = { [weak self] _ in
            let removed = self?.state.withLock { $0.continuations.removeValue(forKey: id) }
            // Both go when no lock is held.
            withExtendedLifetime((removed, owner)) {}
        }
        deliver()
        return stream
    }
}
