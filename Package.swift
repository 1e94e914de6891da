// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "swift-reachability",
    products: [
        .library(name: "Reachability", targets: ["Reachability"]),
        .library(name: "DownloadPolicy", targets: ["DownloadPolicy"]),
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
        .target(name: "DownloadPolicy", dependencies: ["Reachability"]),
        .executableTarget(name: "reach", dependencies: ["Reachability"], path: "Examples/reach"),
        .executableTarget(
            name: "policy-helper", dependencies: ["DownloadPolicy", "Reachability"], path: "Tests/PolicyHelper"),
        .testTarget(
            name: "DownloadPolicyTests", dependencies: ["DownloadPolicy", "Reachability", "policy-helper"]),
    ],
    swiftLanguageModes: [.v6]
)
