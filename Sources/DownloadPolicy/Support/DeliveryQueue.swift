import Synchronization

/// Hands values to streams in the order they were posted, whichever thread gets to do it, without holding a lock
/// meanwhile: a lock that is held while a consumer is woken, and that `onTermination` takes too, deadlocks.
final class DeliveryQueue<Value: Sendable>: Sendable {
    typealias Continuation = AsyncStream<Value>.Continuation

    private struct State {
        var waiting: [(Continuation, Value)] = []
        var isDelivering = false
    }

    private let state = Mutex(State())

    /// Puts a value in line. May be called under the lock that orders the values.
    func post(_ value: Value, to continuation: Continuation) {
        state.withLock { $0.waiting.append((continuation, value)) }
    }

    /// Hands out what is in line, unless another thread is doing so: that one takes this along. Call it without any
    /// lock.
    func deliver() {
        var isMine = false
        while true {
            let batch = state.withLock { state -> [(Continuation, Value)] in
                guard isMine || !state.isDelivering else { return [] }
                let batch = exchange(&state.waiting, with: [])
                isMine = !batch.isEmpty
                state.isDelivering = isMine
                return batch
            }
            guard !batch.isEmpty else { return }
            for (continuation, value) in batch { continuation.yield(value) }
        }
    }
}

/// Puts a value in the place of another and returns that one.
func exchange<Value>(_ place: inout Value, with value: Value) -> Value {
    let old = place
    place = value
    return old
}
