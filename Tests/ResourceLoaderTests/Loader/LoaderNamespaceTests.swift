import DownloadPolicy
import Foundation
import NamespaceTools
import Reachability
import TestSupport
import Testing

@testable import ResourceLoader

/// Root, or at least its capabilities, and iproute2.
private let canMakeNamespaces =
    FileManager.default.isExecutableFile(atPath: Namespace.iproute2) && (try? Namespace()) != nil

/// A phone with two uplinks and a world with a server, on the real kernel.
@Suite(
    "A loader in a network namespace", .takingTurns, .timeLimit(.minutes(10)),
    .enabled(if: canMakeNamespaces, "needs root and iproute2"))
struct LoaderNamespaceTests {
    private let phone: Namespace
    private let world: Namespace
    private let folder = TemporaryFolder()

    init() throws {
        phone = try Namespace()
        world = try Namespace()
        try phone.ip("link set lo up")
        try world.ip("link set lo up")
        try world.ip("addr add 10.99.0.1/32 dev lo")
    }

    private func uplink(_ name: String, _ network: Int, metric: Int) throws {
        try phone.ip("link add \(name) type veth peer name \(name) netns \(world.path)")
        for (side, host) in [(phone, 2), (world, 1)] {
            try side.ip("addr add 10.\(network).0.\(host)/24 dev \(name)")
            try side.ip("link set \(name) up")
        }
        try phone.ip("route add default via 10.\(network).0.1 dev \(name) metric \(metric)")
    }

    /// Bytes that have come in over a link.
    private func received(_ link: String) throws -> Int {
        let table = try phone.inside { try String(contentsOfFile: "/proc/thread-self/net/dev", encoding: .utf8) }
        let words = table.split(separator: "\n").map { $0.split { $0 == " " || $0 == ":" } }
        let line = try #require(words.first { $0.first.map(String.init) == link })
        return try #require(Int(line[1]))
    }

    /// A server in the world that stops in the middle of the original.
    private func server() throws -> PictureServer {
        let server = try world.inside { try PictureServer(host: "10.99.0.1") }
        server.next("/original", .stops(after: 400_000))
        return server
    }

    /// Starts everything on a thread that is in the namespace; sockets and threads stay in it.
    private func loader(_ monitor: ReachabilityMonitor) throws -> ResourceLoader {
        let preferences = try PreferencesStore(path: folder.path + "/preferences")
        let cache = try DiskCache(directory: folder.path + "/cache")
        return try phone.inside {
            try monitor.start()
            return try ResourceLoader(monitor: monitor, preferences: preferences, cache: cache)
        }
    }

    @Test func followsTheDefaultRouteInMidDownload() async throws {
        try uplink("wlan0", 1, metric: 100)
        try uplink("wlan1", 2, metric: 200)
        let server = try server()
        let monitor = ReachabilityMonitor()
        defer { monitor.stop() }
        let loader = try loader(monitor)
        var shown = Displays(loader.load(try server.resource("picture")))
        try await shown.expectBytes(200_000, of: .original)
        #expect(try received("wlan1") < 10_000)
        try phone.ip("route del default via 10.1.0.1 dev wlan0 metric 100")
        try await shown.expect(.original, PictureServer.original)
        let start = try #require(server.requests("/original").last?.rangeStart)
        #expect(start > 200_000)
        // Headers of frames and answers make a tenth at most.
        let (first, second, rest) = (try received("wlan0"), try received("wlan1"), 900_000 - start)
        #expect(first >= start && first < 460_000)
        #expect(second >= rest && second < rest * 11 / 10)
        #expect(server.requests("/thumbnail").isEmpty)
        await loader.shutDown()
    }

    @Test func leavesOnlyTheThumbnailToCellular() async throws {
        try uplink("wlan0", 1, metric: 100)
        try uplink("wwan0", 2, metric: 200)
        let server = try server()
        let monitor = ReachabilityMonitor()
        defer { monitor.stop() }
        let loader = try loader(monitor)
        var shown = Displays(loader.load(try server.resource("picture")))
        try await shown.expectBytes(200_000, of: .original)
        try phone.ip("link set wlan0 down")
        try await shown.expect(.thumbnail, PictureServer.thumbnail)
        #expect(try received("wwan0") < 10_000)
        #expect(server.requests("/original").count == 1)
        await loader.shutDown()
    }
}
