// swift-tools-version: 6.3

import PackageDescription

let package = Package(
    name: "swift-reachability",
    products: [
        .library(name: "Reachability", targets: ["Reachability"]),
        .library(name: "ReachabilityTestKit", targets: ["ReachabilityTestKit"]),
        .library(name: "DownloadPolicy", targets: ["DownloadPolicy"]),
        .library(name: "ResourceLoader", targets: ["ResourceLoader"]),
        .library(name: "AFNetworkReachability", targets: ["AFNetworkReachability"]),
        .library(name: "Network", targets: ["Network"]),
        .executable(name: "reach", targets: ["reach"]),
        .executable(name: "gallery", targets: ["gallery"]),
    ],
    targets: [
        .systemLibrary(
            name: "CNetlink", pkgConfig: "libnl-3.0", providers: [.apt(["libnl-3-dev"])]),
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),

        // A dependency points up this list only.
        .target(name: "Netlink", dependencies: ["CNetlink"]),
        .target(name: "Threads"),
        .target(name: "Reachability", dependencies: ["Netlink", "Threads"]),
        .target(name: "ReachabilityTestKit", dependencies: ["Netlink", "Reachability"]),
        .target(name: "DownloadPolicy", dependencies: ["Reachability", "Threads"]),
        .target(
            name: "ResourceLoader", dependencies: ["CCurl", "CSQLite", "DownloadPolicy", "Reachability", "Threads"]),
        .target(name: "AFNetworkReachability", dependencies: ["Reachability"]),
        .target(name: "Network", dependencies: ["Reachability"]),

        .executableTarget(
            name: "reach", dependencies: ["DownloadPolicy", "Netlink", "Reachability", "ReachabilityTestKit"],
            path: "Examples/reach"),

        .executableTarget(
            name: "gallery", dependencies: ["DownloadPolicy", "Reachability", "ResourceLoader"],
            path: "Examples/gallery"),

        .target(name: "TestSupport", path: "Tests/TestSupport"),
        .testTarget(
            name: "NetlinkTests", dependencies: ["CNetlink", "Netlink", "TestSupport"], resources: [.copy("Fixtures")]),
        .target(name: "CNamespace", path: "Tests/CNamespace"),
        .target(name: "NamespaceTools", dependencies: ["CNamespace"], path: "Tests/NamespaceTools"),
        .testTarget(
            name: "ReachabilityTests",
            dependencies: [
                "CNamespace", "CNetlink", "NamespaceTools", "Netlink", "Reachability", "ReachabilityTestKit",
                "TestSupport",
            ],
            exclude: ["Replay/Fixtures"]),
        .testTarget(name: "ReachTests", dependencies: ["reach", "Reachability", "ReachabilityTestKit", "TestSupport"]),
        .testTarget(name: "HostTests", dependencies: ["Reachability", "ReachabilityTestKit", "TestSupport"]),
        .executableTarget(
            name: "policy-helper", dependencies: ["DownloadPolicy", "Reachability"], path: "Tests/PolicyHelper"),
        .testTarget(
            name: "DownloadPolicyTests",
            dependencies: ["DownloadPolicy", "policy-helper", "Reachability", "ReachabilityTestKit", "TestSupport"]),
        .executableTarget(
            name: "CacheTortureChild", dependencies: ["ResourceLoader"], path: "Tests/CacheTortureChild"),
        .executableTarget(
            name: "TransferBenchmark", dependencies: ["ResourceLoader"], path: "Tests/TransferBenchmark"),
        .testTarget(
            name: "ResourceLoaderTests",
            dependencies: [
                "CacheTortureChild", "DownloadPolicy", "NamespaceTools", "Reachability", "ReachabilityTestKit",
                "ResourceLoader", "TestSupport",
            ]),
        .testTarget(
            name: "AFNetworkReachabilityTests",
            dependencies: ["AFNetworkReachability", "Reachability", "ReachabilityTestKit", "TestSupport"]),
        .testTarget(
            name: "NetworkTests",
            dependencies: [
                "AFNetworkReachability", "Network", "Reachability", "ReachabilityTestKit", "Snippets", "TestSupport",
            ]),
        // Sources in the style of those that were written for Apple's platforms, in the language mode most of them were written in.
        .target(
            name: "Snippets", dependencies: ["Network", "AFNetworkReachability"], path: "Tests/Snippets",
            swiftSettings: [.swiftLanguageMode(.v5)]),
    ],
    swiftLanguageModes: [.v6]
)
