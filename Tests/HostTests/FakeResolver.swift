import Reachability
import Synchronization

/// A resolver that answers when the test says so.
final class FakeResolver: HostResolver {
    struct Question: Sendable {
        let name: String
        let answer: @Sendable ([IPAddress]) -> Void

        func answer(_ addresses: String...) { answer(addresses.compactMap { IPAddress($0) }) }
    }

    let questions: AsyncStream<Question>
    private let asked: AsyncStream<Question>.Continuation
    private let counter = Atomic(0)

    init() { (questions, asked) = AsyncStream.makeStream() }

    /// How many questions there have been.
    var count: Int { counter.load(ordering: .acquiring) }

    func resolve(_ name: String, answer: @escaping @Sendable ([IPAddress]) -> Void) {
        counter.add(1, ordering: .acquiringAndReleasing)
        asked.yield(Question(name: name, answer: answer))
    }
}
