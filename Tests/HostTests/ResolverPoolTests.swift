import Foundation
import Reachability
import Synchronization
import TestSupport
import Testing

/// A lookup that hangs until it is let go.
private final class Hang: Sendable {
    let began: AsyncStream<String>
    private let begin: AsyncStream<String>.Continuation
    private let gates = Mutex<[String: DispatchSemaphore]>([:])

    init() { (began, begin) = AsyncStream.makeStream() }

    private func gate(_ name: String) -> DispatchSemaphore {
        gates.withLock { gates in
            let gate = gates[name] ?? DispatchSemaphore(value: 0)
            gates[name] = gate
            return gate
        }
    }

    func lookUp(_ name: String) -> [IPAddress] {
        begin.yield(name)
        gate(name).wait()
        return [IPAddress(10, 0, 0, 1)]
    }

    func letGo(_ name: String) { gate(name).signal() }
}

@Suite(.takingTurns, .timeLimit(.minutes(10))) struct ResolverPoolTests {
    @Test func neverHasMoreThreadsThanItsLimit() async {
        let hang = Hang()
        let pool = ResolverPool(limit: 3, lookUp: hang.lookUp)
        let (answers, answered) = AsyncStream<String>.makeStream()
        for number in 0..<10 { pool.resolve("\(number)") { _ in answered.yield("\(number)") } }
        var began = hang.began.makeAsyncIterator()
        var names: Set<String> = []
        for _ in 0..<3 { names.insert(await began.next() ?? "") }
        #expect(pool.threads == 3)
        #expect(names == ["0", "1", "2"])

        hang.letGo("0")
        var answer = answers.makeAsyncIterator()
        #expect(await answer.next() == "0")
        #expect(await began.next() == "3")
        #expect(pool.threads == 3)
        for number in 1..<10 { hang.letGo("\(number)") }
        for _ in 1..<10 { _ = await answer.next() }
    }

    @Test func isNotClosedToOthersByOneNameThatHangs() async {
        let hang = Hang()
        let pool = ResolverPool(limit: 3, lookUp: hang.lookUp)
        for _ in 0..<5 { pool.resolve("stuck") { _ in } }
        let (answers, answered) = AsyncStream<[IPAddress]>.makeStream()
        pool.resolve("other") { answered.yield($0) }
        hang.letGo("other")
        var answer = answers.makeAsyncIterator()
        #expect(await answer.next() == [IPAddress(10, 0, 0, 1)])
        for _ in 0..<5 { hang.letGo("stuck") }
    }

    @Test func answersOnAnotherThreadThanTheCallers() async {
        let caller = pthread_self()
        let isCaller = await withCheckedContinuation { continuation in
            ResolverPool(limit: 1) { _ in [] }.resolve("name") { _ in
                continuation.resume(returning: pthread_equal(pthread_self(), caller) != 0)
            }
        }
        #expect(!isCaller)
    }

    @Test func findsThisMachine() async {
        let addresses = await withCheckedContinuation { continuation in
            ResolverPool.shared.resolve("localhost") { continuation.resume(returning: $0) }
        }
        #expect(!addresses.isEmpty)
        #expect(addresses.allSatisfy { $0.isLoopback })
        #expect(Set(addresses).count == addresses.count)
    }
}
