import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ResourceLoader

@Suite("A running transfer, when the path changes,", .takingTurns, .timeLimit(.minutes(10)))
struct TransfersPathTests {
    private static let body = pattern(1_000_000)
    private static let wifi = TransferPath(isOnline: true, link: .wifi, route: "wifi")
    private static let otherWifi = TransferPath(isOnline: true, link: .wifi, route: "other")
    private static let cellular = TransferPath(isOnline: true, link: .wwan, isExpensive: true, route: "wifi")
    private static let otherCellular = TransferPath(isOnline: true, link: .wwan, isExpensive: true, route: "cellular")
    private static let offline = TransferPath(isOnline: false, route: "wifi")

    /// Follows a transfer's states and lets tests wait for one.
    private final class Watch {
        private var states: AsyncStream<TransferState>.Iterator
        private(set) var names: [String] = []
        private(set) var last: TransferState?

        init(_ transfer: Transfer) { states = transfer.states.makeAsyncIterator() }

        func next(where matches: (TransferState) -> Bool) async -> TransferState? {
            while let state = await states.next() {
                last = state
                if names.last != state.name { names.append(state.name) }
                if matches(state) { return state }
            }
            return nil
        }

        func wait(for name: String) async -> TransferState? { await next { $0.name == name } }
        /// Progress is told in steps of 64 KiB, so this waits for somewhat less than what was sent.
        func received(_ bytes: Int64) async {
            _ = await next { if case .running(let progress) = $0 { progress.received >= bytes } else { false } }
        }
        func end() async -> TransferState? { await next { $0.isTerminal } }
    }

    /// The first request for each target gets so many bytes and then waits; later ones get the rest.
    private func holding(_ bytes: Int) throws -> HeldServer { try HeldServer(Self.body, firstBytes: bytes) }

    @Test func pausesOnACostlyPathAndResumesOnceAFreeOneIsStable() async throws {
        let held = try holding(300_000)
        defer { held.stop() }
        let rig = try TransferRig(path: Self.wifi)
        let watch = Watch(rig.start(try .get(held.server.url())))
        await watch.received(200_000)
        rig.engine.update(path: Self.cellular)
        #expect(await watch.wait(for: "waiting(unmetered)") != nil)
        #expect(rig.engine.statistics.pauses == 1)
        held.release()
        rig.engine.update(path: Self.wifi)
        // The engine takes what it is told in order, so when this one is done it knows of the path.
        #expect(await rig.run(try .get(held.server.url("/first"), kind: .thumbnail)).result != nil)
        // Not before three seconds have passed: another transfer comes and goes meanwhile, this one does not move.
        rig.clock.advance(by: .milliseconds(2999))
        #expect(await rig.run(try .get(held.server.url("/other"), kind: .thumbnail)).result != nil)
        #expect(held.server.requests.count { $0.target == "/body" } == 1)
        rig.clock.advance(by: .milliseconds(1))
        #expect(await watch.end()?.result?.resumed ?? 0 >= 200_000)
        #expect(watch.names == ["queued", "running", "waiting(unmetered)", "queued", "running", "finished"])
        #expect(rig.committer.bodies.last == Self.body)
        await rig.engine.shutDown()
    }

    @Test func closesTheConnectionWhenItPauses() async throws {
        let closed = AsyncStream.makeStream(of: Bool.self)
        let server = try FaultServer { exchange in
            exchange.send("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 1000000\r\n\r\n")
            exchange.send(Self.body.prefix(300_000))
            exchange.hang()
            closed.continuation.yield(true)
        }
        defer { server.stop() }
        let rig = try TransferRig(path: Self.wifi)
        let watch = Watch(rig.start(try .get(server.url())))
        await watch.received(200_000)
        rig.engine.update(path: Self.cellular)
        var closings = closed.stream.makeAsyncIterator()
        #expect(await closings.next() == true)
        _ = watch
        await rig.engine.shutDown()
    }

    @Test func goesOnWithTheLastTenthAndWithThumbnailsAndWhatIsPaidFor() async throws {
        for (kind, first, accepted, preferences) in [
            (TransferKind.original, 990_000, false, TransferPreferences()),
            (.thumbnail, 300_000, false, TransferPreferences()),
            (.original, 300_000, true, TransferPreferences(remainingBudget: 0)),
            (.original, 300_000, false, TransferPreferences(alwaysOriginal: true, remainingBudget: 800_000)),
        ] {
            let held = try holding(first)
            defer { held.stop() }
            let rig = try TransferRig(path: Self.wifi, preferences: preferences)
            let request = try TransferRequest(url: held.server.url(), kind: kind, isCostAccepted: accepted)
            let watch = Watch(rig.start(request))
            await watch.received(Int64(first) - 80_000)
            rig.engine.update(path: Self.cellular)
            held.release()
            #expect(await watch.end()?.result?.attempts == 1)
            #expect(watch.names == ["queued", "running", "finished"])
            await rig.engine.shutDown()
        }
    }

    /// The first request gets all but a hundredth and then waits; later ones get everything.
    private func stoppingNearTheEnd(etag: String, _ gate: Gate) throws -> FaultServer {
        try FaultServer { exchange in
            guard exchange.number == 0 else { return serve(Self.body, etag: etag, exchange) }
            exchange.send("HTTP/1.1 200 OK\r\nETag: \(etag)\r\nContent-Length: 1000000\r\n\r\n")
            exchange.send(Self.body.prefix(990_000))
            gate.wait()
        }
    }

    @Test func pausesHoweverLittleIsMissingWhereAllOfItWouldBeFetchedAgain() async throws {
        let gate = Gate()
        let server = try stoppingNearTheEnd(etag: "W/\"weak\"", gate)
        defer {
            gate.open()
            server.stop()
        }
        let rig = try TransferRig(path: Self.wifi)
        let watch = Watch(rig.start(try .get(server.url())))
        await watch.received(910_000)
        rig.engine.update(path: Self.otherCellular)
        #expect(await watch.next { $0.isTerminal || $0.isWaiting }?.name == "waiting(unmetered)")
        #expect(server.requests.count == 1)
        await rig.engine.shutDown()
    }

    @Test func sendsNothingOnACostlyPathOnceTheSinkHasLostThePart() async throws {
        let gate = Gate()
        let server = try stoppingNearTheEnd(etag: "\"v1\"", gate)
        defer {
            gate.open()
            server.stop()
        }
        let rig = try TransferRig(path: Self.wifi)
        let watch = Watch(rig.engine.start(try .get(server.url()), into: ForgettingSink()))
        await watch.received(910_000)
        rig.engine.update(path: Self.otherCellular)
        #expect(await watch.next { $0.isTerminal || $0.isWaiting }?.name == "waiting(unmetered)")
        #expect(server.requests.count == 1)
        rig.engine.update(preferences: TransferPreferences(alwaysOriginal: true))
        #expect(await watch.end()?.result?.resumed == 0)
        await rig.engine.shutDown()
    }

    @Test func pausesAgainWhenTheOneWhoAcceptedTheCostLeaves() async throws {
        let held = try holding(300_000)
        defer { held.stop() }
        let rig = try TransferRig(path: Self.cellular)
        let watch = Watch(rig.start(try .get(held.server.url())))
        #expect(await watch.wait(for: "waiting(unmetered)") != nil)
        let accepting = try TransferRequest(
            url: held.server.url(), kind: .original, priority: .user, isCostAccepted: true)
        let tap = rig.start(accepting)
        await watch.received(200_000)
        tap.cancel()
        #expect(await watch.next { $0.isTerminal || $0.isWaiting }?.name == "waiting(unmetered)")
        #expect(held.server.requests.count == 1)
        await rig.engine.shutDown()
    }

    @Test func doesNotStartAnOriginalOnACostlyPathUntilThePreferenceSaysSo() async throws {
        let held = try HeldServer(Self.body)
        held.release()
        defer { held.stop() }
        let rig = try TransferRig(path: Self.cellular)
        let watch = Watch(rig.start(try .get(held.server.url())))
        #expect(await watch.wait(for: "waiting(unmetered)") != nil)
        rig.engine.update(preferences: TransferPreferences(alwaysOriginal: true))
        #expect(await watch.end()?.result != nil)
        await rig.engine.shutDown()
    }

    @Test func startsAtOnceWhenSomebodyJoinsWhoAcceptsTheCost() async throws {
        let held = try HeldServer(Self.body)
        held.release()
        defer { held.stop() }
        let rig = try TransferRig(path: Self.cellular)
        let waiting = Watch(rig.start(try .get(held.server.url(), kind: .prefetch, priority: .prefetch)))
        #expect(await waiting.wait(for: "waiting(unmetered)") != nil)
        let accepting = try TransferRequest(url: held.server.url(), kind: .original, isCostAccepted: true)
        #expect(await rig.run(accepting).result != nil)
        #expect(await waiting.end()?.result != nil)
        #expect(held.server.requests.count == 1)
        await rig.engine.shutDown()
    }

    @Test func pausesWhenThePreferenceChanges() async throws {
        let held = try holding(300_000)
        defer { held.stop() }
        let rig = try TransferRig(path: Self.cellular, preferences: TransferPreferences(alwaysOriginal: true))
        let watch = Watch(rig.start(try .get(held.server.url())))
        await watch.received(200_000)
        rig.engine.update(preferences: TransferPreferences(alwaysOriginal: true, remainingBudget: 600_000))
        #expect(await watch.wait(for: "waiting(unmetered)") != nil)
        rig.engine.update(preferences: TransferPreferences(alwaysOriginal: true, remainingBudget: 800_000))
        held.release()
        #expect(await watch.end()?.result?.resumed ?? 0 >= 200_000)
        await rig.engine.shutDown()
    }

    @Test func movesToAnotherRouteAtOnceAndOnNewConnections() async throws {
        let held = try holding(300_000)
        defer { held.stop() }
        let rig = try TransferRig(path: Self.wifi)
        // Leaves an idle connection behind.
        let idle = try FaultServer { serve(Self.body, $0) }
        defer { idle.stop() }
        #expect(await rig.run(try .get(idle.url("/1"))).result != nil)
        #expect(await rig.run(try .get(idle.url("/2"))).result != nil)
        #expect(idle.connectionsAccepted == 1)
        let watch = Watch(rig.start(try .get(held.server.url())))
        await watch.received(200_000)
        rig.engine.update(path: Self.otherWifi)
        held.release()
        #expect(await watch.end()?.result?.resumed ?? 0 >= 200_000)
        #expect(!watch.names.contains("waiting(online)"))
        #expect(rig.committer.bodies.last == Self.body)
        #expect(await rig.run(try .get(idle.url("/3"))).result != nil)
        #expect(idle.connectionsAccepted == 2)
        await rig.engine.shutDown()
    }

    @Test(arguments: [TransferKind.original, .thumbnail]) func hasOneFreeAttemptOnTheNewRouteAsAnOriginal(
        _ kind: TransferKind
    )
        async throws
    {
        let gate = Gate()
        let server = try FaultServer { exchange in
            switch exchange.number {
            case 0:
                exchange.send("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 1000000\r\n\r\n")
                exchange.send(Self.body.prefix(300_000))
                gate.wait()
            case 1: exchange.close()
            default: serve(Self.body, exchange)
            }
        }
        defer {
            gate.open()
            server.stop()
        }
        let rig = try TransferRig(path: Self.wifi, chance: 0.5)
        let watch = Watch(rig.start(try .get(server.url(), kind: kind)))
        await watch.received(200_000)
        rig.engine.update(path: Self.otherWifi)
        let next = await watch.next { $0.isTerminal || $0.name == "backingOff(interrupted)" }
        #expect(next?.name == (kind == .original ? "finished" : "backingOff(interrupted)"))
        await rig.engine.shutDown()
    }

    @Test func waitsForAFreePathToBeStableThroughAnOutage() async throws {
        let held = try holding(300_000)
        defer { held.stop() }
        let rig = try TransferRig(path: Self.wifi, slots: 1)
        let watch = Watch(rig.start(try .get(held.server.url())))
        await watch.received(200_000)
        // Coming home: the one network is gone before the other is there.
        for (path, condition) in [
            (Self.cellular, "unmetered"), (Self.offline, "online"), (Self.wifi, "unmetered"),
            (Self.offline, "online"), (Self.wifi, "unmetered"),
        ] {
            rig.engine.update(path: path)
            let next = await watch.next { !$0.isWaiting || $0.name == "waiting(\(condition))" }
            #expect(next?.name == "waiting(\(condition))")
        }
        held.release()
        // Four changes in 30 s, since the first path that is told of is none: it flaps, and has to hold for 10 s.
        rig.clock.advance(by: .seconds(10) - .milliseconds(1))
        #expect(await rig.run(try .get(held.server.url("/small"), kind: .thumbnail)).result != nil)
        rig.clock.advance(by: .milliseconds(1))
        #expect(await watch.end()?.result?.resumed ?? 0 >= 200_000)
        #expect(held.server.requests.map(\.target) == ["/body", "/small", "/body"])
        await rig.engine.shutDown()
    }

    @Test func comesBackAtOnceOntoAFreePathWhereItsCostWasAcceptedOrItIsSmallOrTapped() async throws {
        let server = try FaultServer { serve(Self.body, $0) }
        defer { server.stop() }
        let rig = try TransferRig(path: Self.wifi)
        rig.engine.update(path: Self.cellular)
        rig.engine.update(path: Self.offline)
        let port = try FaultServer.closedPort()
        let requests = [
            try TransferRequest(url: server.url("/accepted"), kind: .original, isCostAccepted: true),
            try .get(server.url("/small"), kind: .thumbnail),
        ]
        let watches = requests.map { Watch(rig.start($0)) }
        for watch in watches { #expect(await watch.wait(for: "waiting(online)") != nil) }
        let tap = Watch(rig.start(try .get("http://127.0.0.1:\(port)/", priority: .user)))
        #expect(await tap.wait(for: "waiting(online)") != nil)
        rig.engine.update(path: Self.wifi)
        for watch in watches { #expect(await watch.end()?.result != nil) }
        #expect(await tap.end()?.failure == .refused)
        for watch in watches + [tap] { #expect(!watch.names.contains("waiting(unmetered)")) }
        await rig.engine.shutDown()
    }

    @Test func isTriedOnceForEachTapWhileThePathIsOffline() async throws {
        let rig = try TransferRig(path: Self.offline)
        let url = "http://127.0.0.1:\(try FaultServer.closedPort())/"
        var watches: [Watch] = []
        for taps in 1...3 {
            let tap = Watch(rig.start(try .get(url, priority: .user)))
            #expect(await tap.wait(for: "running") != nil)
            #expect(await tap.wait(for: "waiting(online)") != nil)
            // Others who join are no tap.
            let other = Watch(rig.start(try .get(url)))
            #expect(await other.wait(for: "waiting(online)") != nil)
            #expect(rig.engine.statistics.attempts == taps)
            watches += [tap, other]
        }
        await rig.engine.shutDown()
    }

    @Test func isTriedOnceInEachOutageForATapThatStillWaits() async throws {
        let held = try HeldServer(Self.body)
        defer { held.stop() }
        let rig = try TransferRig(path: Self.wifi)
        let tap = Watch(rig.start(try .get(held.server.url(), priority: .user)))
        #expect(await tap.wait(for: "running") != nil)
        var others: [Watch] = []
        for attempts in 2...3 {
            rig.engine.update(path: Self.offline)
            #expect(await tap.wait(for: "waiting(online)") != nil)
            // Whoever joins makes the engine look again.
            others.append(Watch(rig.start(try .get(held.server.url()))))
            #expect(await tap.wait(for: "running") != nil)
            #expect(rig.engine.statistics.attempts == attempts)
            rig.engine.update(path: Self.wifi)
        }
        await rig.engine.shutDown()
    }

    @Test func givesATapOfflineThreeSecondsToConnect() async throws {
        let silent = try SilentPort()
        defer { silent.close() }
        let rig = try TransferRig(path: Self.offline)
        let request = try TransferRequest(
            url: "http://127.0.0.1:\(silent.port)/", kind: .original, priority: .user,
            timeouts: TransferTimeouts(connect: .seconds(600)))
        let watch = Watch(rig.start(request))
        #expect(await watch.wait(for: "running") != nil)
        rig.clock.advance(by: .seconds(3))
        #expect(await watch.wait(for: "waiting(online)") != nil)
        await rig.engine.shutDown()
    }

    @Test func keepsToAServersWishThroughAnOutage() async throws {
        let server = try FaultServer { exchange in
            if exchange.number == 0 {
                exchange.answer("503 Busy", ["Retry-After: 60"])
            } else {
                serve(Self.body, exchange)
            }
        }
        defer { server.stop() }
        let rig = try TransferRig(path: Self.wifi)
        let watch = Watch(rig.start(try .get(server.url())))
        #expect(await watch.wait(for: "backingOff(server)") != nil)
        rig.engine.update(path: Self.offline)
        #expect(await watch.wait(for: "waiting(online)") != nil)
        rig.engine.update(path: Self.wifi)
        #expect(await watch.wait(for: "backingOff(server)") != nil)
        rig.clock.advance(by: .seconds(60))
        #expect(await watch.end()?.result != nil)
        #expect(server.requests.count == 2)
        await rig.engine.shutDown()
    }

    @Test func suspendsOfflineAndCountsNothing() async throws {
        let held = try holding(300_000)
        defer { held.stop() }
        let rig = try TransferRig(path: Self.wifi)
        let watch = Watch(rig.start(try .get(held.server.url())))
        await watch.received(200_000)
        for _ in 0..<10 {
            rig.engine.update(path: Self.offline)
            #expect(await watch.wait(for: "waiting(online)") != nil)
            rig.engine.update(path: Self.wifi)
            #expect(await watch.wait(for: "running") != nil)
        }
        held.release()
        #expect(await watch.end()?.result?.resumed ?? 0 >= 200_000)
        #expect(!watch.names.contains { $0.hasPrefix("backingOff") })
        #expect(rig.committer.bodies == [Self.body])
        await rig.engine.shutDown()
    }

    @Test func waitsForThePathWhenATapFailsOfflineAndReportsTheOneThatSucceeds() async throws {
        let server = try FaultServer { serve(Self.body, $0) }
        defer { server.stop() }
        let rig = try TransferRig(path: Self.offline)
        var outcomes = rig.engine.outcomes().makeAsyncIterator()
        let patient = Watch(rig.start(try .get(server.url("/patient"))))
        #expect(await patient.wait(for: "waiting(online)") != nil)
        let refused = "http://127.0.0.1:\(try FaultServer.closedPort())/"
        let tap = Watch(rig.start(try .get(refused, priority: .user)))
        #expect(await tap.wait(for: "waiting(online)") != nil)
        #expect(tap.names == ["queued", "running", "waiting(online)"])
        let failure = await outcomes.next()
        #expect(failure?.failure == .offline)
        #expect(failure?.contradictsPath == false)
        #expect(await rig.run(try .get(server.url("/tap"), priority: .user)).result != nil)
        let success = await outcomes.next()
        #expect(success?.failure == nil)
        #expect(success?.host == "127.0.0.1")
        #expect(success?.contradictsPath == true)
        #expect(server.requests.map(\.target) == ["/tap"])
        await rig.engine.shutDown()
    }

    @Test func sendsOneRequestFirstAndThenTwoFourSix() async throws {
        let held = try HeldServer(pattern(100))
        defer { held.stop() }
        let rig = try TransferRig(path: Self.offline)
        let watches = try (0..<20).map { Watch(rig.start(try .get(held.server.url("/\($0)")))) }
        for watch in watches { #expect(await watch.wait(for: "waiting(online)") != nil) }
        rig.engine.update(path: Self.wifi)
        var arrivals = held.server.arrivals.makeAsyncIterator()
        var sent = 0
        for expected in [1, 2, 4, 6] {
            for _ in 0..<expected {
                _ = await arrivals.next()
                sent += 1
            }
            // All that may be out are out. Were there one too many, it would be counted here in the end.
            #expect(rig.engine.statistics.mostAtOnce == expected)
            for _ in 0..<expected { held.pass() }
        }
        held.release()
        for watch in watches { #expect(await watch.end()?.result != nil) }
        #expect(rig.engine.statistics.mostAtOnce == 6)
        await rig.engine.shutDown()
    }

    @Test func comesBackWithPrefetchesLast() async throws {
        let server = try FaultServer { serve(pattern(100), $0) }
        defer { server.stop() }
        let rig = try TransferRig(path: Self.offline, chance: 0.5)
        let prefetch = Watch(rig.start(try .get(server.url("/prefetch"), kind: .prefetch, priority: .prefetch)))
        let visible = try (0..<2).map { Watch(rig.start(try .get(server.url("/\($0)")))) }
        for watch in visible + [prefetch] { _ = await watch.wait(for: "waiting(online)") }
        rig.engine.update(path: Self.wifi)
        // The first goes at once, the second after its jitter of half of 500 ms, the prefetch half a second after that.
        #expect(await visible[0].end()?.result != nil)
        rig.clock.advance(by: .milliseconds(250))
        #expect(await visible[1].end()?.result != nil)
        rig.clock.advance(by: .milliseconds(500))
        #expect(await prefetch.end()?.result != nil)
        #expect(server.requests.map(\.target) == ["/0", "/1", "/prefetch"])
        await rig.engine.shutDown()
    }

    @Test func suspectsAnOutageWhenTwoHostsFailAndProbesUntilOneAnswers() async throws {
        let rig = try TransferRig(path: Self.wifi)
        let ports = try (FaultServer.closedPort(), FaultServer.closedPort())
        let first = Watch(rig.start(try .get("http://127.0.0.1:\(ports.0)/")))
        // With chance at zero the first host's five tries follow at once.
        #expect(await first.end()?.failure == .refused)
        let second = Watch(rig.start(try .get("http://127.0.0.2:\(ports.1)/")))
        for seconds in [1, 2, 4, 8, 16, 30, 30] {
            guard
                case .backingOff(let until, .offlineSuspected)? = await second.wait(for: "backingOff(offlineSuspected)")
            else {
                Issue.record("no probe")
                return
            }
            #expect(until - rig.clock.now() == .seconds(seconds))
            // Keeps the other host's failure fresh, as long as the outage lasts.
            let other = Watch(rig.start(try .get("http://127.0.0.1:\(ports.0)/\(seconds)")))
            _ = await other.wait(for: "backingOff(offlineSuspected)")
            rig.clock.advance(by: .seconds(seconds) - .milliseconds(1))
            let again = Watch(rig.start(try .get("http://127.0.0.1:\(ports.0)/x\(seconds)")))
            _ = await again.next { $0.name.hasPrefix("backingOff") || $0.isTerminal }
            rig.clock.advance(by: .milliseconds(1))
        }
        await rig.engine.shutDown()
    }

    @Test func sendsOneRequestFirstAfterAnOutageThatWasOnlySuspected() async throws {
        let held = try HeldServer(pattern(100))
        defer { held.stop() }
        let rig = try TransferRig(path: Self.wifi)
        let port = try FaultServer.closedPort()
        _ = await rig.run(try .get("http://127.0.0.1:\(port)/"))
        let probing = rig.start(try .get("http://127.0.0.2:\(port)/"))
        for await state in probing.states where state.name == "backingOff(offlineSuspected)" { probing.cancel() }
        let watches = try (0..<3).map { Watch(rig.start(try .get(held.server.url("/\($0)")))) }
        var arrivals = held.server.arrivals.makeAsyncIterator()
        _ = await arrivals.next()
        #expect(rig.engine.statistics.mostAtOnce == 1)
        held.release()
        for watch in watches { #expect(await watch.end()?.result != nil) }
        #expect(rig.engine.statistics.mostAtOnce == 2)
        await rig.engine.shutDown()
    }

    @Test func suspectsNothingWhileBytesKeepComing() async throws {
        let held = try holding(300_000)
        defer { held.stop() }
        let rig = try TransferRig(path: Self.wifi)
        let port = try FaultServer.closedPort()
        let watch = Watch(rig.start(try .get(held.server.url())))
        await watch.received(200_000)
        #expect(await rig.run(try .get("http://127.0.0.2:\(port)/")).failure == .refused)
        held.release()
        #expect(await watch.end()?.result != nil)
        #expect(await rig.run(try .get("http://127.0.0.1:\(port)/")).failure == .refused)
        await rig.engine.shutDown()
    }

    @Test func wakesWhoProbesWhenAnybodySucceeds() async throws {
        let server = try FaultServer { serve(pattern(10), $0) }
        defer { server.stop() }
        let rig = try TransferRig(path: Self.wifi)
        let port = try FaultServer.closedPort()
        _ = await rig.run(try .get("http://127.0.0.1:\(port)/"))
        let probing = Watch(rig.start(try .get("http://127.0.0.2:\(port)/")))
        _ = await probing.wait(for: "backingOff(offlineSuspected)")
        #expect(await rig.run(try .get(server.url())).result != nil)
        // It is tried again without the clock having moved, and fails as what it is: the only one.
        #expect(await probing.end()?.failure == .refused)
        await rig.engine.shutDown()
    }
}

/// Counts what it is given and never has any of it left.
private actor ForgettingSink: TransferSink {
    private var length: Int64 = 0

    func stored() -> PartialBody? { nil }
    func begin(_ part: PartialBody) { length = 0 }
    func write(_ bytes: [UInt8]) { length += Int64(bytes.count) }
    func pause() {}
    func discard() {}
    func complete(_ checks: BodyChecks, head: ResponseHead) -> DeliveredBody { .committed(length: length) }
    func makeRoom(for bytes: Int64?) -> Bool { false }
}
