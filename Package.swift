// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "swift-reachability",
    products: [
        .library(name: "ResourceLoader", targets: ["ResourceLoader"])
    ],
    targets: [
        .systemLibrary(name: "CSQLite", pkgConfig: "sqlite3", providers: [.apt(["libsqlite3-dev"])]),
        .target(name: "ResourceLoader", dependencies: ["CSQLite"]),
        .executableTarget(
            name: "CacheTortureChild", dependencies: ["ResourceLoader"], path: "Tests/CacheTortureChild"),
        .testTarget(name: "ResourceLoaderTests", dependencies: ["ResourceLoader", "CacheTortureChild"]),
    ],
    swiftLanguageModes: [.v6]
)
