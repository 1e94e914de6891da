// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "swift-reachability",
    products: [
        .library(name: "ResourceLoader", targets: ["ResourceLoader"])
    ],
    targets: [
        .systemLibrary(name: "CCurl", pkgConfig: "libcurl", providers: [.apt(["libcurl4-openssl-dev"])]),
        .target(name: "ResourceLoader", dependencies: ["CCurl"]),
        .executableTarget(name: "TransferBenchmark", dependencies: ["ResourceLoader"], path: "Tests/TransferBenchmark"),
        .testTarget(name: "ResourceLoaderTests", dependencies: ["ResourceLoader"]),
    ],
    swiftLanguageModes: [.v6]
)
