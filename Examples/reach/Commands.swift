import Glibc
import Reachability

extension Invocation {
    /// Does what was asked for; ends the process itself where an exit status says more than an error.
    func run() throws {
        switch command {
        case .watch(let json, let settling): try watch(json ? .json : .table(), settling)
        case .status(let json): try status(json ? .json : .table())
        case .wait(let statuses, let timeout): wait(for: statuses, timeout)
        case .explain(let address): Standard.print("\(try monitor().explanation(of: address))\n")
        case .policy(let question, let json, let isWatching): try policy(question, json: json, isWatching: isWatching)
        case .record(let file): try record(to: file)
        case .replay(let file, let json): try replay(file, json ? .json : .table())
        case .help: Standard.print(Self.help + "\n")
        }
    }

    func monitor() -> ReachabilityMonitor { ReachabilityMonitor(configuration: configuration) }

    private func watch(_ format: PathFormat, _ settling: Duration?) throws {
        let monitor = monitor()
        let signals = EndingSignals()
        try monitor.start()
        if let header = format.header { Standard.print(header) }
        // The reader thread itself prints, which saves the hop to another thread; `Output` sees to it that it never blocks there.
        Task(executorPreference: monitor.readerExecutor) {
            let output = Output()
            if let settling {
                for await path in monitor.paths(settling: settling) { await output.write(format.line(for: path)) }
            } else {
                for await path in monitor { await output.write(format.line(for: path)) }
            }
        }
        signals.wait()
        monitor.stop()
    }

    private func status(_ format: PathFormat) throws {
        let monitor = monitor()
        try monitor.start()
        let path = monitor.currentPath
        Standard.print((format.header ?? "") + format.line(for: path))
        exit(path.isOnline ? ExitStatus.online : ExitStatus.offline)
    }

    private func wait(for statuses: Set<NetworkPath.Status>, _ timeout: Duration?) {
        let monitor = monitor()
        let signals = EndingSignals()
        Task {
            do throws(WaitError) {
                let path = try await monitor.wait(for: statuses, timeout: timeout)
                Standard.print("\(path)\n")
                exit(ExitStatus.online)
            } catch {
                Standard.complain("\(error)")
                if case .unavailable = error { exit(ExitStatus.failure) }
                exit(ExitStatus.offline)
            }
        }
        signals.wait()
        // Interrupted before it held.
        exit(ExitStatus.offline)
    }
}
