import Glibc

/// A moment of the wall clock, in milliseconds since 1970, because freshness and age outlive the process and the boot.
///
/// The wall clock can be set back. Nothing here breaks then: an entry from "the future" counts as stale, never as
/// expired.
public struct WallTime: Hashable, Comparable, Sendable {
    /// Milliseconds since the start of 1970, UTC.
    public let milliseconds: Int64

    /// That moment.
    public init(milliseconds: Int64) {
        self.milliseconds = milliseconds
    }

    /// The present moment by CLOCK_REALTIME.
    public static func now() -> WallTime {
        var time = timespec()
        // Cannot fail: the clock exists on every Linux and the pointer is valid.
        clock_gettime(CLOCK_REALTIME, &time)
        return WallTime(milliseconds: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    /// The moment that much later; the last one that can be told, if it is beyond that.
    public func advanced(by duration: Duration) -> WallTime {
        let (sum, overflow) = milliseconds.addingReportingOverflow(duration.wholeMilliseconds)
        return WallTime(milliseconds: overflow ? (duration < .zero ? .min : .max) : sum)
    }

    /// Earlier first.
    public static func < (one: WallTime, other: WallTime) -> Bool {
        one.milliseconds < other.milliseconds
    }
}

extension Duration {
    /// Rounded towards zero, and held to what 64 bits can say.
    var wholeMilliseconds: Int64 {
        let (seconds, attoseconds) = components
        let (scaled, overflow) = seconds.multipliedReportingOverflow(by: 1000)
        if overflow { return seconds < 0 ? .min : .max }
        let (sum, carry) = scaled.addingReportingOverflow(attoseconds / 1_000_000_000_000_000)
        return carry ? (seconds < 0 ? .min : .max) : sum
    }
}
