import CNetlink
import Glibc

/// A socket that has joined multicast groups, and how to empty it.
struct DoorbellQueue: ~Copyable {
    let socket: NetlinkSocket
    private let batch: DatagramBatch

    /// Datagrams taken by one system call; and system calls in one drain, before others get a turn.
    private static let batchSize = 32
    private static let batchesPerDrain = 64

    init(_ socket: consuming NetlinkSocket) {
        self.socket = socket
        batch = DatagramBatch(capacity: Self.batchSize, slotSize: 16 * 1024)
    }

    /// Takes what is queued, in order, up to a bound.
    ///
    /// - Parameters:
    ///   - overrun: what to report, after everything that could be read, where the kernel says that messages were lost.
    ///   - event: what a message of the kernel means.
    /// - Returns: `true` if more may be waiting.
    func drain(
        into events: inout [NetlinkEvent], overrun: NetlinkEvent,
        _ event: (UnsafeMutablePointer<nlmsghdr>) -> NetlinkEvent
    ) throws(NetlinkError) -> Bool {
        var overran = false
        for _ in 0..<Self.batchesPerDrain {
            let count = batch.receive(from: socket.descriptor, limit: Self.batchSize)
            if count == -Int(ENOBUFS) {
                // Said once an episode. Until the queue has been empty the kernel goes on losing messages without a word, so
                // the snapshot has to wait until everything has been read.
                overran = true
                continue
            }
            if count < 0, count != -Int(EAGAIN) { throw NetlinkError(.receive, errno: CInt(-count)) }
            for slot in 0..<max(0, count) where !take(slot, into: &events, event) { overran = true }
            if count < Self.batchSize {
                if overran { events.append(overrun) }
                return false
            }
        }
        if overran { events.append(overrun) }
        return true
    }

    /// Takes a datagram; `false` if news of the kernel went with it.
    private func take(
        _ slot: Int, into events: inout [NetlinkEvent], _ event: (UnsafeMutablePointer<nlmsghdr>) -> NetlinkEvent
    ) -> Bool {
        // Root in the same namespace can send to our port and to our groups; only the kernel has nl_pid 0.
        guard batch.sender(slot) == 0 else {
            events.append(.skipped(.forged))
            return true
        }
        guard !batch.isTruncated(slot) else {
            events.append(.skipped(.malformed))
            return false
        }
        var count = 0
        batch.forEachMessage(in: slot) { message in
            events.append(event(message))
            count += 1
        }
        if count == 0 { events.append(.skipped(.malformed)) }
        return true
    }
}
