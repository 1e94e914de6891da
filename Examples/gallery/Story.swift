import DownloadPolicy
import Glibc
import Reachability
import ResourceLoader

/// A phone goes from Wi-Fi to cellular and back, and into a tunnel. It runs in the phone's namespace.
struct Story {
    let page: String
    let world: String

    private let server = "http://10.99.0.1:8080"
    private let wifiRoute = ["default", "via", "10.1.0.1", "dev", "wlan0", "metric", "600"]
    private let cellularRoute = ["default", "via", "10.2.0.1", "dev", "wwan0", "metric", "700"]
    /// The originals' size: what a transfer may cost is measured by it.
    private let originals = Picture.names.indices.map { Picture.original($0).png }

    init(page: String, world: String) {
        self.page = page
        self.world = world
    }

    /// The exit status: 0 if everything held.
    func tell() async throws -> CInt {
        let folder = "/tmp/gallery-story-\(getpid())"
        defer { try? run("rm", "-rf", folder) }
        try run(["ip", "route", "add"] + wifiRoute)
        try run(["ip", "route", "add"] + cellularRoute)
        try await Server.waitUntilItAnswers(at: "10.99.0.1", port: 8080)
        let diary = Diary()
        let sampler = Task {
            while !Task.isCancelled {
                diary.sample()
                try await Task.sleep(for: .milliseconds(50))
            }
        }
        do {
            try await withViewer(folder, diary) { try await walk($0, diary) }
            try prepareHandover()
            // A loader of its own, for which the network has not come and gone so often that it would rather wait.
            try await withViewer(folder, diary) { try await measure($0, diary) }
        } catch {
            diary.check("the story went on to its end: \(error)", false)
        }
        sampler.cancel()
        diary.close()
        try Page(diary.entries).write(to: page)
        let checks = diary.entries.chapters.flatMap(\.checks)
        let held = checks.filter(\.holds).count
        say("\n\(held) of \(checks.count) statements hold. The page: \(page)")
        return held == checks.count ? 0 : 1
    }

    private func withViewer(_ folder: String, _ diary: Diary, _ body: (Viewer) async throws -> Void) async throws {
        let monitor = ReachabilityMonitor()
        try monitor.start()
        let gallery = try Gallery(server: server, folder: folder, monitor: monitor)
        let watcher = Task { for await path in monitor { diary.note(path) } }
        let viewer = Viewer(gallery, diary)
        let result: Result<Void, any Error>
        do { result = .success(try await body(viewer)) } catch { result = .failure(error) }
        viewer.clear()
        watcher.cancel()
        await gallery.loader.shutDown()
        monitor.stop()
        try result.get()
    }

    private func walk(_ viewer: Viewer, _ diary: Diary) async throws {
        let size = Int64(originals[0].count)
        let thumbnail = Int64(Picture.thumbnail(0).png.count)

        diary.open("At home: Wi-Fi, with cellular behind it")
        var before = Received.now()
        try await viewer.show("lake")
        try await viewer.wait("lake") { $0.variant == .original && $0.isAtRest }
        var spent = Received.now() - before
        diary.check("the original of the lake is on the screen", try viewer.matches("lake", originals[0]))
        diary.check("it came over Wi-Fi (\(bytes(spent.wifi)))", spent.wifi > size)
        diary.check("cellular carried nothing to speak of (\(bytes(spent.cellular)))", spent.cellular < 2000)

        diary.open("Out of the door: Wi-Fi is cut in mid-transfer")
        before = Received.now()
        try await viewer.show("ridge")
        try await viewer.wait("ridge") { $0.received(.original) > size / 2 }
        try run("ip", "link", "set", "wlan0", "down")
        try await viewer.wait("ridge") { $0.variant == .thumbnail && $0.isAtRest }
        try await viewer.hold(for: .seconds(1))
        spent = Received.now() - before
        diary.check("the thumbnail is on the screen, and the original waits", viewer.isWaiting("ridge"))
        diary.check(
            "cellular carried the thumbnail and no more (\(bytes(spent.cellular)))",
            spent.cellular > thumbnail && spent.cellular < thumbnail * 13 / 10 + 8000)

        diary.open("Home again: Wi-Fi is back, and stays")
        let (beforeUpgrade, resumedBefore) = (Received.now(), viewer.gallery.loader.transfers.resumed)
        let upgradeBegan = diary.now
        try run("ip", "link", "set", "wlan0", "up")
        try run(["ip", "route", "add"] + wifiRoute)
        try await viewer.wait("ridge") { $0.variant == .original && $0.isAtRest }
        spent = Received.now() - beforeUpgrade
        let resumed = viewer.gallery.loader.transfers.resumed - resumedBefore
        diary.check(
            "the original of the ridge is on the screen, byte for byte", try viewer.matches("ridge", originals[1]))
        diary.check("it was resumed: \(bytes(resumed)) of \(bytes(size)) were there already", resumed > size / 3)
        diary.check(
            "Wi-Fi carried the rest only (\(bytes(spent.wifi)))", spent.wifi < (size - resumed) * 11 / 10 + 20_000)
        diary.check("cellular carried nothing meanwhile (\(bytes(spent.cellular)))", spent.cellular < 2000)
        diary.check("it waited for Wi-Fi to hold for three seconds", diary.now - upgradeBegan > 3)

        diary.open("Into the tunnel: no network at all")
        try run("ip", "link", "set", "wlan0", "down")
        try run("ip", "link", "set", "wwan0", "down")
        before = Received.now()
        viewer.clear()
        for name in ["lake", "ridge", "dusk"] { try await viewer.show(name) }
        try await viewer.wait("dusk") { $0.placeholder == .offline && !$0.activity.isRunning }
        try await viewer.wait("lake") { $0.variant == .original }
        try await viewer.wait("ridge") { $0.variant == .original }
        spent = Received.now() - before
        diary.check("the lake comes from the cache", try viewer.matches("lake", originals[0]))
        diary.check("the ridge comes from the cache", try viewer.matches("ridge", originals[1]))
        diary.check(
            "the dusk, never loaded, is a placeholder that says why", viewer.placeholder("dusk") == .offline)
        diary.check("nothing travelled (\(bytes(spent.wifi + spent.cellular)))", spent == Received())

        diary.open("Out of the tunnel: cellular")
        viewer.clear()
        try run("ip", "link", "set", "wwan0", "up")
        try run(["ip", "route", "add"] + cellularRoute)
        try await viewer.show("fjord")
        try await viewer.wait("fjord") { $0.variant == .thumbnail && $0.isAtRest }
        diary.check(
            "the thumbnail of the fjord is on the screen", try viewer.matches("fjord", Picture.thumbnail(3).png))
    }

    /// Wi-Fi again, and one address for both uplinks.
    private func prepareHandover() throws {
        let home = ["src", "10.50.0.2"]
        try run("ip", "address", "add", "10.50.0.2/32", "dev", "lo")
        try run("ip", "-n", world, "route", "replace", "10.50.0.2", "via", "10.1.0.2", "dev", "peer-wlan0")
        try run(["ip", "route", "replace"] + cellularRoute + home)
        try run("ip", "link", "set", "wlan0", "up")
        try run(["ip", "route", "add"] + wifiRoute + home)
    }

    /// Moves the default route under a running transfer. The phone keeps one address over both uplinks, as with mobile IP,
    /// so that the connection would go on over cellular if nobody closed it.
    private func measure(_ viewer: Viewer, _ diary: Diary) async throws {
        diary.open("The price of a handover: bytes on the costly link after the kernel's event")
        try await viewer.show("fjord")
        try await viewer.wait("fjord") { $0.received(.original) > Int64(originals[3].count) / 3 }
        let meter = try LinkMeter("wwan0")
        let switcher = try RouteSwitch()
        try run("ip", "-n", world, "route", "replace", "10.50.0.2", "via", "10.2.0.2", "dev", "peer-wwan0")
        let began = monotonicSeconds()
        try switcher.tell("route del \(wifiRoute.joined(separator: " "))\n")
        try await viewer.wait("fjord") { _ in viewer.isWaiting("fjord") }
        try await Task.sleep(for: .milliseconds(400))
        let growth = await meter.stop()
        switcher.end()
        let after = growth.filter { $0.time >= began }
        let late = after.reduce(0) { $0 + $1.bytes }
        let last = after.last.map { ($0.time - began) * 1000 } ?? 0
        diary.fact("bytes on cellular after the kernel was told", bytes(late))
        diary.fact("from giving the command to the last of them", after.isEmpty ? "none came" : "\(last.fixed(2)) ms")
        let pause = viewer.gallery.loader.transfers.slowestPause
        diary.fact(
            "slowest close of a connection, from the loader's hearing of it",
            "\((pause / .milliseconds(1)).fixed(3)) ms")
        diary.check("the original stopped at once: less than 64 KiB came late", late < 65_536)
        diary.check("the thumbnail stays on the screen, and the original waits", viewer.isWaiting("fjord"))
    }
}
