import Synchronization

/// A clock that moves only when a test says so.
///
/// ```swift
/// let clock = ManualClock()
/// // … code under test sleeps on `clock` for two seconds …
/// await clock.waitForSleepers(1)
/// clock.advance(by: .seconds(2))
/// ```
public final class ManualClock: Clock, Sendable {
    /// A moment of a manual clock: the time since it was made.
    public struct Instant: InstantProtocol {
        /// The time since the clock was made.
        public var offset: Duration

        /// - Parameter offset: the time since the clock was made.
        public init(offset: Duration = .zero) { self.offset = offset }

        /// The moment that much later.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        /// The time from this moment to another.
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        /// Whether a moment comes before another.
        public static func < (one: Instant, other: Instant) -> Bool { one.offset < other.offset }
    }

    private struct Sleeper {
        let deadline: Instant
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Waiter {
        let isContent: @Sendable ([Duration]) -> Bool
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var now = Instant()
        var lastNumber = 0
        var sleepers: [Int: Sleeper] = [:]
        /// Cancelled before they could fall asleep.
        var cancelled: Set<Int> = []
        var waiters: [Waiter] = []

        /// Those who wait for such sleepers as there are.
        mutating func takeContentWaiters() -> [Waiter] {
            let deadlines = sleepers.values.map(\.deadline.offset)
            let content = waiters.filter { $0.isContent(deadlines) }
            waiters.removeAll { $0.isContent(deadlines) }
            return content
        }
    }

    private let state = Mutex(State())

    /// A clock at its first moment.
    public init() {}

    /// The present moment of this clock.
    public var now: Instant { state.withLock(\.now) }

    /// The smallest step there can be.
    public var minimumResolution: Duration { .zero }

    /// The tasks that sleep on this clock now.
    public var sleepers: Int { state.withLock(\.sleepers.count) }

    /// Sleeps until the clock has been moved to the deadline.
    ///
    /// - Throws: `CancellationError` when the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        try Task.checkCancellation()
        let number = state.withLock { state in
            state.lastNumber += 1
            return state.lastNumber
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let (isOver, waiters) = state.withLock { state -> (Result<Void, any Error>?, [Waiter]) in
                    if state.cancelled.remove(number) != nil { return (.failure(CancellationError()), []) }
                    if deadline <= state.now { return (.success(()), []) }
                    state.sleepers[number] = Sleeper(deadline: deadline, continuation: continuation)
                    return (nil, state.takeContentWaiters())
                }
                if let isOver { continuation.resume(with: isOver) }
                for waiter in waiters { waiter.continuation.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: number)
                if sleeper == nil { state.cancelled.insert(number) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
        state.withLock { _ = $0.cancelled.remove(number) }
    }

    /// Moves the clock on and wakes those whose deadline has come, the earliest first.
    public func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for number in due.keys { state.sleepers[number] = nil }
            return due.values.sorted { $0.deadline < $1.deadline }
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// Wakes everybody although no time has passed, as a clock may that only promises to sleep about so long.
    public func wakeEarly() {
        let all = state.withLock { state in
            defer { state.sleepers = [:] }
            return state.sleepers.values
        }
        for sleeper in all { sleeper.continuation.resume() }
    }

    /// Waits until at least `count` tasks sleep on this clock.
    public func waitForSleepers(_ count: Int) async { await wait { $0.count >= count } }

    /// Waits until a task sleeps until that moment, which is counted from the making of this clock.
    public func waitForSleeper(until deadline: Duration) async { await wait { $0.contains(deadline) } }

    private func wait(_ isContent: @escaping @Sendable ([Duration]) -> Bool) async {
        await withCheckedContinuation { continuation in
            let waiters = state.withLock { state in
                state.waiters.append(Waiter(isContent: isContent, continuation: continuation))
                return state.takeContentWaiters()
            }
            for waiter in waiters { waiter.continuation.resume() }
        }
    }
}
