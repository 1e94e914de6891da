#if canImport(AFNetworking)
import AFNetworking
#else
import AFNetworkReachability
#endif

public final class PictureListBefore {
    private let reachability: AFNetworkReachabilityManager
    public private(set) var picture = "placeholder"
    public var onChange: (() -> Void)?

    public init(reachability: AFNetworkReachabilityManager = .shared()) {
        self.reachability = reachability
    }

    public func appear() {
        reachability.setReachabilityStatusChange { [weak self] status in
            switch status {
            case .reachableViaWiFi: self?.picture = "original"
            case .reachableViaWWAN: self?.picture = "thumbnail"
            case .notReachable, .unknown: self?.picture = "placeholder"
            @unknown default: break
            }
            self?.onChange?()
        }
        reachability.startMonitoring()
    }

    public func disappear() {
        reachability.stopMonitoring()
    }
}
