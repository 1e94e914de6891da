// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "swift-reachability",
    products: [
        .library(name: "DownloadPolicy", targets: ["DownloadPolicy"])
    ],
    targets: [
        .target(name: "DownloadPolicy"),
        .executableTarget(
            name: "policy-store-helper", dependencies: ["DownloadPolicy"], path: "Tests/PolicyStoreHelper"),
        .testTarget(name: "DownloadPolicyTests", dependencies: ["DownloadPolicy", "policy-store-helper"]),
    ],
    swiftLanguageModes: [.v6]
)
