import DownloadPolicy
import TestSupport
import Testing

@testable import ResourceLoader

/// The table "Running transfers when the path changes", seen from what is shown and requested.
@Suite("A loader whose network changes", .takingTurns, .timeLimit(.minutes(10)))
struct LoaderNetworkTests {
    private let rig: LoaderRig

    init() throws { rig = try LoaderRig() }

    private func isWaiting(_ display: ResourceDisplay, for condition: WaitCondition) -> Bool {
        if case .waiting(.original, for: condition) = display.activity { true } else { false }
    }

    /// What was asked for first and after a stop: the whole, then the rest.
    private func expectOneResume(of rig: LoaderRig, _ location: SourceLocation = #_sourceLocation) {
        let starts = rig.server.requests("/original").map(\.rangeStart)
        #expect(starts.count == 2, sourceLocation: location)
        #expect(starts.first == .some(nil), sourceLocation: location)
        #expect(starts.last.flatMap(\.self).map { $0 > 0 } == true, sourceLocation: location)
    }

    @Test(arguments: [false, true])
    func pausesTheOriginalShowsTheThumbnailAndResumes(isGapSeen: Bool) async throws {
        try rig.wifi()
        var shown = try await rig.loadAndStop()
        try rig.cellular()
        try await rig.noWiFi(isGapSeen: isGapSeen)
        var departures = rig.server.departures.makeAsyncIterator()
        #expect(await departures.next() == "/original")
        try await shown.expect("the thumbnail, and the original waiting") {
            $0.variant == .thumbnail && isWaiting($0, for: .unmetered) && $0.isAtRest
        }
        #expect(rig.server.requests("/original").count == 1)
        try rig.wifi()
        try await shown.expectTheOriginalOnceThePathHeld(rig)
        expectOneResume(of: rig)
    }

    @Test func finishesAnOriginalThatIsNearlyThere() async throws {
        try rig.wifi()
        rig.server.next("/original", .holds(after: 880_000))
        var shown = Displays(rig.loader.load(try rig.resource()))
        try await shown.expectBytes(830_000, of: .original)
        try rig.kernel.connect("wwan0", address: "10.2.0.2/24", gateway: "10.2.0.1", metric: 1)
        try await shown.expect("the original on the costly path") {
            $0.variant == .original && $0.isAtRest && $0.decision.reasons.contains { $0.rule == .expensive }
        }
        #expect(rig.server.requests("/thumbnail").isEmpty)
        rig.server.letGo()
    }

    @Test func keepsWhatIsThereWhenTheNetworkGoesAndResumes() async throws {
        try rig.wifi()
        var shown = try await rig.loadAndStop()
        try rig.noWiFi()
        try await shown.expect("the original waiting") { isWaiting($0, for: .online) }
        try rig.wifi()
        try await shown.expect(.original, PictureServer.original)
        expectOneResume(of: rig)
    }

    @Test func movesToAnotherGatewayAtOnce() async throws {
        try rig.wifi()
        var shown = try await rig.loadAndStop()
        try rig.kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.254", metric: 100)
        try await shown.expect(.original, PictureServer.original)
        expectOneResume(of: rig)
        #expect(shown.seen.allSatisfy { $0.variant != .thumbnail })
    }

    @Test func followsTheSettingInMidTransfer() async throws {
        let rig = try LoaderRig(.alwaysOriginal)
        try rig.cellular()
        var shown = try await rig.loadAndStop()
        try rig.preferences.update { $0.alwaysDownloadOriginal = false }
        try await shown.expect("the thumbnail, and the original waiting") {
            $0.variant == .thumbnail && isWaiting($0, for: .unmetered)
        }
        try rig.preferences.update { $0.alwaysDownloadOriginal = true }
        try await shown.expect(.original, PictureServer.original)
        expectOneResume(of: rig)
    }

    @Test func finishesAThumbnailThatIsUnderWayBeforeTheOriginalWhileNothingIsShown() async throws {
        try rig.cellular()
        rig.server.always("/thumbnail", .holds(after: 2000))
        var shown = Displays(rig.loader.load(try rig.resource()))
        try await shown.expect("the thumbnail on its way") {
            if case .fetching(.thumbnail, let received, _) = $0.activity { received > 0 } else { false }
        }
        try rig.preferences.update { $0.alwaysDownloadOriginal = true }
        let display = try await shown.expect("the original wanted") { $0.decision.fetches == [Fetch(Quality(rung: 1))] }
        #expect(display.activity == .fetching(.thumbnail, received: 2000, total: 4000))
        rig.server.letGo()
        try await shown.expect("the thumbnail") { $0.variant == .thumbnail }
        try await shown.expect(.original, PictureServer.original)
    }

    @Test func givesUpWhatTheUserNoLongerWantsFromTheNetwork() async throws {
        try rig.wifi()
        var shown = try await rig.loadAndStop()
        try rig.preferences.update { $0.mode = .cachedOnly }
        try await shown.expect(.deferred)
        try await rig.advance(by: .seconds(1))
        var departures = rig.server.departures.makeAsyncIterator()
        #expect(await departures.next() == "/original")
        try rig.preferences.update { $0.mode = .automatic }
        try await shown.expect(.original, PictureServer.original)
        expectOneResume(of: rig)
    }

    @Test(arguments: [false, true])
    func stopsAPrefetchOnACostlyPath(isGapSeen: Bool) async throws {
        try rig.wifi()
        var shown = try await rig.loadAndStop(trigger: .prefetch)
        try rig.cellular()
        try await rig.noWiFi(isGapSeen: isGapSeen)
        try await shown.expect("the prefetch waiting") { isWaiting($0, for: .unmetered) }
        #expect(rig.server.requests("/thumbnail").isEmpty)
        try rig.wifi()
        try await shown.expectTheOriginalOnceThePathHeld(rig)
        expectOneResume(of: rig)
    }

    @Test func aVisibleLoadRaisesAPrefetch() async throws {
        let rig = try LoaderRig(.alwaysOriginal)
        try rig.wifi()
        rig.server.next("/original", .holds(after: 400_000))
        var prefetch = Displays(rig.loader.load(try rig.resource(), trigger: .prefetch))
        try await prefetch.expectBytes(200_000, of: .original)
        var visible = Displays(rig.loader.load(try rig.resource()))
        try await visible.expectBytes(200_000, of: .original)
        try rig.kernel.connect("wwan0", address: "10.2.0.2/24", gateway: "10.2.0.1", metric: 1)
        // As a prefetch it would wait now.
        try await visible.expect(.original, PictureServer.original)
        rig.server.letGo()
    }

    @Test func lingersForASecondWhenNobodyWaits() async throws {
        try rig.wifi()
        rig.server.next("/original", .holds(after: 400_000))
        do {
            var shown = Displays(rig.loader.load(try rig.resource()))
            try await shown.expectBytes(200_000, of: .original)
        }
        // Time stands still, so the transfer is still there for whoever comes back.
        var again = Displays(rig.loader.load(try rig.resource()))
        try await again.expect("anything") { $0.activity != .none }
        rig.server.letGo()
        try await again.expect(.original, PictureServer.original)
        #expect(rig.server.requests("/original").count == 1)
    }

    @Test func resumesWhatWasGivenUpLongAgo() async throws {
        try rig.wifi()
        let before: Int
        do {
            let shown = try await rig.loadAndStop()
            // Shares that were given up for a newer one count, too.
            before = rig.loader.transfers.cancelled
            #expect(!shown.seen.isEmpty)
        }
        var departures = rig.server.departures.makeAsyncIterator()
        try await until { rig.loader.transfers.cancelled > before }
        try await rig.advance(by: .seconds(1))
        #expect(await departures.next() == "/original")
        var again = Displays(rig.loader.load(try rig.resource()))
        try await again.expect(.original, PictureServer.original)
        expectOneResume(of: rig)
    }

    @Test func goesOutAloneAfterAnOutage() async throws {
        rig.server.always("/thumbnail", .silent)
        try await until { rig.loader.path.status == .offline && rig.loader.advisor.path.status == .offline }
        var first = Displays(rig.loader.load(try rig.resource("one")))
        try await first.expect("nothing to be done") { $0.decision.fetches.isEmpty }
        var second = Displays(rig.loader.load(try rig.resource("two")))
        try await second.expect("nothing to be done") { $0.decision.fetches.isEmpty }
        try rig.cellular()
        var arrivals = rig.server.server.arrivals.makeAsyncIterator()
        _ = await arrivals.next()
        try await until { rig.loader.transfers.flights == 2 }
        try await rig.hearTheTransfers()
        #expect(rig.loader.transfers.mostAtOnce == 1)
        rig.server.letGo()
        rig.server.letGo()
        try await first.expect(.thumbnail, PictureServer.thumbnail)
        try await second.expect(.thumbnail, PictureServer.thumbnail)
    }
}

@Suite("A loader with a data budget", .takingTurns, .timeLimit(.minutes(10)))
struct LoaderBudgetTests {
    @Test func countsWhatTravelsOverChargedPathsToTheByte() async throws {
        let rig = try LoaderRig(budget: 1_000_000)
        let budget = try #require(rig.budget)
        try rig.cellular()
        var shown = Displays(rig.loader.load(try rig.resource()))
        try await shown.expect(.thumbnail, PictureServer.thumbnail)
        try await until { budget.facts.remaining == 996_000 }
        try rig.noCellular()
        try rig.wifi()
        var free = Displays(rig.loader.load(try rig.resource("free")))
        try await free.expect("the path") { $0.decision.reasons.contains { $0.rule == .settling } }
        try await rig.letThePathHold()
        try await free.expect(.original, PictureServer.original)
        #expect(budget.facts.remaining == 996_000)
        #expect(rig.loader.statistics.unsettledBudgets == 0)
    }

    @Test func setsBytesAsideWhileTheyTravel() async throws {
        let rig = try LoaderRig(.alwaysOriginal, budget: 1_000_000)
        let budget = try #require(rig.budget)
        try rig.cellular()
        rig.server.next("/original", .holds(after: 400_000))
        // What is set aside is what the resource says, which is more than will come.
        var shown = Displays(rig.loader.load(try rig.server.resource("picture", size: 950_000)))
        try await shown.expectBytes(200_000, of: .original)
        #expect(budget.facts.remaining == 50_000)
        rig.server.letGo()
        // What is set aside for it does not stand in its way.
        try await shown.expect(.original, PictureServer.original)
        #expect(rig.server.requests("/original").count == 1)
        #expect(budget.facts.remaining == 100_000)
    }

    @Test func spendsNoMoreThanThereIsOnTransfersThatWereInterrupted() async throws {
        let rig = try LoaderRig(.alwaysOriginal, budget: 1_400_000)
        let budget = try #require(rig.budget)
        try rig.cellular()
        var first = try await rig.loadAndStop()
        try rig.noCellular()
        try await first.expect("the original waiting") {
            if case .waiting(.original, for: .online) = $0.activity { true } else { false }
        }
        // What has come of the first is spent, and there is room for the rest of it or for the whole of a second one, not for both.
        try await until { (1_000_000..<1_200_000).contains(budget.facts.remaining) }
        var second = Displays(rig.loader.load(try rig.resource("another")))
        try await second.expect("nothing to be done") { $0.decision.fetches.isEmpty }
        try rig.cellular()
        try await first.expect("a picture at rest") { $0.variant != nil && $0.isAtRest }
        try await second.expect("a picture at rest") { $0.variant != nil && $0.isAtRest }
        #expect(budget.facts.remaining > 0)
    }

    @Test func stopsABodyOfUnknownLengthWhereTheBudgetEnds() async throws {
        let rig = try LoaderRig(.alwaysOriginal, budget: 300_000)
        try rig.cellular()
        let server = try FaultServer { exchange in
            exchange.send("HTTP/1.1 200 OK\r\nETag: \"1\"\r\nConnection: close\r\n\r\n")
            exchange.send(PictureServer.original[...])
            exchange.hang()
        }
        let endless = try Resource(
            "endless",
            renditions: [
                Rendition(.thumbnail, url: rig.server.server.url("/thumbnail"), size: 4000),
                Rendition(.original, url: server.url()),
            ])
        var shown = Displays(rig.loader.load(endless))
        try await shown.expect("the original waiting") {
            if case .waiting(.original, for: .unmetered) = $0.activity { true } else { false }
        }
        #expect(server.requests.count == 1)
    }

    @Test func countsThePartThatTravelledOverTheChargedPath() async throws {
        let rig = try LoaderRig(.alwaysOriginal, budget: 10_000_000)
        let budget = try #require(rig.budget)
        try rig.wifi()
        var shown = try await rig.loadAndStop()
        try rig.cellular()
        try rig.noWiFi()
        try await shown.expect(.original, PictureServer.original)
        let starts = rig.server.requests("/original").map(\.rangeStart)
        let second: Int? = starts.dropFirst().first ?? nil
        let rest = 900_000 - (try #require(second))
        #expect(10_000_000 - budget.facts.remaining == Int64(rest), "requests began at \(starts)")
    }

    @Test func fetchesNothingOnceTheBudgetIsSpent() async throws {
        let rig = try LoaderRig(budget: 3_999)
        try rig.cellular()
        var shown = Displays(rig.loader.load(try rig.resource()))
        let display = try await shown.expect(.deferred)
        #expect(display.decision.reasons.contains { $0.rule == .budget })
        #expect(rig.server.server.requests.isEmpty)
        #expect(rig.budget?.facts.remaining == 3_999)
    }
}
