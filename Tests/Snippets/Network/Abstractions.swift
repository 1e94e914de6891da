import Foundation
import Network

// What programs do to be able to test: protocols that Apple's types are made to conform to.

public protocol NetworkPathProtocol {
    var status: NWPath.Status { get }
    var isExpensive: Bool { get }
    var isConstrained: Bool { get }
    var availableInterfaces: [NWInterface] { get }
    var unsatisfiedReason: NWPath.UnsatisfiedReason { get }
    func usesInterfaceType(_ type: NWInterface.InterfaceType) -> Bool
}

extension NWPath: NetworkPathProtocol {}

public protocol NWPathMonitoring: AnyObject {
    var pathUpdateHandler: (@Sendable (_ newPath: NWPath) -> Void)? { get set }
    var currentPath: NWPath { get }
    var queue: DispatchQueue? { get }
    func start(queue: DispatchQueue)
    func cancel()
}

extension NWPathMonitor: NWPathMonitoring {}

public protocol PathMonitor {
    associatedtype PathType: NetworkPathProtocol
    func onPathUpdate(_ handler: @escaping (PathType) -> Void)
    func start(queue: DispatchQueue)
    func cancel()
}

extension NWPathMonitor: PathMonitor {
    public typealias PathType = NWPath

    public func onPathUpdate(_ handler: @escaping (NWPath) -> Void) {
        pathUpdateHandler = handler
    }
}

public protocol ReachabilityService {
    var isReachable: Bool { get }
    func observe() -> AsyncStream<Bool>
}

public final class DefaultReachabilityService: ReachabilityService {
    private let monitor: NWPathMonitor
    private let queue = DispatchQueue(label: "reachability.queue")
    private let lock = NSLock()
    private var continuations: [UUID: AsyncStream<Bool>.Continuation] = [:]

    public init(monitor: NWPathMonitor = NWPathMonitor()) {
        self.monitor = monitor
        monitor.pathUpdateHandler = { [weak self] path in
            self?.broadcast(path.status == .satisfied)
        }
        monitor.start(queue: queue)
    }

    deinit {
        monitor.cancel()
    }

    public var isReachable: Bool {
        monitor.currentPath.status == .satisfied
    }

    public func observe() -> AsyncStream<Bool> {
        AsyncStream { continuation in
            let id = UUID()
            lock.lock()
            continuations[id] = continuation
            lock.unlock()
            continuation.yield(isReachable)
            continuation.onTermination = { [weak self] _ in
                self?.lock.lock()
                self?.continuations[id] = nil
                self?.lock.unlock()
            }
        }
    }

    private func broadcast(_ isReachable: Bool) {
        lock.lock()
        let active = continuations.values
        lock.unlock()
        for continuation in active { continuation.yield(isReachable) }
    }
}
