import Glibc

/// The time an engine lives by. Tests inject one that they move by hand.
public protocol TransferClock: Sendable {
    /// Time since a point that stays the same while the engine lives; never goes back.
    func now() -> Duration
    /// Seconds since 1970, for dates that servers name.
    func secondsSince1970() -> Int64
    /// Registers what is to be called whenever time was moved by hand. A clock that runs by itself never calls it.
    func onMove(_ wake: @escaping @Sendable () -> Void)
}

/// The system's clocks: CLOCK_MONOTONIC and CLOCK_REALTIME.
public struct SystemTransferClock: TransferClock {
    /// The system's clocks.
    public init() {}

    /// CLOCK_MONOTONIC.
    public func now() -> Duration {
        let time = Self.read(CLOCK_MONOTONIC)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }

    /// CLOCK_REALTIME.
    public func secondsSince1970() -> Int64 { Int64(Self.read(CLOCK_REALTIME).tv_sec) }

    /// Does nothing: nobody moves these clocks.
    public func onMove(_ wake: @escaping @Sendable () -> Void) {}

    private static func read(_ clock: clockid_t) -> timespec {
        var time = timespec()
        clock_gettime(clock, &time)
        return time
    }
}
