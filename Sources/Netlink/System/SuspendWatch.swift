import CNetlink
import Glibc

/// Tells when the machine has slept, without asking every now and then.
///
/// A CLOCK_REALTIME timer with TFD_TIMER_CANCEL_ON_SET becomes readable on a resume (timerfd_resume in the kernel) and when
/// somebody sets the clock. The two are told apart by the clocks: only a sleep makes CLOCK_BOOTTIME run ahead of
/// CLOCK_MONOTONIC.
struct SuspendWatch: ~Copyable {
    let descriptor: CInt
    private var asleep: Int64

    init() throws(NetlinkError) {
        let descriptor = timerfd_create(CLOCK_REALTIME, CInt(TFD_NONBLOCK | TFD_CLOEXEC))
        guard descriptor >= 0 else { throw NetlinkError(.watchSuspend, errno: Glibc.errno) }
        // A timer that is not armed is not cancelled either, so it is set for the end of time.
        var never = itimerspec()
        never.it_value.tv_sec = .max
        guard timerfd_settime(descriptor, CInt(TFD_TIMER_ABSTIME | TFD_TIMER_CANCEL_ON_SET), &never, nil) == 0 else {
            let error = NetlinkError(.watchSuspend, errno: Glibc.errno)
            close(descriptor)
            throw error
        }
        self.descriptor = descriptor
        asleep = Self.timeAsleep()
    }

    deinit { close(descriptor) }

    /// Whether the machine has slept since the last call.
    mutating func hasSlept() -> Bool {
        var ticks: UInt64 = 0
        _ = read(descriptor, &ticks, MemoryLayout<UInt64>.size)  // ECANCELED; reading is what makes it quiet again
        let now = Self.timeAsleep()
        defer { asleep = now }
        // The clocks are read one after the other; a millisecond is more than that takes and less than any sleep.
        return now - asleep > 1_000_000
    }

    /// Nanoseconds.
    private static func timeAsleep() -> Int64 {
        func read(_ clock: clockid_t) -> Int64 {
            var time = timespec()
            clock_gettime(clock, &time)
            return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
        }
        return read(CLOCK_BOOTTIME) - read(CLOCK_MONOTONIC)
    }
}
