import Foundation
import TestSupport
import Testing

@testable import ResourceLoader

/// A POST that changes something: its first copy may have reached the server, so there must be no second one.
@Suite("A request that must not be sent twice", .takingTurns, .timeLimit(.minutes(10)))
struct TransfersOnceTests {
    private static let wifi = TransferPath(isOnline: true, link: .wifi, route: "wifi")
    private static let cellular = TransferPath(isOnline: true, link: .wwan, isExpensive: true, route: "wifi")
    private static let otherWifi = TransferPath(isOnline: true, link: .wifi, route: "other")
    private static let offline = TransferPath(isOnline: false, route: "wifi")

    private func order(_ url: String, priority: TransferPriority = .visible) throws -> TransferRequest {
        try TransferRequest(
            .post(.form([])), url: url, kind: .original, priority: priority, isRepeatable: false)
    }

    /// Sends it, does something once the server has it, and gives how it ended.
    private func end(
        on server: FaultServer, _ rig: TransferRig, whenSent act: (TransferRig) -> Void
    ) async throws -> TransferState {
        let transfer = rig.engine.start(try order(server.url()), into: MemoryBody())
        var arrivals = server.arrivals.makeAsyncIterator()
        _ = await arrivals.next()
        act(rig)
        let end = await transfer.outcome()
        await rig.engine.shutDown()
        return end
    }

    @Test(arguments: [cellular, offline]) func runsOnWhereOthersWouldPause(_ path: TransferPath) async throws {
        let held = try HeldServer([1, 2, 3])
        defer { held.stop() }
        let rig = try TransferRig(path: Self.wifi)
        let end = try await end(on: held.server, rig) { rig in
            rig.engine.update(path: path)
            rig.engine.update(path: Self.wifi)
            held.release()
        }
        #expect(end.result?.body == .bytes([1, 2, 3]))
        #expect(held.server.requests.count == 1)
    }

    @Test func endsWithTheConnectionOfARouteThatIsGone() async throws {
        let held = try HeldServer([1, 2, 3])
        defer { held.stop() }
        let rig = try TransferRig(path: Self.wifi)
        let end = try await end(on: held.server, rig) { $0.engine.update(path: Self.otherWifi) }
        #expect(end.failure == .interrupted)
        #expect(held.server.requests.count == 1)
    }

    @Test func runsOnWhenTheRouteItTookBecomesKnown() async throws {
        let held = try HeldServer([1, 2, 3])
        defer { held.stop() }
        let rig = try TransferRig()
        let transfer = rig.engine.start(try order(held.server.url()), into: MemoryBody())
        var arrivals = held.server.arrivals.makeAsyncIterator()
        _ = await arrivals.next()
        rig.engine.update(path: Self.wifi)
        // Commands are taken in order: once this one is in line, the engine has heard of the route.
        for await _ in rig.start(try .get(held.server.url("/other"))).states { break }
        held.release()
        #expect(await transfer.outcome().result?.body == .bytes([1, 2, 3]))
        await rig.engine.shutDown()
    }

    @Test func endsWhereItsBodyCannotBePaidFor() async throws {
        let server = try FaultServer { $0.answer("200 OK", body: [1, 2, 3]) }
        defer { server.stop() }
        let rig = try TransferRig(path: Self.wifi)
        let end = await rig.engine.start(try order(server.url()), into: PoorSink()).outcome()
        #expect(end.failure == .interrupted)
        #expect(server.requests.count == 1)
        await rig.engine.shutDown()
    }

    @Test func thatIsLostOfflineEndsAsOffline() async throws {
        let gate = Gate()
        let server = try FaultServer { exchange in
            gate.wait()
            exchange.close()
        }
        defer {
            gate.open()
            server.stop()
        }
        let rig = try TransferRig(path: Self.wifi)
        var outcome: TransferState?
        let transfer = rig.engine.start(try order(server.url()), into: MemoryBody())
        var arrivals = server.arrivals.makeAsyncIterator()
        _ = await arrivals.next()
        rig.engine.update(path: Self.offline)
        // Commands are taken in order: once this one waits, the engine has heard of the outage.
        for await state in rig.start(try .get(server.url("/other"))).states where state.name == "waiting(online)" {
            break
        }
        gate.open()
        outcome = await transfer.outcome()
        #expect(outcome?.failure == .offline)
        #expect(server.requests.count == 1)
        await rig.engine.shutDown()
    }

    @Test func isNotSentAgainForAnAnswerThatMakesNoSense() async throws {
        let server = try FaultServer { exchange in
            exchange.answer("206 Partial Content", ["Content-Range: bytes 1-2/3"], body: [2, 3])
        }
        defer { server.stop() }
        let rig = try TransferRig()
        #expect(try await end(on: server, rig) { _ in }.failure == .corrupt)
        #expect(server.requests.count == 1)
    }

    @Test func isNotSentAgainWhenTheHostARedirectLedToIsNotThere() async throws {
        let port = try FaultServer.closedPort()
        let server = try FaultServer { $0.answer("303 See Other", ["Location: http://127.0.0.1:\(port)/"]) }
        defer { server.stop() }
        let rig = try TransferRig()
        #expect(try await end(on: server, rig) { _ in }.failure == .refused)
        #expect(server.requests.count == 1)
    }

    @Test func usesNoConnectionThatMayHaveEndedMeanwhile() async throws {
        // On a connection that has served before and breaks without an answer, libcurl by itself sends the request again.
        let server = try FaultServer { exchange in
            if exchange.request.method == "GET" {
                exchange.answer("200 OK", body: [1])
            } else {
                exchange.close()
            }
        }
        defer { server.stop() }
        let rig = try TransferRig()
        #expect(await rig.run(try .get(server.url())).result != nil)
        #expect(await rig.engine.start(try order(server.url()), into: MemoryBody()).outcome().failure == .interrupted)
        #expect(server.requests.map(\.method) == ["GET", "POST"])
        await rig.engine.shutDown()
    }

    @Test func waitsLikeAnyOtherUntilItIsSent() async throws {
        let server = try FaultServer { $0.answer("200 OK", body: [1]) }
        defer { server.stop() }
        let rig = try TransferRig(path: Self.offline)
        let transfer = rig.engine.start(try order(server.url()), into: MemoryBody())
        for await state in transfer.states {
            if state.name == "waiting(online)" { rig.engine.update(path: Self.wifi) }
            if state.isTerminal { #expect(state.result != nil) }
        }
        #expect(server.requests.count == 1)
        await rig.engine.shutDown()
    }
}

/// Has no money for a single byte.
private actor PoorSink: TransferSink {
    func stored() -> PartialBody? { nil }
    func begin(_ body: PartialBody) {}
    func write(_ bytes: [UInt8]) throws(SinkFailure) { throw .unaffordable("not a byte") }
    func pause() {}
    func discard() {}
    func complete(_ checks: BodyChecks, head: ResponseHead) throws(SinkFailure) -> DeliveredBody {
        throw .unaffordable("not a byte")
    }
    func makeRoom(for bytes: Int64?) -> Bool { false }
}
