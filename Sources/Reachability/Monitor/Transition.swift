import Glibc

/// A change of status, for logs.
public struct Transition: Sendable, Hashable {
    /// The path before; `unknown` in the first element of every stream.
    public let from: NetworkPath
    /// The path after.
    public let to: NetworkPath
    /// What made the monitor look.
    public let cause: Cause
    /// When the change was known, after the kernel had been asked.
    public let time: Timestamp
    /// Transitions before this one that the stream had to drop, because nobody read it for so long.
    public internal(set) var droppedBefore = 0

    init(from: NetworkPath, to: NetworkPath, cause: Cause) {
        self.from = from
        self.to = to
        self.cause = cause
        time = .now
    }
}

/// A moment, on the wall and on the clock that never jumps.
public struct Timestamp: Sendable, Hashable {
    /// Nanoseconds since 1970-01-01 UTC (CLOCK_REALTIME).
    public let nanosecondsSinceEpoch: Int64
    /// Nanoseconds of CLOCK_MONOTONIC, which starts with the machine and stands still while it sleeps.
    public let monotonicNanoseconds: Int64

    package init(nanosecondsSinceEpoch: Int64, monotonicNanoseconds: Int64) {
        self.nanosecondsSinceEpoch = nanosecondsSinceEpoch
        self.monotonicNanoseconds = monotonicNanoseconds
    }

    /// Now.
    public static var now: Timestamp {
        func read(_ clock: clockid_t) -> Int64 {
            var time = timespec()
            clock_gettime(clock, &time)
            return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        }
        return Timestamp(
            nanosecondsSinceEpoch: read(CLOCK_REALTIME), monotonicNanoseconds: read(CLOCK_MONOTONIC))
    }
}

extension ReachabilityMonitor {
    /// Each change of status with its cause and time, for logs: each iteration is a stream of its own, and begins with the
    /// transition from `unknown` to the present state.
    ///
    /// Up to 256 transitions wait for a slow reader; then the oldest are dropped, and the next one says how many
    /// (``Transition/droppedBefore``). Starts the monitor as iterating over the monitor itself does.
    public var transitions: Transitions { Transitions(hub: hub) }

    /// The transitions of a monitor.
    public struct Transitions: AsyncSequence, Sendable {
        public typealias Element = Transition

        let hub: Hub

        public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(hub) }

        /// The iterator of one reader.
        public struct AsyncIterator: AsyncIteratorProtocol {
            private let subscription: Subscription<Transition>
            private var stream: AsyncStream<Transition>.Iterator

            init(_ hub: Hub) {
                subscription = Subscription(
                    .bufferingNewest(256), subscribe: { hub.add($0) }, unsubscribe: { [hub] in hub.remove($0) })
                stream = subscription.stream.makeAsyncIterator()
            }

            public mutating func next() async -> Transition? { await next(isolation: nil) }

            public mutating func next(isolation actor: isolated (any Actor)?) async -> Transition? {
                guard var transition = await stream.next(isolation: actor), !subscription.isOver else { return nil }
                transition.droppedBefore = subscription.takeDropped()
                return transition
            }
        }
    }
}
