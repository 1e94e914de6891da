// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "swift-reachability",
    products: [
        .library(name: "DownloadPolicy", targets: ["DownloadPolicy"])
    ],
    targets: [
        .target(name: "DownloadPolicy"),
        .testTarget(name: "DownloadPolicyTests", dependencies: ["DownloadPolicy"]),
    ],
    swiftLanguageModes: [.v6]
)
