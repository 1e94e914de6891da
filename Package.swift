// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "swift-reachability",
    products: [
        .library(name: "Reachability", targets: ["Reachability"]),
        .library(name: "ReachabilityTestKit", targets: ["ReachabilityTestKit"]),
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
        .testTarget(
            name: "NetlinkTests",
            dependencies: ["CNetlink", "Netlink"],
            resources: [.copy("Fixtures")]
        ),
        .target(name: "CNamespace", path: "Tests/CNamespace"),
        .testTarget(
            name: "ReachabilityTests",
            dependencies: ["CNetlink", "Netlink", "Reachability", "ReachabilityTestKit", "CNamespace"]
        ),
    ],
    swiftLanguageModes: [.v6]
)
