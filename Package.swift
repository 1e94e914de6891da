// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "swift-reachability",
    products: [
        .library(name: "Reachability", targets: ["Reachability"]),
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
        .testTarget(name: "NetlinkTests", dependencies: ["Netlink", "CNetlink"]),
        .testTarget(name: "ReachabilityTests", dependencies: ["Reachability", "Netlink"]),
        .executableTarget(name: "reach", dependencies: ["Reachability"], path: "Examples/reach"),
    ],
    swiftLanguageModes: [.v6]
)
