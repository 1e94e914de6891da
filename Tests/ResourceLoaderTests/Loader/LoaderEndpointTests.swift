import DownloadPolicy
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ResourceLoader

/// Hears how requests end, and where.
private final class Ear: ResourceLoaderDelegate {
    struct Word: Sendable {
        var id: ResourceID
        var result: Result<[UInt8], ResourceFailure>
        var isInPlace: Bool
    }

    static let place = DispatchSpecificKey<Bool>()
    let words: AsyncStream<Word>
    private let heard: AsyncStream<Word>.Continuation

    init() { (words, heard) = AsyncStream.makeStream(of: Word.self) }

    private func hear(_ id: ResourceID, _ result: Result<[UInt8], ResourceFailure>) {
        heard.yield(Word(id: id, result: result, isInPlace: DispatchQueue.getSpecific(key: Self.place) == true))
    }

    func resourceRequests(_ requests: ResourceRequests, didLoad body: CachedBody, for id: ResourceID) {
        hear(id, .success((try? body.bytes()) ?? []))
    }

    func resourceRequests(_ requests: ResourceRequests, didFail failure: ResourceFailure, for id: ResourceID) {
        hear(id, .failure(failure))
    }
}

@Suite("Resources by POST", .takingTurns, .timeLimit(.minutes(10)))
struct LoaderEndpointTests {
    private let rig: LoaderRig
    private let server: FaultServer
    /// Takes requests and never answers.
    private let silent: FaultServer
    private let endpoint: ResourceEndpoint

    init() throws {
        rig = try LoaderRig()
        server = try FaultServer { exchange in
            let form = String(decoding: exchange.request.body, as: UTF8.self)
            if form == "imageId=none" { return exchange.answer("404 Not Found") }
            if form == "imageId=204" { return exchange.answer("204 No Content") }
            if form == "imageId=empty" { return exchange.answer("200 OK", body: []) }
            exchange.answer("200 OK", ["Cache-Control: max-age=60"], body: Array("picture of \(form)".utf8))
        }
        endpoint = ResourceEndpoint(url: server.url())
        silent = try FaultServer { $0.hang() }
    }

    @Test func keepsTheAnswersToDifferentParametersApart() async throws {
        try await rig.seenWiFi()
        for id in ["1", "2", "1"] as [ResourceID] {
            let body = try await rig.loader.resource(id, from: endpoint)
            #expect(try body.bytes() == Array("picture of imageId=\(id)".utf8))
        }
        #expect(server.requests.map(\.method) == ["POST", "POST"])
    }

    @Test func keepsTheAnswersOfTwoServicesApart() async throws {
        try await rig.seenWiFi()
        let other = ResourceEndpoint(url: server.url("/other")) { .form([RequestBody.FormField("name", $0.name)]) }
        let same = ResourceEndpoint(url: server.url("/same"))
        for (endpoint, answer) in [(endpoint, "imageId=1"), (other, "name=1"), (same, "imageId=1")] {
            let body = try await rig.loader.resource("1", from: endpoint)
            #expect(try body.bytes() == Array("picture of \(answer)".utf8))
        }
        #expect(server.requests.count == 3)
    }

    @Test func keepsTheAnswersToTwoUsersApart() async throws {
        try await rig.seenWiFi()
        var theirs = [ResourceEndpoint](repeating: endpoint, count: 3)
        for index in 0..<2 { theirs[index].headers = [TransferHeader("Authorization", "user \(index)")] }
        theirs[2].headers = [TransferHeader("X-Request", "does not matter")]
        theirs[2].varyingHeaders = []
        // At the same time, so that they could share a transfer as well.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for endpoint in theirs { group.addTask { _ = try await rig.loader.resource("1", from: endpoint) } }
            try await group.waitForAll()
        }
        #expect(server.requests.map { $0["Authorization"] ?? "" }.sorted() == ["", "user 0", "user 1"])
        _ = try await rig.loader.resource("1", from: endpoint)
        #expect(server.requests.count == 3)
    }

    @Test func returnsTheStoredCopyWithoutANetworkAndHoweverOld() async throws {
        try await rig.seenWiFi()
        _ = try await rig.loader.resource("1", from: endpoint)
        try rig.noWiFi()
        rig.wallClock.move(by: .seconds(3600))
        let body = try await rig.loader.resource("1", from: endpoint)
        #expect(try body.bytes() == Array("picture of imageId=1".utf8))
        #expect(server.requests.count == 1)
    }

    @Test func sharesATransferAmongCalls() async throws {
        try await rig.seenWiFi()
        async let one = rig.loader.resource("1", from: endpoint)
        async let other = rig.loader.resource("1", from: endpoint)
        #expect(try await one.entry.id == other.entry.id)
        #expect(server.requests.count == 1)
    }

    @Test func saysWhyThereIsNone() async throws {
        try await rig.seenWiFi()
        await #expect(throws: ResourceFailure.transfer(.missing)) {
            try await rig.loader.resource("none", from: endpoint)
        }
        let malformed = ResourceEndpoint(url: "ftp://example.org/")
        await #expect(throws: ResourceFailure.badRequest(.badRequest(.original, .unsupportedScheme("ftp")))) {
            try await rig.loader.resource("1", from: malformed)
        }
    }

    @Test(arguments: ["204", "empty"])
    func saysThatThereIsNoSuchDataAfterOneQuestion(id: ResourceID) async throws {
        try await rig.seenWiFi()
        await #expect(throws: ResourceFailure.noData) { try await rig.loader.resource(id, from: endpoint) }
        #expect(server.requests.count == 1)
        let slot = ResourceSlot(of: rig.loader, clock: rig.clock)
        slot.bind(to: try endpoint.resource(id))
        for await shown in slot.content.changes {
            if case .empty = shown.state { break }
        }
        #expect(server.requests.count == 2)
    }

    @Test func saysThatThePolicyDoesNotAllowIt() async throws {
        let rig = try LoaderRig(.cachedOnly)
        try await rig.seenWiFi()
        await #expect(throws: ResourceFailure.deferred([.preferencesAllow])) {
            try await rig.loader.resource("1", from: endpoint)
        }
        #expect(server.requests.isEmpty)
    }

    @Test func saysThatThereIsNoNetwork() async throws {
        // Nobody asked for it by a tap, so that not even one attempt is made.
        await #expect(throws: ResourceFailure.offline) {
            try await rig.loader.resource("1", from: endpoint, trigger: .visible)
        }
        #expect(server.requests.isEmpty)
    }

    @Test func saysThatTheOneAttemptWithoutANetworkFailed() async throws {
        let nobody = ResourceEndpoint(url: "http://127.0.0.1:\(try FaultServer.closedPort())/")
        await #expect(throws: ResourceFailure.offline) { try await rig.loader.resource("1", from: nobody) }
    }

    @Test func tellsADelegateOnItsQueue() async throws {
        try await rig.seenWiFi()
        let ear = Ear()
        let queue = DispatchQueue(label: "delegate")
        queue.setSpecific(key: Ear.place, value: true)
        let requests = ResourceRequests(of: rig.loader, from: endpoint, delegate: ear) { queue.async(execute: $0) }
        // Nobody else keeps them alive.
        defer { withExtendedLifetime((requests, ear)) {} }
        var words = ear.words.makeAsyncIterator()
        requests.request("1")
        let loaded = try #require(await words.next())
        #expect(loaded.id == "1" && loaded.isInPlace)
        #expect(try loaded.result.get() == Array("picture of imageId=1".utf8))
        requests.request("none")
        let failed = try #require(await words.next())
        #expect(failed.result == .failure(.transfer(.missing)) && failed.isInPlace)
    }

    @Test func asksNothingWithoutANetworkIfNobodyTapped() async throws {
        let ear = Ear()
        let requests = ResourceRequests(of: rig.loader, from: endpoint, delegate: ear) { $0() }
        defer { withExtendedLifetime((requests, ear)) {} }
        requests.request("1", trigger: .visible)
        var words = ear.words.makeAsyncIterator()
        #expect(await words.next()?.result == .failure(.offline))
        #expect(server.requests.isEmpty)
    }

    @Test func tellsADelegateOnceThatTheLoaderHasEnded() async throws {
        try await rig.seenWiFi()
        let ear = Ear()
        let nobody = ResourceEndpoint(url: silent.url())
        let requests = ResourceRequests(of: rig.loader, from: nobody, delegate: ear) { $0() }
        // Nobody else keeps them alive.
        defer { withExtendedLifetime((requests, ear)) {} }
        requests.request("1")
        var arrivals = silent.arrivals.makeAsyncIterator()
        _ = await arrivals.next()
        await rig.loader.shutDown()
        var words = ear.words.makeAsyncIterator()
        #expect(await words.next()?.result == .failure(.cancelled))
        requests.request("2")
        let last = await words.next()
        #expect(last?.id == "2" && last?.result == .failure(.cancelled))
    }

    @Test func throwsToThoseWhoWaitWhenTheLoaderEnds() async throws {
        try await rig.seenWiFi()
        let waiting = Task { try await rig.loader.resource("1", from: ResourceEndpoint(url: silent.url())) }
        var arrivals = silent.arrivals.makeAsyncIterator()
        _ = await arrivals.next()
        await rig.loader.shutDown()
        await #expect(throws: ResourceFailure.cancelled) { try await waiting.value }
    }

    @Test func doesNotKeepItsDelegateAlive() throws {
        weak var gone: Ear?
        let requests: ResourceRequests
        do {
            let ear = Ear()
            gone = ear
            requests = ResourceRequests(of: rig.loader, from: endpoint, delegate: ear) { $0() }
        }
        withExtendedLifetime(requests) { #expect(gone == nil) }
    }

    @Test func tellsNothingOfWhatWasCancelled() async throws {
        try await rig.seenWiFi()
        let ear = Ear()
        let requests = ResourceRequests(of: rig.loader, from: endpoint, delegate: ear) { $0() }
        // Nobody else keeps them alive.
        defer { withExtendedLifetime((requests, ear)) {} }
        requests.request("1")
        requests.cancel("1")
        requests.request("2")
        var words = ear.words.makeAsyncIterator()
        #expect(await words.next()?.id == "2")
    }
}

@Suite("A slot bound to a loader", .takingTurns, .timeLimit(.minutes(10)))
struct LoaderSlotTests {
    private let rig: LoaderRig

    init() throws { rig = try LoaderRig() }

    private func expect(
        _ what: String, in slot: ResourceSlot, _ location: SourceLocation = #_sourceLocation,
        where isRight: (ContentState<CachedBody>) -> Bool
    ) async throws {
        for await shown in slot.content.changes where isRight(shown.state) { return }
        Issue.record("waited for \(what)", sourceLocation: location)
    }

    private func expect(
        _ variant: CacheVariant, in slot: ResourceSlot, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        try await expect("the \(variant)", in: slot, location) { $0.content?.entry.variant == variant }
    }

    @Test func showsWhatTheLoaderSays() async throws {
        try rig.wifi()
        let slot = ResourceSlot(of: rig.loader, clock: rig.clock)
        slot.bind(to: try rig.resource())
        try await expect(.original, in: slot)
        slot.bind(to: nil)
        #expect(slot.content.shown.state.visible == nil)
    }

    @Test func showsABetterPictureWhenTheNetworkAllowsIt() async throws {
        try rig.cellular()
        let slot = ResourceSlot(of: rig.loader, clock: rig.clock)
        slot.bind(to: try rig.resource())
        try await expect(.thumbnail, in: slot)
        try rig.wifi()
        try await until { slot.display?.decision.reasons.contains { $0.rule == .settling } == true }
        try await rig.letThePathHold()
        try await expect(.original, in: slot)
    }

    @Test func saysThatThereIsNoNetworkAndTriesAgainOnATap() async throws {
        let slot = ResourceSlot(of: rig.loader, clock: rig.clock)
        slot.bind(to: try rig.resource())
        for await shown in slot.content.changes {
            if case .offline = shown.state { break }
        }
        // Loopback works although the simulated machine has no way out.
        slot.retry()
        for await shown in slot.content.changes where shown.state.content != nil { break }
    }

    @Test func stopsLoadingWhenTheLoaderEnds() async throws {
        try await rig.seenWiFi()
        rig.server.always("/original", .stops(after: 400_000))
        let slot = ResourceSlot(of: rig.loader, clock: rig.clock)
        slot.bind(to: try rig.resource())
        try await until { if case .fetching = slot.display?.activity { true } else { false } }
        rig.clock.advance(by: ContentMachine<CachedBody>.loadingDelay)
        try await expect("loading", in: slot) { if case .loading = $0 { true } else { false } }
        await rig.loader.shutDown()
        rig.clock.advance(by: ContentMachine<CachedBody>.loadingMinimum)
        try await expect("nothing", in: slot) { if case .idle = $0 { true } else { false } }
    }

    @Test(arguments: [
        (Trigger.visible, "403 Forbidden", FailureClass.unauthorized), (.user, "500 Internal Server Error", .server),
    ])
    func saysThatTheBetterPictureFailed(trigger: Trigger, status: String, failure: FailureClass) async throws {
        try await rig.seenWiFi()
        try rig.store(PictureServer.thumbnail, as: .thumbnail)
        rig.server.always("/original", .status(status))
        let slot = ResourceSlot(of: rig.loader, clock: rig.clock)
        slot.bind(to: try rig.resource(), trigger: trigger)
        try await expect("the thumbnail, and the failure", in: slot) {
            guard case .content(let body, .failed(failure, .offered)) = $0 else { return false }
            return body.entry.variant == .thumbnail
        }
    }

    @Test func takesTheNewURLOfWhatItShows() async throws {
        try await rig.seenWiFi()
        try rig.store(PictureServer.thumbnail, as: .thumbnail)
        rig.server.always("/original?expired", .status("403 Forbidden"))
        let slot = ResourceSlot(of: rig.loader, clock: rig.clock)
        let url = rig.server.server.url("/original")
        slot.bind(to: try Resource("picture", thumbnail: url, original: url + "?expired"))
        try await expect("the failure", in: slot) { if case .content(_, .failed) = $0 { true } else { false } }
        slot.bind(to: try rig.resource())
        try await expect(.original, in: slot)
    }

    @Test func neverShowsThePictureOfAnother() async throws {
        let ids = (0..<5).map { ResourceID("item \($0)") }
        for id in ids {
            try rig.loader.cache.store(
                Array(id.name.utf8), as: CacheKey(id.name), variant: .original,
                metadata: CacheMetadata(lifetime: .seconds(60)))
        }
        let resources = try ids.map { try rig.resource($0) }
        let slot = ResourceSlot(of: rig.loader, clock: rig.clock)
        let watcher = Task {
            var wrong = 0
            for await shown in slot.content.changes {
                if let body = shown.state.visible, body.entry.key != shown.item?.cacheKey { wrong += 1 }
            }
            return wrong
        }
        var generator = SeededGenerator(seed: 5)
        for _ in 0..<2000 {
            slot.bind(to: resources.randomElement(using: &generator))
            if Bool.random(using: &generator) { await Task.yield() }
        }
        slot.bind(to: resources[2])
        for await shown in slot.content.changes where shown.state.content != nil {
            #expect(shown.item == resources[2])
            break
        }
        watcher.cancel()
        #expect(await watcher.value == 0)
    }
}
