import Glibc

/// What ends a command that would go on for ever: SIGINT, SIGTERM, or a reader of standard output that has gone.
struct EndingSignals: Sendable {
    private var signals = sigset_t()

    /// Blocks the signals, for the calling thread and for all that it starts from now on, so that ``wait()`` gets them.
    init() {
        sigemptyset(&signals)
        sigaddset(&signals, SIGINT)
        sigaddset(&signals, SIGTERM)
        pthread_sigmask(SIG_BLOCK, &signals, nil)
        // A closed pipe shows as EPIPE.
        signal(SIGPIPE, SIG_IGN)
        // It also shows before anything is written: `reach watch | head -1` must not wait for the next change.
        var thread = pthread_t()
        if pthread_create(&thread, nil, waitForClosedPipe, nil) == 0 { pthread_detach(thread) }
    }

    func wait() {
        var signals = signals
        var number: CInt = 0
        while sigwait(&signals, &number) != 0 {}
    }
}

extension EndingSignals {
    /// Ends the process at once when a signal comes, whatever its threads are doing: with status 0, as asked for.
    func endProcess() {
        let box = Unmanaged.passRetained(SignalsBox(signals: self))
        var thread = pthread_t()
        if pthread_create(&thread, nil, waitForSignals, box.toOpaque()) == 0 { pthread_detach(thread) }
    }
}

/// What a thread is handed.
private final class SignalsBox: Sendable {
    let signals: EndingSignals

    init(signals: EndingSignals) { self.signals = signals }
}

private func waitForSignals(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    Unmanaged<SignalsBox>.fromOpaque(context).takeRetainedValue().signals.wait()
    exit(0)
}

private func waitForClosedPipe(_: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    // Without any event asked for, poll reports just POLLERR, POLLHUP and POLLNVAL.
    var pipe = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    while poll(&pipe, 1, -1) < 0, errno == EINTR {}
    if pipe.revents & Int16(POLLERR) != 0 { exit(ExitStatus.online) }
    return nil
}
