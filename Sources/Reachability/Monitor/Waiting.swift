import Netlink

/// Why a wait ended without what it waited for.
public enum WaitError: Error, Sendable, Hashable {
    /// The timeout passed first; the path at that moment.
    case timedOut(NetworkPath)
    /// Somebody stopped the monitor.
    case stopped
    /// The task was cancelled.
    case cancelled
    /// The kernel can't be asked.
    case unavailable(NetlinkError)
}

extension WaitError: CustomStringConvertible {
    /// One line for people.
    public var description: String {
        switch self {
        case .timedOut(let path): "timed out; the path is \(path)"
        case .stopped: "the monitor was stopped"
        case .cancelled: "the wait was cancelled"
        case .unavailable(let error): error.description
        }
    }
}

extension ReachabilityMonitor {
    /// Waits until the path has one of some statuses; returns at once if it has.
    ///
    /// - Parameters:
    ///   - statuses: what to wait for; ``NetworkPath/Status/online`` is any way out.
    ///   - timeout: how long at most; `nil` for ever.
    ///   - clock: what measures the timeout; tests give their own.
    /// - Returns: the path that has it.
    /// - Throws: ``WaitError``.
    public func wait<C: Clock>(
        for statuses: Set<NetworkPath.Status> = NetworkPath.Status.online, timeout: Duration? = nil,
        clock: C = ContinuousClock()
    ) async throws(WaitError) -> NetworkPath where C.Duration == Duration {
        // Opened first, because the iteration alone can't say why it has nothing to tell.
        do throws(NetlinkError) {
            _ = try hub.beginQuestion()
        } catch {
            throw .unavailable(error)
        }
        defer { hub.endQuestion() }
        // Or a timeout of zero could come first.
        let present = hub.currentPath
        if statuses.contains(present.status) { return present }

        let hub = hub
        let outcome = await withTaskGroup(of: Result<NetworkPath, WaitError>.self) { group in
            group.addTask {
                for await path in Paths(hub: hub, address: nil) where statuses.contains(path.status) {
                    return .success(path)
                }
                return .failure(Task.isCancelled ? .cancelled : .stopped)
            }
            if let timeout {
                group.addTask {
                    do {
                        try await clock.sleep(for: timeout)
                        return .failure(.timedOut(hub.currentPath))
                    } catch {
                        return .failure(.cancelled)
                    }
                }
            }
            let first = await group.next()
            group.cancelAll()
            return first ?? .failure(.cancelled)
        }
        return try outcome.get()
    }
}

extension NetworkPath.Status {
    /// Every status with a way out.
    public static let online: Set<Self> = [.wifi, .wwan, .wired, .other]
}
