import Glibc
import Threads

/// Tells when a file's name gets other bytes, whoever writes them, by inotify(7) on its folder: a file that is replaced
/// by renaming is another file, so that a watch on the file itself would be lost.
///
/// A thread of its own waits in `poll` and calls back there. Dropping the watcher ends it.
final class FileWatcher: Sendable {
    enum Event: Sendable {
        /// The name has, or may have, other bytes.
        case changed
        /// The folder is gone, and the watch with it.
        case lost
    }

    /// One end of a pair of sockets; closing it wakes the thread, which owns everything else. (Sockets, because they
    /// can be kept from child processes in one step: a child that held this end would keep the thread.)
    private let stop: Int32

    init(directory: String, name: String, onEvent: @escaping @Sendable (Event) -> Void) throws(StoreError) {
        let notify = inotify_init1(Int32(bitPattern: UInt32(IN_CLOEXEC)) | Int32(bitPattern: UInt32(IN_NONBLOCK)))
        guard notify >= 0 else { throw .last("watch", directory) }
        let mask =
            UInt32(IN_CLOSE_WRITE) | UInt32(IN_MOVED_TO) | UInt32(IN_MOVED_FROM) | UInt32(IN_DELETE)
            | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF) | UInt32(IN_ONLYDIR)
        guard inotify_add_watch(notify, directory, mask) >= 0 else {
            let error = StoreError.last("watch", directory)
            close(notify)
            throw error
        }
        var ends: [Int32] = [-1, -1]
        let kind = Int32(bitPattern: SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
        guard socketpair(AF_UNIX, kind, 0, &ends) == 0 else {
            let error = StoreError.last("watch", directory)
            close(notify)
            throw error
        }
        stop = ends[1]
        let loop = WatchLoop(notify: notify, stopped: ends[0], name: name, onEvent: onEvent)
        let code = DedicatedThread.start("file watcher") { loop.run() }
        guard code == 0 else {
            close(notify)
            close(ends[0])
            close(ends[1])
            throw .system(operation: "watch", path: directory, code: code)
        }
    }

    deinit {
        close(stop)
    }
}

/// What the thread needs. Nothing but the thread touches it once it runs.
private final class WatchLoop: Sendable {
    let notify: Int32
    let stopped: Int32
    let name: String
    let onEvent: @Sendable (FileWatcher.Event) -> Void

    init(notify: Int32, stopped: Int32, name: String, onEvent: @escaping @Sendable (FileWatcher.Event) -> Void) {
        self.notify = notify
        self.stopped = stopped
        self.name = name
        self.onEvent = onEvent
    }

    func run() {
        defer {
            close(notify)
            close(stopped)
        }
        var descriptors = [
            pollfd(fd: notify, events: Int16(POLLIN), revents: 0),
            pollfd(fd: stopped, events: Int16(POLLIN), revents: 0),
        ]
        while true {
            guard poll(&descriptors, 2, -1) >= 0 || errno == EINTR else { return onEvent(.lost) }
            guard descriptors[1].revents == 0 else { return }
            let (changed, lost) = drain()
            if changed { onEvent(.changed) }
            if lost { return onEvent(.lost) }
        }
    }

    /// Reads all events there are.
    private func drain() -> (changed: Bool, lost: Bool) {
        var (changed, lost) = (false, false)
        withUnsafeTemporaryAllocation(byteCount: 4096, alignment: MemoryLayout<inotify_event>.alignment) { buffer in
            while true {
                let count = read(notify, buffer.baseAddress, buffer.count)
                guard count > 0 else { return }
                var offset = 0
                while offset + MemoryLayout<inotify_event>.size <= count {
                    let event = buffer.load(fromByteOffset: offset, as: inotify_event.self)
                    let start = offset + MemoryLayout<inotify_event>.size
                    offset = start + Int(event.len)
                    // An overflow may have swallowed anything.
                    if event.mask & UInt32(IN_Q_OVERFLOW) != 0 { changed = true }
                    if event.mask & (UInt32(IN_IGNORED) | UInt32(IN_DELETE_SELF) | UInt32(IN_MOVE_SELF)) != 0 {
                        lost = true
                    }
                    let bytes = buffer[start..<min(offset, count)].prefix { $0 != 0 }
                    if bytes.elementsEqual(name.utf8) { changed = true }
                }
            }
        }
        return (changed, lost)
    }
}
