import Glibc

/// Standard output and error for what is said once.
enum Standard {
    static func print(_ text: String) { write(text, to: STDOUT_FILENO) }

    /// One line that says what is wrong.
    static func complain(_ problem: String) { write("reach: \(problem)\n", to: STDERR_FILENO) }

    /// Writes all of it, waiting as long as it takes. Ends the process where nobody reads any more.
    static func write(_ text: String, to descriptor: CInt) {
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
            if count >= 0 {
                rest = rest.dropFirst(count)
            } else if errno == EAGAIN {
                // Somebody made the shared description non-blocking.
                var room = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                poll(&room, 1, -1)
            } else if errno != EINTR {
                // The reader has gone, which is how a pipeline ends.
                if errno == EPIPE { exit(ExitStatus.online) }
                if descriptor != STDERR_FILENO { complain("cannot write: \(String(cString: strerror(errno)))") }
                exit(ExitStatus.failure)
            }
        }
    }
}

/// Standard output for a task that must not block the thread it runs on.
struct Output {
    /// Writes at once where there is room, and otherwise on a thread of its own, with the caller suspended meanwhile.
    func write(_ line: String) async {
        // A pipe that polls as writable takes PIPE_BUF bytes (4,096) without blocking, and a line is shorter.
        var room = pollfd(fd: STDOUT_FILENO, events: Int16(POLLOUT), revents: 0)
        if poll(&room, 1, 0) == 1, line.utf8.count <= 4096 {
            Standard.write(line, to: STDOUT_FILENO)
        } else {
            await withCheckedContinuation { continuation in
                BlockingWrite(line, then: continuation).start()
            }
        }
    }
}

/// A write that may take for ever, on a thread of its own.
private final class BlockingWrite: Sendable {
    private let text: String
    private let continuation: CheckedContinuation<Void, Never>

    init(_ text: String, then continuation: CheckedContinuation<Void, Never>) {
        self.text = text
        self.continuation = continuation
    }

    func start() {
        let context = Unmanaged.passRetained(self)
        var thread = pthread_t()
        if pthread_create(&thread, nil, runBlockingWrite, context.toOpaque()) == 0 {
            pthread_detach(thread)
        } else {
            // No thread to be had: better late than lost.
            context.takeRetainedValue().run()
        }
    }

    func run() {
        Standard.write(text, to: STDOUT_FILENO)
        continuation.resume()
    }
}

private func runBlockingWrite(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<BlockingWrite>.fromOpaque(context).takeRetainedValue().run()
    return nil
}
