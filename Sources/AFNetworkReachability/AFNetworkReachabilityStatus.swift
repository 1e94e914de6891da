import Foundation
import Reachability

/// What AFNetworking calls the kinds of network. The raw values are AFNetworking's; they travel in notifications and in logs.
public enum AFNetworkReachabilityStatus: Int, Sendable {
    /// Nothing has been reported yet.
    case unknown = -1
    /// No way out.
    case notReachable = 0
    /// A modem.
    case reachableViaWWAN = 1
    /// Wi-Fi, and whatever else is no modem: there is no case for wired networks, nor for a tunnel of which nothing more is known.
    case reachableViaWiFi = 2

    init(_ path: NetworkPath) {
        switch path.status {
        case .unknown: self = .unknown
        case .offline: self = .notReachable
        case .wwan: self = .reachableViaWWAN
        case .wifi, .wired, .other: self = .reachableViaWiFi
        }
    }
}

/// The status in AFNetworking's words, which are English whatever the locale: "Not Reachable", "Reachable via WWAN",
/// "Reachable via WiFi", otherwise "Unknown".
// The name is AFNetworking's.
// swift-format-ignore: AlwaysUseLowerCamelCase
public func AFStringFromNetworkReachabilityStatus(_ status: AFNetworkReachabilityStatus) -> String {
    switch status {
    case .notReachable: "Not Reachable"
    case .reachableViaWWAN: "Reachable via WWAN"
    case .reachableViaWiFi: "Reachable via WiFi"
    case .unknown: "Unknown"
    }
}

extension NSNotification.Name {
    /// Posted after each change of a manager's status. `object` is the manager; `userInfo` has the raw value of the new status, an
    /// `Int`, for the key ``AFNetworkingReachabilityNotificationStatusItem``.
    // swift-format-ignore: AlwaysUseLowerCamelCase
    public static let AFNetworkingReachabilityDidChange = NSNotification.Name(
        "com.alamofire.networking.reachability.change")
}

/// The key of the new status in ``Foundation/NSNotification/Name/AFNetworkingReachabilityDidChange``.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let AFNetworkingReachabilityNotificationStatusItem = "AFNetworkingReachabilityNotificationStatusItem"
