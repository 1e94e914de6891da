import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ResourceLoader

/// Serves everything only once it is told to; says which requests have come.
final class HeldServer: Sendable {
    let server: FaultServer
    private let gate: Gate

    init(_ body: [UInt8] = pattern(4096), firstBytes: Int = 0) throws {
        let gate = Gate()
        self.gate = gate
        server = try FaultServer { exchange in
            if exchange.request.rangeStart == nil, firstBytes > 0 {
                exchange.send("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: \(body.count)\r\n\r\n")
                exchange.send(body.prefix(firstBytes))
                gate.wait()
                exchange.send(body.dropFirst(firstBytes))
            } else {
                gate.wait()
                serve(body, exchange)
            }
        }
    }

    func pass() { gate.pass() }
    func release() { gate.open() }

    func stop() {
        gate.open()
        server.stop()
    }
}

@Suite("A transfer", .takingTurns, .timeLimit(.minutes(10)))
struct TransfersFlightTests {
    private static let body = pattern(4096)

    // MARK: - One flight for equal requests

    @Test func isSharedByEqualRequests() async throws {
        let held = try HeldServer(Self.body)
        defer { held.stop() }
        let rig = try TransferRig()
        let request = try TransferRequest.get(held.server.url())
        let shares = (0..<5).map { _ in rig.start(request) }
        var arrivals = held.server.arrivals.makeAsyncIterator()
        _ = await arrivals.next()
        held.release()
        for share in shares { #expect(await share.outcome().result?.length == 4096) }
        #expect(held.server.requests.count == 1)
        #expect(rig.engine.statistics.joins == 4)
        #expect(rig.committer.bodies.count == 1)
        await rig.engine.shutDown()
    }

    @Test func isNotSharedByPostsWithOtherParameters() async throws {
        let server = try FaultServer { $0.answer("200 OK", body: $0.request.body) }
        defer { server.stop() }
        let rig = try TransferRig()
        let transfers = try (0..<4).map { number in
            let request = try TransferRequest(
                .post(.form([.init("imageId", "\(number / 2)")])), url: server.url(), kind: .original)
            return rig.engine.start(request, into: MemoryBody())
        }
        var bodies: [DeliveredBody?] = []
        for transfer in transfers { bodies.append(await transfer.outcome().result?.body) }
        let expected = [0, 0, 1, 1].map { DeliveredBody.bytes(Array("imageId=\($0)".utf8)) }
        #expect(bodies == expected)
        await rig.engine.shutDown()
    }

    @Test func postsFormsAndJSONWithTheirTypes() async throws {
        let server = try FaultServer { $0.answer("200 OK", body: Array("ok".utf8)) }
        defer { server.stop() }
        let rig = try TransferRig()
        let bodies: [RequestBody] = [
            .form([.init("b", "2 3"), .init("a", "ü")]), .json(.object(["id": .integer(7)])),
            .bytes([0, 1, 2], contentType: "x/y"),
        ]
        for body in bodies {
            let request = try TransferRequest(
                .post(body), url: server.url(), headers: [TransferHeader("X-Empty", "")], kind: .original)
            #expect(await rig.engine.start(request, into: MemoryBody()).outcome().result != nil)
        }
        #expect(
            server.requests.map { $0["Content-Type"] } == [
                "application/x-www-form-urlencoded", "application/json", "x/y",
            ])
        #expect(server.requests.map(\.body) == [Array("a=%C3%BC&b=2+3".utf8), Array("{\"id\":7}".utf8), [0, 1, 2]])
        #expect(server.requests.allSatisfy { $0["Expect"] == nil && $0["X-Empty"] == "" && $0.method == "POST" })
        await rig.engine.shutDown()
    }

    @Test func asAPostIsRepeatedFromTheStartUnlessItMustNotBe() async throws {
        for isRepeatable in [true, false] {
            let server = try FaultServer { serve(Self.body, $0, cutAfter: $0.number == 0 ? 1000 : nil) }
            defer { server.stop() }
            let rig = try TransferRig()
            let request = try TransferRequest(
                .post(.form([])), url: server.url(), kind: .original, isRepeatable: isRepeatable)
            let end = await rig.engine.start(request, into: MemoryBody()).outcome()
            if isRepeatable {
                #expect(end.result?.body == .bytes(Self.body))
                #expect(server.requests.map { $0["Range"] } == [nil, nil])
            } else {
                #expect(end.failure == .interrupted)
                #expect(server.requests.count == 1)
            }
            await rig.engine.shutDown()
        }
    }

    // MARK: - Cancelling

    @Test func goesOnWhileOneWaits() async throws {
        let held = try HeldServer(Self.body, firstBytes: 1000)
        defer { held.stop() }
        let rig = try TransferRig()
        let request = try TransferRequest.get(held.server.url())
        let (first, second) = (rig.start(request), rig.start(request))
        var states = second.states.makeAsyncIterator()
        while let state = await states.next(), !state.isRunning {}
        first.cancel()
        #expect(await first.outcome().name == "cancelled")
        rig.clock.advance(by: .seconds(10))
        held.release()
        var last: TransferState?
        while let state = await states.next() { last = state }
        #expect(last?.result?.length == 4096)
        await rig.engine.shutDown()
    }

    @Test func endsASecondAfterTheLastOneLeftAndKeepsItsPart() async throws {
        let held = try HeldServer(Self.body, firstBytes: 1000)
        defer { held.stop() }
        let rig = try TransferRig()
        let request = try TransferRequest.get(held.server.url())
        let transfer = rig.start(request)
        var ends: [String] = []
        for await state in transfer.states {
            if case .running(let progress) = state, progress.received == 1000 { transfer.cancel() }
            if state.isTerminal { ends.append(state.name) }
        }
        #expect(ends == ["cancelled"])
        rig.clock.advance(by: .seconds(1))
        // The next one waits until the part is closed, and goes on with it.
        let second = rig.start(request)
        var last: TransferState?
        for await state in second.states {
            // It is in line, so the second of grace is over: what comes now is no longer for the first.
            if last == nil { held.release() }
            last = state
        }
        #expect(last?.result?.resumed == 1000)
        #expect(held.server.requests.map(\.rangeStart) == [nil, 1000])
        #expect(rig.committer.bodies == [Self.body])
        await rig.engine.shutDown()
    }

    @Test func isFoundRunningByWhoeverAsksAgainWithinTheSecond() async throws {
        let held = try HeldServer(Self.body, firstBytes: 1000)
        defer { held.stop() }
        let rig = try TransferRig()
        let request = try TransferRequest.get(held.server.url())
        let first = rig.start(request)
        for await state in first.states where state.isRunning { first.cancel() }
        rig.clock.advance(by: .milliseconds(999))
        let second = rig.start(request)
        var states = second.states.makeAsyncIterator()
        #expect(await states.next()?.isRunning == true)
        rig.clock.advance(by: .seconds(5))
        held.release()
        var last: TransferState?
        while let state = await states.next() { last = state }
        #expect(last?.result?.attempts == 1)
        #expect(held.server.requests.count == 1)
        await rig.engine.shutDown()
    }

    @Test func onceCancelledTriggersNothing() async throws {
        let server = try FaultServer { $0.answer("503 Busy", ["Retry-After: 1"]) }
        defer { server.stop() }
        let rig = try TransferRig()
        let transfer = rig.start(try .get(server.url()))
        var ends: [String] = []
        for await state in transfer.states {
            if case .backingOff = state {
                transfer.cancel()
                // Both the retry and the second of grace come due.
                rig.clock.advance(by: .seconds(120))
            }
            if state.isTerminal { ends.append(state.name) }
        }
        #expect(ends == ["cancelled"])
        await rig.engine.shutDown()
        #expect(server.requests.count == 1)
    }

    @Test func isGivenUpWithTheTaskThatReadsIt() async throws {
        let held = try HeldServer(Self.body)
        defer { held.stop() }
        let rig = try TransferRig()
        let request = try TransferRequest.get(held.server.url())
        let reader = Task { await rig.start(request).outcome() }
        var arrivals = held.server.arrivals.makeAsyncIterator()
        _ = await arrivals.next()
        reader.cancel()
        #expect(await reader.value.name == "cancelled")
        await rig.engine.shutDown()
        #expect(rig.engine.statistics.cancelled == 1)
    }

    @Test func endsWithTheEngineAndSoDoesALaterOne() async throws {
        let held = try HeldServer(Self.body)
        defer { held.stop() }
        let rig = try TransferRig()
        let transfer = rig.start(try .get(held.server.url()))
        var outcomes = rig.engine.outcomes().makeAsyncIterator()
        var arrivals = held.server.arrivals.makeAsyncIterator()
        _ = await arrivals.next()
        await rig.engine.shutDown()
        #expect(await transfer.outcome().name == "cancelled")
        #expect(await rig.run(try .get(held.server.url("/later"))).name == "cancelled")
        #expect(await outcomes.next() == nil)
        var later = rig.engine.outcomes().makeAsyncIterator()
        #expect(await later.next() == nil)
        await rig.engine.shutDown()
    }

    // MARK: - Slots and priorities

    @Test func prefetchesGetHalfOfTheSlots() async throws {
        let held = try HeldServer()
        defer { held.stop() }
        let rig = try TransferRig()
        let prefetches = try (0..<10).map {
            rig.start(try .get(held.server.url("/prefetch\($0)"), kind: .prefetch, priority: .prefetch))
        }
        var arrivals = held.server.arrivals.makeAsyncIterator()
        for _ in 0..<3 { #expect(await arrivals.next()?.target.hasPrefix("/prefetch") == true) }
        // Three slots are left for what is visible, and only for that.
        let visible = try (0..<4).map { rig.start(try .get(held.server.url("/visible\($0)"))) }
        for _ in 0..<3 { #expect(await arrivals.next()?.target.hasPrefix("/visible") == true) }
        #expect(rig.engine.statistics.mostAtOnce == 6)
        held.release()
        for transfer in prefetches + visible { #expect(await transfer.outcome().result != nil) }
        await rig.engine.shutDown()
    }

    @Test func startsInTheOrderOfPriorityAndThenOfArrival() async throws {
        let held = try HeldServer()
        defer { held.stop() }
        let rig = try TransferRig(slots: 1)
        let first = rig.start(try .get(held.server.url("/first")))
        var arrivals = held.server.arrivals.makeAsyncIterator()
        _ = await arrivals.next()
        let order: [(String, TransferPriority)] = [
            ("/p1", .prefetch), ("/v1", .visible), ("/u1", .user), ("/v2", .visible), ("/p2", .prefetch),
            ("/u2", .user),
            ("/raised", .prefetch),
        ]
        var transfers = try order.map { rig.start(try .get(held.server.url($0.0), priority: $0.1)) }
        // Somebody looks at it now.
        transfers.append(rig.start(try .get(held.server.url("/raised"), priority: .user)))
        held.release()
        for transfer in [first] + transfers { #expect(await transfer.outcome().result != nil) }
        let targets = held.server.requests.map(\.target)
        #expect(targets == ["/first", "/u1", "/u2", "/raised", "/v1", "/v2", "/p1", "/p2"])
        await rig.engine.shutDown()
    }

    // MARK: - Back-pressure

    @Test func isHeldBackByASlowSinkAndHoldsNobodyElseUp() async throws {
        let large = [UInt8](repeating: 5, count: 64 << 20)
        let server = try FaultServer { serve($0.request.target == "/large" ? large : Self.body, $0) }
        defer { server.stop() }
        let rig = try TransferRig()
        let sink = GatedSink()
        let transfer = rig.engine.start(try .get(server.url("/large")), into: sink)
        await sink.firstWrite()
        // Twenty others come and go; meanwhile the large one fills its share of memory and no more.
        for number in 0..<20 { #expect(await rig.run(try .get(server.url("/small\(number)"))).result != nil) }
        #expect(rig.engine.statistics.received <= Int64(20 * 4096 + SinkLane.highWater + (512 << 10)))
        // Silence of our own making is no stall.
        rig.clock.advance(by: .seconds(600))
        #expect(await rig.run(try .get(server.url("/after"))).result != nil)
        await sink.open()
        #expect(await transfer.outcome().result?.length == 64 << 20)
        #expect(server.requests.count { $0.target == "/large" } == 1)
        await rig.engine.shutDown()
    }

    @Test func showsItsProgressInAboutAHundredSteps() async throws {
        let large = [UInt8](repeating: 5, count: 32 << 20)
        let server = try FaultServer { serve(large, $0) }
        defer { server.stop() }
        let rig = try TransferRig()
        var steps: [TransferProgress] = []
        for await state in rig.start(try .get(server.url())).states {
            if case .running(let progress) = state { steps.append(progress) }
        }
        #expect(steps.count <= 110)
        #expect(zip(steps, steps.dropFirst()).allSatisfy { $0.received <= $1.received })
        #expect(steps.last == TransferProgress(received: 32 << 20, total: 32 << 20))
        await rig.engine.shutDown()
    }

    // MARK: - Parts

    @Test func goesOnWhereAnotherProcessStopped() async throws {
        let server = try FaultServer { serve(Self.body, $0, cutAfter: $0.number == 0 ? 1000 : nil) }
        defer { server.stop() }
        let request = try TransferRequest.get(server.url())
        let rig = try TransferRig()
        // What a killed process leaves: a note that may lag behind the bytes, or promise more than there are.
        let base = "\(rig.directory)/\(request.identity.digest)"
        let note = PartSidecar(PartialBody(offset: 700, total: 4096, validator: .etag("\"v1\"")))
        try Data(Self.body.prefix(900)).write(to: URL(fileURLWithPath: base + ".part"))
        try Data(note.text.utf8).write(to: URL(fileURLWithPath: base + ".info"))
        let result = await rig.run(request).result
        #expect(server.requests.map(\.rangeStart).first == 700)
        #expect(result?.length == 4096)
        #expect(rig.committer.bodies == [Self.body])
        await rig.engine.shutDown()
    }

    @Test func doesNotBelieveANoteThatPromisesMoreThanThereIs() async throws {
        let server = try FaultServer { serve(Self.body, $0) }
        defer { server.stop() }
        let request = try TransferRequest.get(server.url())
        let rig = try TransferRig()
        let base = "\(rig.directory)/\(request.identity.digest)"
        let note = PartSidecar(PartialBody(offset: 700, total: 4096, validator: .etag("\"v1\"")))
        try Data(Self.body.prefix(500)).write(to: URL(fileURLWithPath: base + ".part"))
        try Data(note.text.utf8).write(to: URL(fileURLWithPath: base + ".info"))
        #expect(await rig.run(request).result?.resumed == 500)
        #expect(rig.committer.bodies == [Self.body])
        await rig.engine.shutDown()
    }

    @Test func waitsUntilItsPredecessorHasPutItsPartAway() async throws {
        let held = try HeldServer(Self.body, firstBytes: 1000)
        defer { held.stop() }
        let rig = try TransferRig()
        let request = try TransferRequest.get(held.server.url())
        let log = Mutex<[String]>([])
        let slow = SlowPausingSink { log.withLock { $0.append("put away") } }
        let first = rig.engine.start(request, into: slow)
        for await state in first.states where state.isRunning { first.cancel() }
        rig.clock.advance(by: .seconds(1))
        await slow.isPausing()
        let second = rig.engine.start(request, into: LoggingSink { log.withLock { $0.append("asked") } })
        // By the time another one is through, this one would have been, too.
        held.release()
        #expect(await rig.run(try .get(held.server.url("/other"))).result != nil)
        #expect(log.withLock { $0 } == [])
        await slow.goOn()
        #expect(await second.outcome().result != nil)
        #expect(log.withLock { $0 } == ["put away", "asked"])
        await rig.engine.shutDown()
    }

    @Test func doesNotTrustADamagedNote() async throws {
        let server = try FaultServer { serve(Self.body, $0) }
        defer { server.stop() }
        let note = PartSidecar(PartialBody(offset: 700, total: 4096, validator: .etag("\"v1\""))).text
        let damaged: [String?] = [
            nil, "", "x", note.replacingOccurrences(of: "700", with: "800"), String(note.dropLast(2)), note + "more",
            note.replacingOccurrences(of: "part 1", with: "part 2"),
        ]
        for (number, text) in damaged.enumerated() {
            let rig = try TransferRig()
            let request = try TransferRequest.get(server.url("/\(number)"))
            let base = "\(rig.directory)/\(request.identity.digest)"
            try Data([UInt8](repeating: 0, count: 900)).write(to: URL(fileURLWithPath: base + ".part"))
            if let text { try Data(text.utf8).write(to: URL(fileURLWithPath: base + ".info")) }
            #expect(await rig.run(request).result?.resumed == 0)
            #expect(rig.committer.bodies == [Self.body])
            #expect(rig.files == ["committed-1"])
            await rig.engine.shutDown()
        }
        #expect(server.requests.allSatisfy { $0.rangeStart == nil })
    }

    @Test func usesAPartOfItsOwnWhileAnotherProcessHoldsIt() async throws {
        let server = try FaultServer { serve(Self.body, $0) }
        defer { server.stop() }
        let rig = try TransferRig()
        let request = try TransferRequest.get(server.url())
        let path = "\(rig.directory)/\(request.identity.digest).part"
        let held = open(path, O_RDWR | O_CREAT, 0o600)
        #expect(flock(held, LOCK_EX | LOCK_NB) == 0)
        #expect(await rig.run(request).result != nil)
        #expect(rig.committer.bodies == [Self.body])
        #expect(FileManager.default.fileExists(atPath: path))
        close(held)
        await rig.engine.shutDown()
    }

    @Test func makesRoomAndGoesOnWhenTheSinkFillsUpOnTheWay() async throws {
        let large = [UInt8](repeating: 5, count: 8 << 20)
        let server = try FaultServer { serve(large, $0) }
        defer { server.stop() }
        let rig = try TransferRig()
        let full = FillingSink(makesRoom: true)
        let result = await rig.engine.start(try .get(server.url()), into: full).outcome().result
        #expect(result?.length == 8 << 20)
        #expect(result?.resumed ?? 0 > 0)
        let still = FillingSink(makesRoom: false)
        #expect(await rig.engine.start(try .get(server.url("/2")), into: still).outcome().failure == .storage)
        await rig.engine.shutDown()
    }

    @Test(.enabled(if: Tmpfs.isAvailable, "mounting a small tmpfs needs root"))
    func findsAFullDiskOutBeforeItsBodyIfItCan() async throws {
        let large = pattern(2 << 20)
        let server = try FaultServer { exchange in
            if exchange.request.target == "/told" { return serve(large, exchange) }
            exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n200000\r\n")
            exchange.send(large)
            exchange.send("\r\n0\r\n\r\n")
        }
        defer { server.stop() }
        let disk = try Tmpfs(kibibytes: 1024)
        defer { disk.unmount() }
        let rig = try TransferRig(makesRoom: false)
        for name in ["told", "untold"] {
            let sink = PartFile(directory: disk.path, name: name, durability: .synced, committer: rig.committer)
            #expect(await rig.engine.start(try .get(server.url("/\(name)")), into: sink).outcome().failure == .storage)
        }
        await rig.engine.shutDown()
        // What cannot be resumed is not left to fill the disk.
        #expect(try FileManager.default.contentsOfDirectory(atPath: disk.path) == [])
    }

    @Test func pressesWhatItSaysOntoTheDisk() async throws {
        let server = try FaultServer { serve(Self.body, $0, cutAfter: $0.number == 0 ? 1000 : nil) }
        defer { server.stop() }
        let rig = try TransferRig()
        let request = try TransferRequest.get(server.url())
        let sink = PartFile(
            directory: rig.directory, name: request.identity.digest, durability: .synced, committer: rig.committer)
        #expect(await rig.engine.start(request, into: sink).outcome().result?.resumed == 1000)
        #expect(rig.committer.bodies == [Self.body])
        await rig.engine.shutDown()
    }

    @Test func endsWhenItsEngineIsReleased() async throws {
        let held = try HeldServer(Self.body)
        defer { held.stop() }
        var engine: TransferEngine? = try TransferEngine()
        let transfer = try #require(engine).start(try .get(held.server.url()), into: MemoryBody())
        var arrivals = held.server.arrivals.makeAsyncIterator()
        _ = await arrivals.next()
        engine = nil
        #expect(await transfer.outcome().name == "cancelled")
    }

    @Test func failsAsStorageWhereNothingCanBeWritten() async throws {
        let server = try FaultServer { serve(Self.body, $0) }
        defer { server.stop() }
        let rig = try TransferRig()
        let request = try TransferRequest.get(server.url())
        let sink = PartFile(directory: rig.directory + "/missing", name: "x", committer: rig.committer)
        guard case .failed(let failure) = await rig.engine.start(request, into: sink).outcome() else {
            Issue.record("it succeeded")
            return
        }
        #expect(failure.failure == .storage)
        #expect(failure.status == nil)
        #expect(server.requests.isEmpty)
        await rig.engine.shutDown()
    }

    @Test func roundTripsItsNote() {
        for part in [
            PartialBody(offset: 0, total: nil, validator: nil),
            PartialBody(offset: 5, total: 9, validator: .etag("\"a b\"")),
            PartialBody(offset: .max, total: .max, validator: .lastModified("Sun, 06 Nov 1994 08:49:37 GMT")),
        ] {
            #expect(PartSidecar(PartSidecar(part).text)?.part == part)
        }
    }
}

/// Has room for 3 MiB, until it is asked to make more.
private actor FillingSink: TransferSink {
    private var length: Int64 = 0
    private var part: PartialBody?
    private var capacity: Int64 = 3 << 20
    private let makesRoom: Bool

    init(makesRoom: Bool) { self.makesRoom = makesRoom }

    func stored() -> PartialBody? { part.map { PartialBody(offset: length, total: $0.total, validator: $0.validator) } }

    func begin(_ part: PartialBody) {
        self.part = part
        length = part.offset
    }

    func write(_ bytes: [UInt8]) throws(SinkFailure) {
        guard length + Int64(bytes.count) <= capacity else { throw .storage("full", isFull: true) }
        length += Int64(bytes.count)
    }

    func pause() {}
    func discard() { part = nil }
    func complete(_ checks: BodyChecks, head: ResponseHead) -> DeliveredBody { .committed(length: length) }

    func makeRoom(for bytes: Int64?) -> Bool {
        capacity = .max
        return makesRoom
    }
}

/// Takes its time to put its part away.
private actor SlowPausingSink: TransferSink {
    private let log: @Sendable () -> Void
    private var pausing: CheckedContinuation<Void, Never>?
    private var watcher: CheckedContinuation<Void, Never>?

    init(log: @escaping @Sendable () -> Void) { self.log = log }

    func isPausing() async {
        if pausing == nil { await withCheckedContinuation { watcher = $0 } }
    }

    func goOn() {
        log()
        pausing?.resume()
    }

    func pause() async {
        await withCheckedContinuation { continuation in
            pausing = continuation
            watcher?.resume()
        }
    }

    func stored() -> PartialBody? { nil }
    func begin(_ part: PartialBody) {}
    func write(_ bytes: [UInt8]) {}
    func discard() {}
    func complete(_ checks: BodyChecks, head: ResponseHead) -> DeliveredBody { .bytes([]) }
    func makeRoom(for bytes: Int64?) -> Bool { false }
}

/// Says when it is first asked for anything.
private actor LoggingSink: TransferSink {
    private let log: @Sendable () -> Void
    init(log: @escaping @Sendable () -> Void) { self.log = log }

    func stored() -> PartialBody? {
        log()
        return nil
    }

    func begin(_ part: PartialBody) {}
    func write(_ bytes: [UInt8]) {}
    func pause() {}
    func discard() {}
    func complete(_ checks: BodyChecks, head: ResponseHead) -> DeliveredBody { .bytes([]) }
    func makeRoom(for bytes: Int64?) -> Bool { false }
}

/// A file system of its own, small enough to fill.
private struct Tmpfs {
    static let isAvailable = geteuid() == 0 && (try? Tmpfs(kibibytes: 64).unmount()) != nil

    let path: String

    init(kibibytes: Int) throws {
        path = FileManager.default.temporaryDirectory.path + "/tmpfs-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        guard mount("tmpfs", path, "tmpfs", 0, "size=\(kibibytes)k") == 0 else {
            rmdir(path)
            throw POSIXError(.EPERM)
        }
    }

    func unmount() {
        umount(path)
        rmdir(path)
    }
}

/// Takes nothing until it is opened.
private actor GatedSink: TransferSink {
    private var length: Int64 = 0
    private var isOpen = false
    private var held: [CheckedContinuation<Void, Never>] = []
    private var watchers: [CheckedContinuation<Void, Never>] = []
    private var hasBegun = false

    func firstWrite() async {
        if !hasBegun { await withCheckedContinuation { watchers.append($0) } }
    }

    func open() {
        isOpen = true
        for continuation in held { continuation.resume() }
        held = []
    }

    func stored() -> PartialBody? { nil }
    func begin(_ part: PartialBody) {}

    func write(_ bytes: [UInt8]) async {
        hasBegun = true
        for watcher in watchers { watcher.resume() }
        watchers = []
        if !isOpen { await withCheckedContinuation { held.append($0) } }
        length += Int64(bytes.count)
    }

    func pause() {}
    func discard() {}
    func complete(_ checks: BodyChecks, head: ResponseHead) -> DeliveredBody { .committed(length: length) }
    func makeRoom(for bytes: Int64?) -> Bool { false }
}
