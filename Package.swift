// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "swift-reachability",
    products: [
        .library(name: "Reachability", targets: ["Reachability"]),
        .library(name: "ReachabilityTestKit", targets: ["ReachabilityTestKit"]),
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
        .executableTarget(
            name: "reach", dependencies: ["Netlink", "Reachability", "ReachabilityTestKit"], path: "Examples/reach"),
        .testTarget(name: "NetlinkTests", dependencies: ["Netlink", "CNetlink"]),
        .target(name: "CNamespace", path: "Tests/CNamespace"),
        .testTarget(
            name: "ReachabilityTests",
            dependencies: ["Netlink", "Reachability", "ReachabilityTestKit", "CNamespace"],
            exclude: ["Replay/Fixtures"]
        ),
    ],
    swiftLanguageModes: [.v6]
)
