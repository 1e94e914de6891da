import DownloadPolicy
import Glibc
import Reachability
import ReachabilityTestKit
import TestSupport
import Testing

@testable import ResourceLoader

@Suite("A loader", .takingTurns, .timeLimit(.minutes(10)))
struct LoaderTests {
    private let rig: LoaderRig

    init() throws { rig = try LoaderRig() }

    // MARK: What is shown

    @Test func showsTheOriginalOnWiFiWithoutAskingForTheThumbnail() async throws {
        try rig.wifi()
        var shown = Displays(rig.loader.load(try rig.resource()))
        let display = try await shown.expect(.original, PictureServer.original)
        #expect(display.decision.plan == .settled)
        #expect(rig.server.requests("/thumbnail").isEmpty)
        #expect(rig.server.requests("/original").count == 1)
    }

    @Test func showsTheThumbnailOnCellularAndPlansTheOriginal() async throws {
        try rig.cellular()
        var shown = Displays(rig.loader.load(try rig.resource()))
        let display = try await shown.expect(.thumbnail, PictureServer.thumbnail)
        #expect(display.decision.plan == .comeBack(for: .original, when: [.unmetered]))
        #expect(rig.server.requests("/original").isEmpty)
    }

    @Test func showsTheCachedOriginalWhateverTheNetwork() async throws {
        try rig.store(PictureServer.original, as: .original)
        try rig.store(PictureServer.thumbnail, as: .thumbnail)
        var shown = Displays(rig.loader.load(try rig.resource()))
        try await shown.expect(.original, PictureServer.original)
        try rig.cellular()
        var onCellular = Displays(rig.loader.load(try rig.resource()))
        try await onCellular.expect(.original, PictureServer.original)
        #expect(rig.server.server.requests.isEmpty)
    }

    @Test func showsAPlaceholderOfTheKind() async throws {
        var offline = Displays(rig.loader.load(try rig.resource()))
        try await offline.expect(.offline)
        try rig.preferences.update { $0.mode = .cachedOnly }
        try rig.wifi()
        try await offline.expect(.deferred)
        try rig.preferences.update { $0.mode = .automatic }
        try await offline.expect(.original, PictureServer.original)
    }

    @Test func showsTheOriginalOnCellularWhenTheUserWantsItAlways() async throws {
        let rig = try LoaderRig(.alwaysOriginal)
        try rig.cellular()
        var shown = Displays(rig.loader.load(try rig.resource()))
        try await shown.expect(.original, PictureServer.original)
    }

    @Test func showsTheOriginalThatATapAskedFor() async throws {
        try rig.cellular()
        var shown = Displays(rig.loader.load(try rig.resource(), trigger: .user(naming: .original)))
        try await shown.expect(.original, PictureServer.original)
    }

    @Test func sharesOneTransferAmongEqualLoads() async throws {
        try rig.wifi()
        rig.server.next("/original", .holds(after: 300_000))
        var one = Displays(rig.loader.load(try rig.resource()))
        try await one.expectBytes(0, of: .original)
        var other = Displays(rig.loader.load(try rig.resource()))
        try await other.expectBytes(0, of: .original)
        rig.server.letGo()
        try await one.expect(.original, PictureServer.original)
        try await other.expect(.original, PictureServer.original)
        #expect(rig.server.requests("/original").count == 1)
    }

    @Test func asksAboutAStaleCopyAndKeepsItWhenNothingChanged() async throws {
        try rig.store(PictureServer.original, as: .original, lifetime: .zero)
        rig.wallClock.move(by: .seconds(60))
        try rig.wifi()
        var shown = Displays(rig.loader.load(try rig.resource()))
        try await shown.expect("a fresh original") {
            $0.variant == .original && $0.isAtRest && $0.decision.reasons.contains { $0.rule == .alreadyFresh }
        }
        #expect(rig.server.requests("/original").map { $0["If-None-Match"] } == ["\"900000\""])
        #expect(rig.loader.transfers.received == 0)
        #expect(rig.loader.transfers.failed == 0)
        // What the answer says of its age counts from now on.
        let entry = try rig.disk.entry(of: CacheKey("picture"), variant: .original)
        #expect(entry?.metadata.lifetime == .seconds(3600))
    }

    @Test func refetchesNothingThatAClearHasRefused() async throws {
        try rig.wifi()
        rig.server.next("/original", .holds(after: 400_000))
        var shown = Displays(rig.loader.load(try rig.resource()))
        try await shown.expectBytes(200_000, of: .original)
        try rig.loader.cache.removeAll()
        rig.server.letGo()
        let failed = try await shown.expect("the failure") { $0.failure != nil }
        #expect(failed.failure == .storage)
        #expect(rig.server.requests("/original").count == 1)
        #expect(try rig.disk.entry(of: CacheKey("picture"), variant: .original) == nil)
    }

    @Test func showsWhatIsStaleAtOnceWithoutAskingAgainAndAgain() async throws {
        let rig = try LoaderRig(headers: ["Cache-Control: no-cache"])
        try rig.wifi()
        var shown = Displays(rig.loader.load(try rig.resource()))
        try await shown.expect(.original, PictureServer.original)
        #expect(rig.server.requests("/original").count == 1)
    }

    @Test func keepsWhatMustNotBeStoredOnlyWhileItIsShown() async throws {
        let rig = try LoaderRig(headers: ["Cache-Control: private", "cache-control: no-store"])
        try rig.wifi()
        do {
            var shown = Displays(rig.loader.load(try rig.resource()))
            try await shown.expect(.original, PictureServer.original)
        }
        let key = CacheKey("picture")
        try await until { (try? rig.disk.entry(of: key, variant: .original)) == .some(nil) }
        #expect(rig.server.requests("/original").count == 1)
    }

    // MARK: What is had by one call

    @Test func givesTheBestThatCanBeHadNow() async throws {
        try rig.cellular()
        try await until { rig.loader.path.status == .wwan && rig.loader.advisor.path.status == .wwan }
        let small = try await rig.loader.body(of: try rig.resource(), trigger: .visible)
        #expect(small.entry.variant == .thumbnail)
        let large = try await rig.loader.body(of: try rig.resource(), trigger: .user(naming: .original))
        #expect(large.entry.variant == .original)
    }

    @Test(arguments: [("403 Forbidden", false), ("404 Not Found", false), ("403 Forbidden", true)])
    func givesTheLesserOneWhereTheBetterFails(status: String, isStored: Bool) async throws {
        try await rig.seenWiFi()
        rig.server.always("/original", .status(status))
        if isStored { try rig.store(PictureServer.thumbnail, as: .thumbnail) }
        let picture = try rig.resource()
        do throws(ResourceFailure) {
            let body = try await rig.loader.body(of: picture)
            #expect(body.entry.variant == .thumbnail)
        } catch {
            // Nothing lesser is fetched in place of what is forbidden.
            #expect(error == .transfer(.unauthorized) && status.hasPrefix("403") && !isStored)
        }
    }

    // MARK: When the cache is full

    @Test func keepsWhatIsShownHoweverLittleFitsIntoTheCache() async throws {
        let rig = try LoaderRig(cache: 2 * 4096)
        try rig.cellular()
        var one = Displays(rig.loader.load(try rig.resource("one")))
        try await one.expect(.thumbnail, PictureServer.thumbnail)
        var two = Displays(rig.loader.load(try rig.resource("two")))
        try await two.expect(.thumbnail, PictureServer.thumbnail)
        var three = Displays(rig.loader.load(try rig.resource("three")))
        try await three.expect(.thumbnail, PictureServer.thumbnail)
        #expect(rig.disk.statistics.evictions == 0)
        #expect(rig.server.requests("/thumbnail").count == 3)
        // The loads, and what they show, live until here.
        #expect([one.seen.last, two.seen.last].allSatisfy { $0?.variant == .thumbnail })
    }

    @Test func showsWhatItHasUntilSomethingElseComes() async throws {
        try rig.cellular()
        var shown = Displays(rig.loader.load(try rig.resource()))
        try await shown.expect(.thumbnail, PictureServer.thumbnail)
        rig.server.next("/thumbnail", .holds(after: 2000))
        try rig.loader.cache.removeAll()
        try await shown.expect("the thumbnail on its way again") { $0.activity.isRunning }
        rig.server.letGo()
        try await shown.expect(.thumbnail, PictureServer.thumbnail)
        #expect(shown.seen.drop { $0.variant == nil }.allSatisfy { $0.variant == .thumbnail })
    }

    @Test func prefetchesNothingAgainThatHadToMakeRoom() async throws {
        let rig = try LoaderRig(cache: 2_000_000)
        try await rig.seenWiFi()
        var iterators: [AsyncStream<ResourceDisplay>.Iterator] = []
        for name in ["one", "two", "three"] {
            var displays = rig.loader.load(try rig.resource(ResourceID(name)), trigger: .prefetch).makeAsyncIterator()
            while let display = await displays.next() {
                if display.variant == .original, display.isAtRest { break }
            }
            iterators.append(displays)
        }
        try #require(rig.disk.statistics.evictions == 1)
        var isAtRest: Bool?
        while isAtRest == nil, let display = await iterators[0].next() {
            if !display.decision.fetches.isEmpty { isAtRest = display.isAtRest }
        }
        #expect(isAtRest == true)
        #expect(rig.server.requests("/original").count == 3)
    }

    // MARK: Callers' code

    @Test func asksTheCallerForFactsOffTheMonitorsThread() async throws {
        let kernel = SimulatedKernel()
        let monitor = kernel.makeMonitor()
        try monitor.start()
        defer { monitor.stop() }
        let reader = await Task(executorPreference: monitor.readerExecutor) { pthread_self() }.value
        let (threads, asked) = AsyncStream.makeStream(of: pthread_t.self)
        let loader = try ResourceLoader(monitor: monitor, preferences: rig.preferences, cache: rig.disk) { path in
            asked.yield(pthread_self())
            return PathFacts(path)
        }
        try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1", metric: 600)
        try await until { loader.path.status == .wifi && loader.advisor.path.status == .wifi }
        asked.finish()
        for await thread in threads { #expect(thread != reader) }
    }

    // MARK: How it ends

    @Test func endsItsLoadsWhenItIsShutDown() async throws {
        try rig.wifi()
        var shown = try await rig.loadAndStop()
        await rig.loader.shutDown()
        await shown.end()
    }

    @Test func beginsNothingOnceItIsShutDown() async throws {
        try rig.wifi()
        await rig.loader.shutDown()
        var shown = Displays(rig.loader.load(try rig.resource()))
        await shown.end()
        #expect(rig.server.server.requests.isEmpty)
    }

    // MARK: What fails

    @Test func takesTheLesserRungWhenTheOriginalIsTooLarge() async throws {
        try rig.wifi()
        var shown = Displays(rig.loader.load(try rig.resource(limit: 500_000)))
        let display = try await shown.expect(.thumbnail, PictureServer.thumbnail)
        #expect(display.decision.plan == .settled)
        #expect(rig.server.requests("/original").count == 1)
    }

    @Test func fetchesNoMoreThanTheHeadOfWhatTheCacheCannotHold() async throws {
        let rig = try LoaderRig(cache: 500_000)
        rig.server.next("/original", .holds(after: 10_000))
        try rig.wifi()
        var shown = Displays(rig.loader.load(try rig.resource()))
        try await shown.expect(.thumbnail, PictureServer.thumbnail)
        #expect(rig.server.requests("/original").count == 1)
        rig.server.letGo()
    }

    @Test func takesTheLesserRungWhenTheOriginalIsMissing() async throws {
        rig.server.always("/original", .status("404 Not Found"))
        try rig.wifi()
        var shown = Displays(rig.loader.load(try rig.resource()))
        try await shown.expect(.thumbnail, PictureServer.thumbnail)
        #expect(rig.server.requests("/original").count == 1)
    }

    @Test func showsAFailureAndTriesAgainWhenTheTimeHasCome() async throws {
        rig.server.always("/original", .status("500 Internal Server Error"))
        try rig.wifi()
        var shown = Displays(rig.loader.load(try rig.resource()))
        let failed = try await shown.expect("the failure") { $0.placeholder == .failed }
        #expect(failed.failure == .server)
        rig.server.always("/original", .good)
        // Longer than any jitter of a first failure.
        rig.clock.advance(by: .seconds(1))
        try await shown.expect(.original, PictureServer.original)
    }

    @Test func doesNotRepeatWhatIsNotAllowed() async throws {
        rig.server.always("/original", .status("403 Forbidden"))
        try rig.wifi()
        var shown = Displays(rig.loader.load(try rig.resource()))
        let failed = try await shown.expect(.failed)
        #expect(failed.failure == .unauthorized)
        try await rig.advance(by: .seconds(60))
        #expect(rig.server.requests("/original").count == 1)
    }

    @Test func takesANewURLForALoadThatFailedWithTheOldOne() async throws {
        let rig = try LoaderRig(.alwaysOriginal)
        try rig.cellular()
        rig.server.always("/original?expired", .status("403 Forbidden"))
        let url = rig.server.server.url("/original")
        var old = Displays(rig.loader.load(try Resource("picture", thumbnail: url, original: url + "?expired")))
        try await old.expect(.failed)
        // A prefetch brings the new URL, and fetches nothing itself on a costly path.
        let new = rig.loader.load(try rig.resource(), trigger: .prefetch)
        try await old.expect(.original, PictureServer.original)
        #expect(rig.server.requests("/original").count == 1)
        withExtendedLifetime(new) {}
    }

    @Test func reportsASuccessWhileTheMonitorSaysOffline() async throws {
        var evidence = rig.loader.evidence().makeAsyncIterator()
        let looks = rig.monitor.statistics.snapshots
        var shown = Displays(rig.loader.load(try rig.resource(), trigger: .user))
        // Loopback works although the simulated machine has no way out: the tap's one attempt gets through.
        try await shown.expect("something") { $0.variant != nil }
        #expect(await evidence.next()?.contradictsPath == true)
        try await until { rig.loader.statistics.contradictions > 0 && rig.monitor.statistics.snapshots > looks }
    }
}
