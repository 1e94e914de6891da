public import Dispatch
public import Foundation
import Reachability
import Synchronization

/// AFNetworking's manager of the same name, on top of ``ReachabilityMonitor``.
///
/// ```swift
/// let manager = AFNetworkReachabilityManager.shared()
/// manager.setReachabilityStatusChange { status in print(AFStringFromNetworkReachabilityStatus(status)) }
/// manager.startMonitoring()
/// ```
///
/// Each change is delivered in a single hop to the main queue: first the property changes, then the block is called, then the
/// notification is posted. The change from `unknown` to the first status counts as one. A program whose main queue nobody
/// runs (`dispatchMain()`, `RunLoop.main.run()` and `async` main functions run it) sets ``completionQueue``.
///
/// Where this is stricter than the original:
/// - equal statuses are not repeated
/// - after ``stopMonitoring()`` nothing arrives, not even what was under way to the queue. (Called on another queue than the
///   deliveries', it does not wait for a block that has been entered already.)
/// - starting again announces the present status again
///
/// There is no key-value observing on Linux: use the block or the notification. `init(reachability:)` is missing, because there is no
/// `SCNetworkReachability` either. Where the kernel can't be asked the status stays `unknown`, and attempts go on;
/// `ReachabilityMonitor.start()` says why.
///
/// All members may be used from any thread, and none of them blocks.
public final class AFNetworkReachabilityManager: NSObject, Sendable {
    private typealias Destination =
        @Sendable (ReachabilityMonitor) -> any (AsyncSequence<NetworkPath, Never> & Sendable)

    private struct State {
        var status = AFNetworkReachabilityStatus.unknown
        var block: Block?
        var completionQueue: DispatchQueue?
        /// Counts starts and stops, so that what an earlier run still has under way can be told from news.
        var run = 0
        var task: Task<Void, Never>?
        /// What this run has sent to the queue last.
        var announced: AFNetworkReachabilityStatus?

        /// - Returns: the task of the run, to be cancelled without the lock: that runs code of others.
        mutating func endRun() -> Task<Void, Never>? {
            run += 1
            announced = nil
            defer { task = nil }
            return task
        }
    }

    /// The program's block, which AFNetworking does not ask to be sendable.
    ///
    /// Safe to hand over because nobody but ``deliver(_:_:)`` calls it, on the one queue that the program expects it on. That
    /// holds only as long as `completionQueue` is not changed while a delivery is under way: then the old queue and the new one
    /// could both run it. A block that belongs to the main actor checks at run time that it is there.
    private struct Block: @unchecked Sendable {
        let call: (AFNetworkReachabilityStatus) -> Void
    }

    private let monitor: ReachabilityMonitor
    private let destination: Destination
    private let state = Mutex(State())

    private static let sharedManager = AFNetworkReachabilityManager()

    /// The one instance for the whole program. It is not started by itself.
    public class func shared() -> AFNetworkReachabilityManager { sharedManager }

    /// A new manager for the way out in general.
    public class func manager() -> AFNetworkReachabilityManager { AFNetworkReachabilityManager() }

    /// A manager for the way out in general.
    public override convenience init() {
        self.init(monitor: .shared) { $0 }
    }

    /// A manager for the way to a host.
    ///
    /// The name is resolved on a thread of its own, and again when the network changes. Until it is resolved, which takes 5 seconds
    /// at most, the status is `unknown`. While the name has no address the status is `notReachable`, as it is for texts that are
    /// no host names, such as URLs and the empty string.
    ///
    /// - Parameter domain: a name such as `example.com`, or an address such as `192.0.2.1`.
    public convenience init(forDomain domain: String) {
        self.init(monitor: .shared) { $0.paths(to: domain) }
    }

    /// A manager for the way to an address.
    ///
    /// - Parameter address: a `sockaddr_in` or `sockaddr_in6`, which is read before this returns; 0.0.0.0 and `::` stand for the
    ///   way out in general. With any other family the status is `notReachable`.
    public convenience init(forAddress address: UnsafeRawPointer) {
        self.init(monitor: .shared, address: IPAddress(socketAddress: address))
    }

    /// The seam for tests: any monitor, and a destination.
    package init(
        monitor: ReachabilityMonitor,
        destination: @escaping @Sendable (ReachabilityMonitor) -> any (AsyncSequence<NetworkPath, Never> & Sendable)
    ) {
        self.monitor = monitor
        self.destination = destination
        super.init()
    }

    package convenience init(monitor: ReachabilityMonitor, address: IPAddress?) {
        self.init(monitor: monitor) { monitor in
            guard let address else { return monitor.paths(to: "") }
            return address.isUnspecified ? monitor : monitor.paths(to: address)
        }
    }

    deinit { stopMonitoring() }

    // MARK: Status

    /// The status that was delivered last; `unknown` until the first one is. Never asks, never waits.
    public var networkReachabilityStatus: AFNetworkReachabilityStatus { state.withLock(\.status) }

    /// There is a way out. `false` while the status is unknown.
    public var isReachable: Bool { isReachableViaWWAN || isReachableViaWiFi }

    /// The way out is a modem. `false` while the status is unknown.
    public var isReachableViaWWAN: Bool { networkReachabilityStatus == .reachableViaWWAN }

    /// The way out is anything else than a modem. `false` while the status is unknown.
    public var isReachableViaWiFi: Bool { networkReachabilityStatus == .reachableViaWiFi }

    /// The status in words: ``AFStringFromNetworkReachabilityStatus(_:)``.
    public func localizedNetworkReachabilityStatusString() -> String {
        AFStringFromNetworkReachabilityStatus(networkReachabilityStatus)
    }

    // MARK: Monitoring

    /// Starts, or starts again: the present status is announced, then every change.
    public func startMonitoring() {
        let previous = state.withLock { state in
            let previous = state.endRun()
            let (run, monitor, destination) = (state.run, monitor, destination)
            let report: @Sendable (Result<NetworkPath, NetlinkError>) -> Void = { [weak self] result in
                if case .success(let path) = result { self?.announce(AFNetworkReachabilityStatus(path), run) }
            }
            // On the monitor's own thread, which saves a hop: what happens there is a short lock and a dispatch.
            state.task = Task(executorPreference: monitor.readerExecutor) {
                await monitor.follow(destination(monitor), report: report)
            }
            return previous
        }
        previous?.cancel()
    }

    /// Stops. Nothing is delivered any more; the status stays as it is. Idempotent.
    public func stopMonitoring() { state.withLock { $0.endRun() }?.cancel() }

    /// Sets the block that is called after each change of status, in place of any other; `nil` for none. Before or after
    /// ``startMonitoring()``.
    public func setReachabilityStatusChange(_ block: ((AFNetworkReachabilityStatus) -> Void)?) {
        let block = block.map { Block(call: $0) }
        state.withLock { $0.block = block }
    }

    /// The queue for deliveries, a serial one; `nil`, as at first, for the main queue. To be set while the manager is stopped: both
    /// queues could call the block at the same time while a delivery is under way.
    public var completionQueue: DispatchQueue? {
        get { state.withLock(\.completionQueue) }
        set { state.withLock { $0.completionQueue = newValue } }
    }

    /// Sends a status to the queue, unless it is no news.
    private func announce(_ status: AFNetworkReachabilityStatus, _ run: Int) {
        // Dispatched under the lock, so that statuses come to the queue in the order they are announced in.
        state.withLock { state in
            guard state.run == run, state.announced != status else { return }
            state.announced = status
            let queue = state.completionQueue ?? .main
            queue.async { [weak self] in self?.deliver(status, run) }
        }
    }

    private func deliver(_ status: AFNetworkReachabilityStatus, _ run: Int) {
        let (isCurrent, block) = state.withLock { state -> (Bool, Block?) in
            guard state.run == run else { return (false, nil) }
            state.status = status
            return (true, state.block)
        }
        guard isCurrent else { return }
        block?.call(status)
        // The block may have stopped it.
        guard state.withLock({ $0.run == run }) else { return }
        NotificationCenter.default.post(
            name: .AFNetworkingReachabilityDidChange, object: self,
            userInfo: [AFNetworkingReachabilityNotificationStatusItem: status.rawValue])
    }
}
