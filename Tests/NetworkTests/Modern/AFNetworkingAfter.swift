import Reachability

@MainActor
public final class PictureListAfter {
    private let monitor: ReachabilityMonitor
    private var following: Task<Void, Never>?
    public private(set) var picture = "placeholder"
    public var onChange: (() -> Void)?

    public init(monitor: ReachabilityMonitor = ReachabilityMonitor()) {
        self.monitor = monitor
    }

    public func appear() {
        following = Task { [monitor, weak self] in
            for await path in monitor { self?.show(path.status) }
        }
    }

    public func disappear() {
        following?.cancel()
    }

    private func show(_ status: NetworkPath.Status) {
        switch status {
        case .wifi, .wired, .other: picture = "original"
        case .wwan: picture = "thumbnail"
        case .offline, .unknown: picture = "placeholder"
        }
        onChange?()
    }
}
