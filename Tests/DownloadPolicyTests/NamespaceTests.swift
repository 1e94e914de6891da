import TestSupport
import Testing

@testable import DownloadPolicy

/// The app of a few lines that is in the helper, in a network namespace whose links come and go.
@Suite(
    .takingTurns, .timeLimit(.minutes(10)),
    .enabled(if: HelperProcess.canBeAlone || isEverythingRequired, "needs root, unshare and ip"))
struct NamespaceTests {
    private func add(_ name: String, _ network: Int) -> String {
        """
        ip link add \(name) type veth peer name peer\(network) && ip link set peer\(network) up && \
        ip address add 10.9.\(network).2/24 dev \(name) && ip link set \(name) up && \
        ip route add default via 10.9.\(network).1 dev \(name)
        """.replacing("\n", with: " ")
    }

    @Test func picksThePictureByTheNetwork() async throws {
        let folder = TemporaryFolder()
        let app = try HelperProcess("follow", folder.file("preferences"), "nothing", isAlone: true)
        defer { app.kill() }
        #expect(await app.says("show placeholder, load nothing"))
        try app.tell(add("wwan0", 1))
        #expect(await app.says("show placeholder, load thumbnail"))
        try app.tell("ip link delete wwan0")
        #expect(await app.says("show placeholder, load nothing"))
        try app.tell(add("wlan0", 2))
        #expect(await app.says("show placeholder, load original"))
        try app.tell("ip link delete wlan0")
        #expect(await app.says("show placeholder, load nothing"))
        try app.tell(add("wwan0", 1))
        #expect(await app.says("show placeholder, load thumbnail"))
        // Another process turns the setting on.
        try PreferencesStore(path: folder.file("preferences")).update { $0.alwaysDownloadOriginal = true }
        #expect(await app.says("show placeholder, load original"))
    }

    @Test func showsTheCachedThumbnailMeanwhile() async throws {
        let folder = TemporaryFolder()
        let app = try HelperProcess("follow", folder.file("preferences"), "thumbnail", isAlone: true)
        defer { app.kill() }
        #expect(await app.says("show thumbnail, load nothing"))
        try app.tell(add("wlan0", 1))
        #expect(await app.says("show thumbnail, load original"))
        try app.tell("ip link set peer1 down")
        #expect(await app.says("show thumbnail, load nothing"))
        try app.tell("ip link set peer1 up && ip route replace default via 10.9.1.1 dev wlan0")
        #expect(await app.says("show thumbnail, load original"))
    }
}
