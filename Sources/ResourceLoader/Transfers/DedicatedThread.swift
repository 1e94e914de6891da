import Glibc

/// A detached thread that runs one function, with every signal blocked: libcurl and OpenSSL write to sockets whose peers are gone,
/// and SIGPIPE must not end the program for it.
enum DedicatedThread {
    private final class Start: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }

    /// - Returns: whether the system had a thread to give.
    static func start(_ body: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let start = Unmanaged.passRetained(Start(body))
        var (all, before) = (sigset_t(), sigset_t())
        sigfillset(&all)
        // A thread inherits the mask of the one that makes it, so there is no moment in which it could be hit.
        pthread_sigmask(SIG_BLOCK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        guard pthread_create(&thread, &attributes, runDedicatedThread, start.toOpaque()) == 0 else {
            start.release()
            return false
        }
        return true
    }

    fileprivate static func run(_ start: UnsafeMutableRawPointer?) {
        guard let start else { return }
        Unmanaged<Start>.fromOpaque(start).takeRetainedValue().body()
    }
}

private func runDedicatedThread(_ start: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    DedicatedThread.run(start)
    return nil
}
