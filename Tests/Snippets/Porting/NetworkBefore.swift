import Network

public final class ConnectionStateBefore {
    private let monitor: NWPathMonitor
    public private(set) var isConnected = false
    public private(set) var isExpensive = false
    public private(set) var kind = "none"
    public var onChange: (() -> Void)?

    public init(monitor: NWPathMonitor = NWPathMonitor()) {
        self.monitor = monitor
        monitor.pathUpdateHandler = { [weak self] path in
            self?.isConnected = path.status == .satisfied
            self?.isExpensive = path.isExpensive
            self?.kind = path.availableInterfaces.first.map { "\($0.type)" } ?? "none"
            self?.onChange?()
        }
        monitor.start(queue: DispatchQueue(label: "ConnectionState"))
    }

    deinit {
        monitor.cancel()
    }
}
