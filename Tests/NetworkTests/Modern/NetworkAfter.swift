import Reachability

@MainActor
public final class ConnectionStateAfter {
    public private(set) var isConnected = false
    public private(set) var isExpensive = false
    public private(set) var kind = "none"
    public var onChange: (() -> Void)?

    /// Until the task is cancelled.
    public func follow(_ monitor: ReachabilityMonitor = ReachabilityMonitor()) async {
        for await path in monitor {
            isConnected = path.isOnline
            isExpensive = path.isExpensive
            kind = path.interface?.type.rawValue ?? "none"
            onChange?()
        }
    }
}
