import Glibc

/// A detached thread that runs one function.
///
/// Every signal is blocked on it: signals are the program's, and SIGPIPE must not end it because a peer of libcurl's or OpenSSL's is
/// gone.
package enum DedicatedThread {
    private final class Start: Sendable {
        let name: String
        let body: @Sendable () -> Void

        init(_ name: String, _ body: @escaping @Sendable () -> Void) {
            self.name = name
            self.body = body
        }

        func run() {
            takeName()
            body()
        }

        /// For `top -H` and debuggers; without /proc there is no name. (Glibc's Swift module has no pthread_setname_np.)
        private func takeName() {
            let file = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
            guard file >= 0 else { return }
            _ = write(file, name, name.utf8.count)
            close(file)
        }
    }

    /// Starts one.
    ///
    /// - Parameter name: at most 15 bytes, which is what the kernel keeps.
    /// - Returns: 0, or the error number of pthread_create(3); `body` is then released without having run.
    package static func start(_ name: String, _ body: @escaping @Sendable () -> Void) -> CInt {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setdetachstate(&attributes, CInt(PTHREAD_CREATE_DETACHED))
        let start = Unmanaged.passRetained(Start(name, body))
        var (all, before) = (sigset_t(), sigset_t())
        sigfillset(&all)
        // A thread inherits the mask of the one that makes it, so there is no moment in which it could be hit.
        pthread_sigmask(SIG_BLOCK, &all, &before)
        defer { pthread_sigmask(SIG_SETMASK, &before, nil) }
        var thread = pthread_t()
        let error = pthread_create(&thread, &attributes, enterThread, start.toOpaque())
        if error != 0 { start.release() }
        return error
    }

    fileprivate static func enter(_ start: UnsafeMutableRawPointer) {
        Unmanaged<Start>.fromOpaque(start).takeRetainedValue().run()
    }
}

/// At file scope, since a closure would inherit the isolation of whoever makes it and trap.
private func enterThread(_ start: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    start.map(DedicatedThread.enter)
    return nil
}
