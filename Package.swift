// swift-tools-version: 6.2

import PackageDescription

let package = Package(
    name: "swift-reachability",
    products: [
        .library(name: "Reachability", targets: ["Reachability"]),
        .library(name: "ReachabilityTestKit", targets: ["ReachabilityTestKit"]),
        .library(name: "DownloadPolicy", targets: ["DownloadPolicy"]),
        .library(name: "ResourceLoader", targets: ["ResourceLoader"]),
        .executable(name: "reach", targets: ["reach"]),
        .executable(name: "gallery", targets: ["gallery"]),
    ],
    targets: [
        .systemLibrary(
            name: "CNetlink", pkgConfig: "libnl-route-3.0", providers: [.apt(["libnl-3-dev", "libnl-route-3-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),

        .target(name: "Netlink", dependencies: ["CNetlink"]),
        .target(name: "Reachability", dependencies: ["Netlink"]),
        .target(name: "ReachabilityTestKit", dependencies: ["Netlink", "Reachability"]),
        .target(name: "DownloadPolicy", dependencies: ["Reachability"]),
        .target(name: "ResourceLoader", dependencies: ["CCurl", "CSQLite", "DownloadPolicy", "Reachability"]),

        .executableTarget(
            name: "reach", dependencies: ["DownloadPolicy", "Netlink", "Reachability", "ReachabilityTestKit"],
            path: "Examples/reach"),

        .executableTarget(
            name: "gallery", dependencies: ["DownloadPolicy", "Reachability", "ResourceLoader"],
            path: "Examples/gallery"),

        .target(name: "CNamespace", path: "Tests/CNamespace"),
        .target(name: "NamespaceTools", dependencies: ["CNamespace"], path: "Tests/NamespaceTools"),
        .testTarget(name: "NetlinkTests", dependencies: ["Netlink", "CNetlink"]),
        .testTarget(
            name: "ReachabilityTests",
            dependencies: ["Netlink", "Reachability", "ReachabilityTestKit", "CNamespace", "NamespaceTools"]
        ),
        .executableTarget(
            name: "policy-helper", dependencies: ["DownloadPolicy", "Reachability"], path: "Tests/PolicyHelper"),
        .testTarget(
            name: "DownloadPolicyTests", dependencies: ["DownloadPolicy", "Reachability", "policy-helper"]),
        .executableTarget(name: "TransferBenchmark", dependencies: ["ResourceLoader"], path: "Tests/TransferBenchmark"),
        .executableTarget(
            name: "CacheTortureChild", dependencies: ["ResourceLoader"], path: "Tests/CacheTortureChild"),
        .testTarget(
            name: "ResourceLoaderTests",
            dependencies: [
                "ResourceLoader", "CacheTortureChild", "DownloadPolicy", "Reachability", "ReachabilityTestKit",
                "NamespaceTools",
            ]),
    ],
    swiftLanguageModes: [.v6]
)
