import AFNetworkReachability
import Foundation

/// As view controllers have it: one manager for all, a notification, and a block.
public final class StatusViewController {
    public private(set) var text = ""
    public private(set) var log: [String] = []
    public private(set) var lastNotified: AFNetworkReachabilityStatus?
    public var onChange: (() -> Void)?
    private let manager: AFNetworkReachabilityManager
    private var observer: NSObjectProtocol?

    public init(manager: AFNetworkReachabilityManager = .shared()) {
        self.manager = manager
    }

    public func viewDidLoad() {
        observer = NotificationCenter.default.addObserver(
            forName: Notification.Name.AFNetworkingReachabilityDidChange, object: manager, queue: nil
        ) { [weak self] notification in
            self?.netChange(notification)
        }
        manager.setReachabilityStatusChange { [weak self] (status: AFNetworkReachabilityStatus) -> Void in
            self?.log.append("Reachability: \(AFStringFromNetworkReachabilityStatus(status))")
            switch status {
            case .unknown:
                self?.text = "unknown"
            case .notReachable:
                self?.text = "offline"
            case .reachableViaWWAN:
                self?.text = "cellular"
            case .reachableViaWiFi:
                self?.text = "Wi-Fi"
            @unknown default:
                break
            }
        }
        manager.startMonitoring()
    }

    public func viewWillDisappear() {
        manager.setReachabilityStatusChange(nil)
        manager.stopMonitoring()
        if let observer = observer { NotificationCenter.default.removeObserver(observer) }
    }

    private func netChange(_ sender: Notification) {
        let userinfo = sender.userInfo
        let status: AFNetworkReachabilityStatus = AFNetworkReachabilityStatus(
            rawValue: userinfo![AFNetworkingReachabilityNotificationStatusItem] as! Int)!
        if let number = userinfo?[AFNetworkingReachabilityNotificationStatusItem] as? NSNumber {
            log.append("number \(number.intValue)")
        }
        lastNotified = status
        onChange?()
    }

    public func isNetworkReachable() -> Bool {
        switch manager.networkReachabilityStatus {
        case .notReachable:
            return false
        case .reachableViaWiFi, .reachableViaWWAN, .unknown:
            return true
        @unknown default:
            return false
        }
    }

    public var header: String? {
        if manager.isReachableViaWWAN { return "No Wi-Fi Connection" }
        if manager.isReachable && manager.isReachableViaWiFi { return nil }
        return manager.localizedNetworkReachabilityStatusString()
    }
}

/// As feeds have it: a manager of their own for their server.
public final class FeedController {
    public lazy var reachabilityManager: AFNetworkReachabilityManager = {
        return AFNetworkReachabilityManager(forDomain: "www.example.org")
    }()

    public init() {}

    public func startMonitoringReachabilityIfNeeded() {
        reachabilityManager.startMonitoring()
        reachabilityManager.setReachabilityStatusChange { [weak self] (status) in
            switch status {
            case .reachableViaWiFi, .reachableViaWWAN:
                DispatchQueue.main.async { self?.stopMonitoringReachability() }
            case .notReachable:
                DispatchQueue.main.async { print("noInternetConnection") }
            default: break
            }
        }
    }

    public func stopMonitoringReachability() {
        reachabilityManager.setReachabilityStatusChange(nil)
        reachabilityManager.stopMonitoring()
    }
}

/// As wrappers have it that Swift programs put around the manager.
public final class NetworkReachability {
    public enum Status: Equatable, Sendable {
        case unknown
        case notReachable
        case reachable(cellular: Bool)

        init(_ status: AFNetworkReachabilityStatus) {
            switch status {
            case .unknown: self = .unknown
            case .notReachable: self = .notReachable
            case .reachableViaWWAN: self = .reachable(cellular: true)
            case .reachableViaWiFi: self = .reachable(cellular: false)
            @unknown default: self = .unknown
            }
        }
    }

    private let manager: AFNetworkReachabilityManager

    public init() { manager = AFNetworkReachabilityManager() }

    public init(manager: AFNetworkReachabilityManager) { self.manager = manager }

    public init(address: String) {
        var socketAddress = sockaddr_in()
        socketAddress.sin_family = sa_family_t(AF_INET)
        socketAddress.sin_port = in_port_t(80)
        socketAddress.sin_addr = in_addr(s_addr: inet_addr(address))
        manager = AFNetworkReachabilityManager(forAddress: &socketAddress)
    }

    public var status: Status { Status(manager.networkReachabilityStatus) }

    @discardableResult
    public func startListening(onUpdatePerforming listener: @escaping (Status) -> Void) -> Bool {
        manager.setReachabilityStatusChange { [weak self] _ in
            guard let self = self else { return }
            listener(self.status)
        }
        manager.startMonitoring()
        return true
    }

    public func stopListening() { manager.stopMonitoring() }
}
