import Foundation
import Network

public enum OneShots {
    /// Blocks until the first path is there, then keeps listening with another handler.
    public static func firstInterface(of monitor: NWPathMonitor) -> (name: String, index: Int)? {
        let semaphore = DispatchSemaphore(value: 0)
        var found: NWInterface?
        monitor.pathUpdateHandler = { path in
            if path.status != .unsatisfied, let interface = path.availableInterfaces.first {
                found = interface
            }
            semaphore.signal()
            monitor.pathUpdateHandler = { _ in }
        }
        monitor.start(queue: DispatchQueue.global(qos: .utility))
        _ = semaphore.wait(timeout: .now() + 10)
        return found.map { ($0.name, $0.index) }
    }

    /// Suspends until there is a way out.
    public static func waitUntilSatisfied(_ monitor: NWPathMonitor) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            monitor.pathUpdateHandler = { path in
                switch path.status {
                case .satisfied:
                    monitor.cancel()
                    continuation.resume()
                default:
                    print("waiting: \(path.status), \(path.unsatisfiedReason)")
                }
            }
            monitor.start(queue: DispatchQueue(label: "InternetConnectionMonitor"))
        }
    }

    public static func isConnected(_ monitor: NWPathMonitor = NWPathMonitor()) -> Bool {
        monitor.currentPath.status == .satisfied
    }

    public static func networkKey(_ path: NWPath) -> String {
        let interfaces = path.availableInterfaces.map(\.name).sorted()
        let gateways = path.gateways.map { "\($0)" }.sorted()
        return (interfaces + gateways).joined(separator: "|")
    }

    public static func facts(_ path: NWPath) -> [String] {
        var facts = [
            "status=\(path.status)", "expensive=\(path.isExpensive)", "constrained=\(path.isConstrained)",
            "ipv4=\(path.supportsIPv4)", "ipv6=\(path.supportsIPv6)", "dns=\(path.supportsDNS)",
            "local=\(String(describing: path.localEndpoint))", "remote=\(String(describing: path.remoteEndpoint))",
            "type=\(path.availableInterfaces.first?.type.debugDescription ?? "unknown")", path.debugDescription,
        ]
        if #available(iOS 26.0, macOS 26.0, *) {
            facts.append("quality=\(path.linkQuality)")
            facts.append("ultra=\(path.isUltraConstrained)")
        }
        return facts
    }

    /// The parts of a path that decide whether a connection has to be made anew.
    public struct Signature: Hashable {
        public let status: NWPath.Status
        public let interfaces: [NWInterface]
        public let gateways: [NWEndpoint]

        public init(_ path: NWPath) {
            status = path.status
            interfaces = path.availableInterfaces
            gateways = path.gateways
        }
    }
}

/// An endpoint out of a configuration file: `[2001:db8::1]:51820`, `192.0.2.1:51820` or `vpn.example.com:51820`.
public struct ConfiguredEndpoint: Hashable {
    public let host: NWEndpoint.Host
    public let port: NWEndpoint.Port

    public init?(from string: String) {
        guard let colon = string.lastIndex(of: ":") else { return nil }
        let portText = string[string.index(after: colon)...]
        guard let number = UInt16(portText), let port = NWEndpoint.Port(rawValue: number) else { return nil }
        let hostText = string[..<colon].trimmingCharacters(in: CharacterSet(charactersIn: "[]"))
        guard !hostText.isEmpty else { return nil }
        self.host = NWEndpoint.Host(hostText)
        self.port = port
    }

    public var stringRepresentation: String {
        switch host {
        case .name(let hostname, _): return "\(hostname):\(port)"
        case .ipv4(let address): return "\(address):\(port)"
        case .ipv6(let address): return "[\(address)]:\(port)"
        @unknown default: return ""
        }
    }

    public var hasHostAsIPAddress: Bool {
        IPv4Address("\(host)") != nil || IPv6Address("\(host)") != nil
    }
}
