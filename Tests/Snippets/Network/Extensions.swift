import Foundation
import Network

// The type has no list of its cases, so programs bring one.
extension NWInterface.InterfaceType: CaseIterable {
    public static var allCases: [NWInterface.InterfaceType] = [
        .other, .wifi, .cellular, .loopback, .wiredEthernet,
    ]
}

extension NWInterface.InterfaceType {
    public var description: String {
        switch self {
        case .wifi: return "Wi-Fi"
        case .cellular: return "Cellular"
        case .wiredEthernet: return "Ethernet"
        case .loopback: return "Loopback"
        case .other: return "Other"
        @unknown default: return "Unknown"
        }
    }
}

extension NWPath.Status: CustomStringConvertible {
    public var description: String {
        switch self {
        case .satisfied: return "Connected"
        case .unsatisfied: return "Not connected"
        case .requiresConnection: return "Waiting"
        @unknown default: return "Unknown"
        }
    }
}

extension NWPath.UnsatisfiedReason {
    public var description: String {
        switch self {
        case .notAvailable: return "Not Available"
        case .cellularDenied: return "Cellular Denied"
        case .wifiDenied: return "Wifi Denied"
        case .localNetworkDenied: return "Local Network Denied"
        case .vpnInactive: return "VPN Inactive"
        @unknown default: return "unknown"
        }
    }
}

extension NWInterface {
    public var description: String { "\(name) [\(type.description)]" }
}

extension NWEndpoint {
    public var description: String {
        switch self {
        case .hostPort(let host, let port): return "\(host):\(port)"
        case .service(let name, let type, let domain, _): return "\(name).\(type).\(domain)"
        case .unix(let path): return path
        case .url(let url): return url.absoluteString
        case .opaque(let endpoint): return "Opaque: \(endpoint)"
        @unknown default: return "unknown"
        }
    }
}

extension NWPath {
    public var isReachable: Bool { status == .satisfied }

    public var firstUsedType: NWInterface.InterfaceType? {
        NWInterface.InterfaceType.allCases.filter { usesInterfaceType($0) }.first
    }

    public var preferredType: NWInterface.InterfaceType {
        let connectionTypes: [NWInterface.InterfaceType] = [.cellular, .wifi, .wiredEthernet]
        return connectionTypes.first(where: usesInterfaceType) ?? .other
    }

    public var gatewayAddress: String? {
        guard let endpoint = gateways.first else { return nil }
        switch endpoint {
        case .hostPort(let host, _): return host.debugDescription
        default: return nil
        }
    }
}

extension NWPathMonitor {
    public var paths: AsyncStream<NWPath> {
        AsyncStream { continuation in
            pathUpdateHandler = { path in
                continuation.yield(path)
            }
            continuation.onTermination = { [weak self] _ in
                self?.cancel()
            }
            start(queue: DispatchQueue(label: "NSPathMonitor.paths"))
        }
    }
}
