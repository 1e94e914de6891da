import Netlink

/// For the stand-ins, whose interfaces leave no room for errors.
extension ReachabilityMonitor {
    /// The monitor that everybody in this process shares who has none of their own. Nobody stops it; it rests while nobody listens.
    package static let shared = ReachabilityMonitor()

    /// The present path, asked for on the calling thread if the monitor is not running.
    ///
    /// - Throws: ``NetlinkError`` as ``start()`` does.
    package func presentPath() throws(NetlinkError) -> NetworkPath {
        _ = try hub.beginQuestion()
        defer { hub.endQuestion() }
        return currentPath
    }

    /// Reports paths until the task is cancelled or the monitor is stopped; and, where the kernel can't be asked, why, and tries
    /// again.
    ///
    /// - Parameters:
    ///   - paths: the monitor itself, or its paths to some destination.
    ///   - interval: how long to wait before trying again.
    ///   - clock: what measures that.
    ///   - report: must not block.
    package func follow(
        _ paths: some AsyncSequence<NetworkPath, Never> & Sendable, retryingAfter interval: Duration = .seconds(2),
        on clock: any Clock<Duration> = ContinuousClock(),
        report: @Sendable (Result<NetworkPath, NetlinkError>) -> Void
    ) async {
        while !Task.isCancelled {
            do throws(NetlinkError) {
                _ = try hub.beginQuestion()
            } catch {
                report(.failure(error))
                // Cancelled together with the task, which the loop sees.
                try? await clock.sleep(for: interval)
                continue
            }
            var iterator = paths.makeAsyncIterator()
            hub.endQuestion()
            while let path = await iterator.next(isolation: nil) { report(.success(path)) }
            return
        }
    }
}
