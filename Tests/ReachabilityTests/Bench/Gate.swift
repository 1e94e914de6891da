import Dispatch

/// Holds up whoever comes, until it is opened.
final class Gate: Sendable {
    private let visitors = AsyncStream<Void>.makeStream()
    private let opening = AsyncStream<Void>.makeStream()
    private let semaphore = DispatchSemaphore(value: 0)

    /// Blocks the calling thread, which must be none of the few that run all tasks.
    func block() {
        visitors.continuation.yield()
        semaphore.wait()
    }

    func pass() async {
        visitors.continuation.yield()
        for await _ in opening.stream {}
    }

    func waitForVisitor() async { for await _ in visitors.stream { break } }

    func open() {
        semaphore.signal()
        opening.continuation.finish()
    }
}
