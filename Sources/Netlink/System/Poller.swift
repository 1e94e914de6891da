import CNetlink
import Glibc

/// Waits for whichever of some descriptors becomes readable first. An epoll set: poll(2) would enqueue on every descriptor anew
/// each time, which shows in the time from the kernel's message to the answer.
package struct Poller: ~Copyable {
    private let descriptor: CInt
    private var watched: [CInt] = []
    /// What the last wait found readable.
    package private(set) var ringing: [CInt] = []
    private var events = [epoll_event](repeating: epoll_event(), count: 8)

    package init() throws(NetlinkError) {
        descriptor = epoll_create1(CInt(EPOLL_CLOEXEC))
        guard descriptor >= 0 else { throw NetlinkError(.createWakeup, errno: errno) }
    }

    deinit { close(descriptor) }

    /// Which descriptors to wait at from now on. Closed ones have left by themselves.
    ///
    /// - Throws: ``NetlinkError`` where some can't be waited at. The others are, and the next call tries again.
    package mutating func watch(_ descriptors: [CInt]) throws(NetlinkError) {
        guard descriptors != watched else { return }
        for old in watched where !descriptors.contains(old) { epoll_ctl(descriptor, EPOLL_CTL_DEL, old, nil) }
        watched = []
        var failure: NetlinkError?
        for new in descriptors {
            var event = epoll_event()
            event.events = EPOLLIN.rawValue
            event.data.fd = new
            // EEXIST for one that is watched already. A number may have been closed and be in use again, so all are added.
            if epoll_ctl(descriptor, EPOLL_CTL_ADD, new, &event) == 0 || errno == EEXIST {
                watched.append(new)
            } else {
                failure = NetlinkError(.watchDescriptor, errno: errno)
            }
        }
        if let failure { throw failure }
    }

    /// Waits until something is readable, or in error, which is how an overrun shows before it has been read.
    ///
    /// - Parameter patience: `nil` waits for ever.
    /// - Returns: `true` if the time is over. ``ringing`` is empty then, and when a signal came.
    package mutating func wait(for patience: Duration?) -> Bool {
        let milliseconds = patience.map(Self.milliseconds) ?? -1
        let count = epoll_wait(descriptor, &events, CInt(events.count), milliseconds)
        ringing.removeAll(keepingCapacity: true)
        for event in events.prefix(Int(max(0, count))) { ringing.append(event.data.fd) }
        return count == 0
    }

    private static func milliseconds(_ duration: Duration) -> CInt {
        let (seconds, attoseconds) = duration.components
        // A negative number would wait for ever.
        return CInt(clamping: max(0, min(seconds, 1_000_000) * 1000 + attoseconds / 1_000_000_000_000_000))
    }
}
