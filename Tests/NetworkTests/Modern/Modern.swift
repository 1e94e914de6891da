import Network
import Observation

// What programs do in Swift 6 with strict concurrency.

@MainActor
@Observable
final class ConnectionMonitor {
    private let pathMonitor: NWPathMonitor
    private let queue = DispatchQueue(label: "connection-monitor")
    private(set) var status = "Checking"
    private(set) var connectionType = NWInterface.InterfaceType.other

    init(pathMonitor: NWPathMonitor = NWPathMonitor()) { self.pathMonitor = pathMonitor }

    func start() {
        pathMonitor.pathUpdateHandler = { [weak self] path in
            Task { @MainActor in self?.update(path: path) }
        }
        pathMonitor.start(queue: queue)
    }

    private func update(path: NWPath) {
        status = path.status == .satisfied ? "Online" : "Offline"
        connectionType = path.availableInterfaces.first?.type ?? .other
    }
}

@MainActor
@Observable
final class NetworkStatus {
    static let shared = NetworkStatus()

    private(set) var isOnline = true

    init() {}

    func run(_ monitor: NWPathMonitor = NWPathMonitor()) async {
        isOnline = monitor.currentPath.status == .satisfied
        for await path in monitor {
            isOnline = path.status == .satisfied
            if !isOnline { break }
        }
    }
}

struct NetworkClient: Sendable {
    var updates: @Sendable () -> AsyncStream<NWPath.Status>

    static func live(_ monitor: NWPathMonitor = NWPathMonitor()) -> NetworkClient {
        NetworkClient {
            let (stream, continuation) = AsyncStream.makeStream(of: NWPath.Status.self)
            monitor.pathUpdateHandler = { continuation.yield($0.status) }
            monitor.start(queue: .global(qos: .background))
            continuation.onTermination = { _ in monitor.cancel() }
            return stream
        }
    }
}

actor NetworkObserver {
    private let monitor: NWPathMonitor
    private(set) var types: Set<NWInterface.InterfaceType> = []

    init(monitor: NWPathMonitor) { self.monitor = monitor }

    func observe(until status: NWPath.Status) async {
        for await path in monitor {
            for interface in path.availableInterfaces { types.insert(interface.type) }
            if path.status == status { return }
        }
    }
}
