// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "swift-reachability",
    products: [
        .library(name: "Reachability", targets: ["Reachability"]),
        .library(name: "ReachabilityTestKit", targets: ["ReachabilityTestKit"]),
        .library(name: "AFNetworkReachability", targets: ["AFNetworkReachability"]),
        .library(name: "Network", targets: ["Network"]),
        .executable(name: "reach", targets: ["reach"]),
    ],
    targets: [
        .systemLibrary(
            name: "CNetlink",
            pkgConfig: "libnl-route-3.0",
            providers: [.apt(["libnl-3-dev", "libnl-route-3-dev"])]
        ),
        .target(name: "Netlink", dependencies: ["CNetlink"]),
        .target(name: "Reachability", dependencies: ["Netlink"]),
        .target(name: "ReachabilityTestKit", dependencies: ["Netlink", "Reachability"]),
        .target(name: "AFNetworkReachability", dependencies: ["Reachability"]),
        .target(name: "Network", dependencies: ["Reachability"]),
        .executableTarget(
            name: "reach", dependencies: ["Netlink", "Reachability", "ReachabilityTestKit"], path: "Examples/reach"),
        .testTarget(name: "HostTests", dependencies: ["Reachability", "ReachabilityTestKit"]),
        .testTarget(
            name: "AFNetworkReachabilityTests",
            dependencies: ["AFNetworkReachability", "Reachability", "ReachabilityTestKit"]),
        .testTarget(
            name: "NetworkTests",
            dependencies: ["AFNetworkReachability", "Network", "Reachability", "ReachabilityTestKit", "Snippets"]),
        // Sources in the style of those that were written for Apple's platforms, in the language mode most of them were written in.
        .target(
            name: "Snippets", dependencies: ["Network", "AFNetworkReachability"], path: "Tests/Snippets",
            swiftSettings: [.swiftLanguageMode(.v5)]),
    ],
    swiftLanguageModes: [.v6]
)
