import Glibc

/// What ends a command that would go on for ever: SIGINT, SIGTERM, or a reader of standard output that has gone.
struct EndingSignals {
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

private func waitForClosedPipe(_: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    // Without any event asked for, poll reports just POLLERR, POLLHUP and POLLNVAL.
    var pipe = pollfd(fd: STDOUT_FILENO, events: 0, revents: 0)
    while poll(&pipe, 1, -1) < 0, errno == EINTR {}
    if pipe.revents & Int16(POLLERR) != 0 { exit(ExitStatus.online) }
    return nil
}
