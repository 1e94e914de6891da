import CNetlink
import Glibc

/// Waits for whichever of some descriptors becomes readable first. An epoll set: poll(2) would enqueue on every descriptor anew
/// each time, which shows in the time from the kernel's message to the answer.
package struct Poller: ~Copyable {
    private let descriptor: CInt
    private var watched: [CInt] = []
    private var events = [epoll_event](repeating: epoll_event(), count: 8)

    package init() throws(NetlinkError) {
        descriptor = epoll_create1(CInt(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw NetlinkError(.createWakeup, errno: errno) }
    }

    deinit { close(descriptor) }

    /// Which descriptors to wait at from now on. Closed ones have left by themselves.
    package mutating func watch(_ descriptors: [CInt]) {
        guard descriptors != watched else { return }
        for old in watched where !descriptors.contains(old) { epoll_ctl(descriptor, EPOLL_CTL_DEL, old, nil) }
        for new in descriptors {
            var event = epoll_event()
            event.events = EPOLLIN.rawValue
            event.data.fd = new
            // EEXIST for one that is watched already. A number may have been closed and be in use again, so all are added.
            epoll_ctl(descriptor, EPOLL_CTL_ADD, new, &event)
        }
        watched = descriptors
    }

    /// Waits until something is readable, or in error, which is how an overrun shows before it has been read.
    ///
    /// - Parameter patience: `nil` waits for ever.
    /// - Returns: what is; empty if the time is over, or a signal came.
    package mutating func wait(for patience: Duration?) -> Ringing {
        let milliseconds = patience.map(Self.milliseconds) ?? -1
        let count = epoll_wait(descriptor, &events, CInt(events.count), milliseconds)
        return Ringing(descriptors: events.prefix(Int(max(0, count))).map(\.data.fd), hasTimedOut: count == 0)
    }

    /// What a wait came to.
    package struct Ringing {
        package let descriptors: [CInt]
        package let hasTimedOut: Bool
    }

    private static func milliseconds(_ duration: Duration) -> CInt {
        let (seconds, attoseconds) = duration.components
        return CInt(clamping: min(seconds, 1_000_000) * 1000 + attoseconds / 1_000_000_000_000_000)
    }
}
