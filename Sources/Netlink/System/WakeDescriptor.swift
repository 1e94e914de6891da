import CNetlink
import Glibc

/// An eventfd that wakes whoever polls it, closed when nobody refers to it any more.
package final class WakeDescriptor: Sendable {
    package let descriptor: CInt

    package init() throws(NetlinkError) {
        descriptor = eventfd(0, CInt(EFD_NONBLOCK | EFD_CLOEXEC))
        guard descriptor >= 0 else { throw NetlinkError(.createWakeup, errno: errno) }
    }

    deinit { close(descriptor) }

    package func ring() {
        // The counter can't overflow, so this can't block or fail: it is read whenever it is not 0.
        var one: UInt64 = 1
        _ = write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    package func silence() {
        var count: UInt64 = 0
        _ = read(descriptor, &count, MemoryLayout<UInt64>.size)
    }
}
