import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ResourceLoader

/// Each fault of the server, with the class and outcome of the tables.
@Suite("A server that", .takingTurns, .timeLimit(.minutes(10)))
struct TransfersFaultTests {
    private static let body = pattern(4096)

    /// Runs a request against a script and gives how it ended, after as many back-offs as it took.
    private func run(
        path: String = "/body", expects: ExpectedBody = .anything, limits: TransferLimits = TransferLimits(),
        digest: [UInt8]? = nil, rig: TransferRig? = nil, _ script: @escaping FaultServer.Script
    ) async throws -> (end: TransferState, backoffs: [FailureClass], requests: [FaultServer.Request], rig: TransferRig)
    {
        let server = try FaultServer(script)
        defer { server.stop() }
        let rig = try rig ?? TransferRig()
        let request = try TransferRequest(
            url: server.url(path), kind: .original, expects: expects, limits: limits, digest: digest)
        let (end, backoffs) = await rig.runThroughBackoffs(request)
        await rig.engine.shutDown()
        return (end, backoffs, server.requests, rig)
    }

    /// The first request is cut after 1000 bytes; the script answers the rest.
    private func resume(
        rig: TransferRig? = nil, expects: ExpectedBody = .anything, _ script: @escaping FaultServer.Script
    ) async throws -> (end: TransferState, backoffs: [FailureClass], requests: [FaultServer.Request], rig: TransferRig)
    {
        try await run(expects: expects, rig: rig) { exchange in
            if exchange.number == 0 { serve(Self.body, exchange, cutAfter: 1000) } else { script(exchange) }
        }
    }

    private static func piece(
        _ exchange: FaultServer.Exchange, _ range: String, _ bytes: some Collection<UInt8>, etag: String = "\"v1\"",
        more: [String] = []
    ) {
        exchange.answer(
            "206 Partial Content", ["Content-Range: \(range)", "ETag: \(etag)"] + more, body: Array(bytes))
    }

    // MARK: - Ranges

    @Test func isAskedForTheRestOnlyAndOnTheValidator() async throws {
        let (end, _, requests, rig) = try await resume { serve(Self.body, $0) }
        #expect(requests.map { $0["Range"] } == [nil, "bytes=1000-"])
        #expect(requests.map { $0["If-Range"] } == [nil, "\"v1\""])
        #expect(end.result?.resumed == 1000)
        #expect(end.result?.received == 4096)
        #expect(rig.committer.bodies == [Self.body])
    }

    @Test(arguments: [
        "bytes 1001-4095/4096", "bytes 1000-4095/4097", "bytes 1000-4095/*", "bytes 1000-4094/4096", "nonsense",
        "bytes 5000-4095/4096",
    ])
    func sendsAWrongContentRangeIsAskedForTheWholeOnce(_ range: String) async throws {
        let (end, _, requests, rig) = try await resume { exchange in
            if exchange.request.rangeStart != nil {
                Self.piece(exchange, range, Self.body[1000...])
            } else {
                serve(Self.body, exchange)
            }
        }
        #expect(end.result != nil)
        #expect(requests.map { $0["Range"] } == [nil, "bytes=1000-", nil])
        #expect(rig.committer.bodies == [Self.body])
    }

    @Test func sendsWrongRangesForEverFailsAsCorrupt() async throws {
        let (end, _, requests, rig) = try await resume { Self.piece($0, "bytes 7-8/9", [1, 2]) }
        #expect(end.failure == .corrupt)
        #expect(requests.count == 3)
        #expect(rig.files.isEmpty)
    }

    @Test func beginsEarlierIsOverwritten() async throws {
        let (end, _, _, rig) = try await resume { Self.piece($0, "bytes 300-4095/4096", Self.body[300...]) }
        #expect(end.result?.resumed == 300)
        #expect(rig.committer.bodies == [Self.body])
    }

    @Test func sendsOnlyAPieceOfTheRestIsAskedAgain() async throws {
        let (end, _, requests, rig) = try await resume { exchange in
            let start = exchange.request.rangeStart ?? 0
            let last = min(start + 999, 4095)
            Self.piece(exchange, "bytes \(start)-\(last)/4096", Self.body[start...last])
        }
        #expect(end.result != nil)
        #expect(requests.map(\.rangeStart) == [nil, 1000, 2000, 3000, 4000])
        #expect(rig.committer.bodies == [Self.body])
    }

    @Test func answersARangeWithTheWholeIsTakenAtItsWord() async throws {
        let other = pattern(5000, seed: 2)
        let (end, _, _, rig) = try await resume { $0.answer("200 OK", ["ETag: \"v2\""], body: other) }
        #expect(end.result?.resumed == 0)
        #expect(rig.committer.bodies == [other])
    }

    @Test func answersARangeWithAShorterWholeLeavesNothingOfTheOldBody() async throws {
        let other = pattern(10, seed: 2)
        let (_, _, _, rig) = try await resume { $0.answer("200 OK", body: other) }
        #expect(rig.committer.bodies == [other])
    }

    @Test func sendsAPieceOfAnotherVersionIsAskedForTheWhole() async throws {
        let other = pattern(4096, seed: 2)
        let (end, _, _, rig) = try await resume { exchange in
            if exchange.request.rangeStart != nil {
                Self.piece(exchange, "bytes 1000-4095/4096", other[1000...], etag: "\"v2\"")
            } else {
                serve(other, etag: "\"v2\"", exchange)
            }
        }
        #expect(end.result != nil)
        #expect(rig.committer.bodies == [other])
    }

    @Test func changedItsBodyMeanwhileSendsTheNewOne() async throws {
        let other = pattern(4096, seed: 2)
        let (_, _, requests, rig) = try await resume { serve(other, etag: "\"v2\"", $0) }
        #expect(requests.count == 2)
        #expect(rig.committer.bodies == [other])
    }

    @Test func sendsSeveralRangesAtOnceIsAskedForTheWhole() async throws {
        let (_, _, requests, rig) = try await resume { exchange in
            if exchange.request.rangeStart != nil {
                Self.piece(
                    exchange, "bytes 1000-4095/4096", Self.body[1000...],
                    more: ["Content-Type: multipart/byteranges; boundary=b"])
            } else {
                serve(Self.body, exchange)
            }
        }
        #expect(requests.count == 3)
        #expect(rig.committer.bodies == [Self.body])
    }

    @Test(arguments: ["304 Not Modified", "412 Precondition Failed"])
    func answersTheConditionInsteadIsAskedForTheWhole(_ status: String) async throws {
        let (_, _, requests, rig) = try await resume { exchange in
            if exchange.request.rangeStart == nil { return serve(Self.body, exchange) }
            exchange.send("HTTP/1.1 \(status)\r\n\(status.hasPrefix("4") ? "Content-Length: 0\r\n" : "")\r\n")
        }
        #expect(requests.map(\.rangeStart) == [nil, 1000, nil])
        #expect(rig.committer.bodies == [Self.body])
    }

    @Test func givesNoStrongValidatorIsAskedForTheWholeAgain() async throws {
        let (_, _, requests, rig) = try await run { exchange in
            serve(Self.body, etag: "W/\"v1\"", exchange, cutAfter: exchange.number == 0 ? 1000 : nil)
        }
        #expect(requests.map { $0["Range"] } == [nil, nil])
        #expect(rig.committer.bodies == [Self.body])
    }

    @Test func saysWeHaveItAllIsBelievedOnceItIsChecked() async throws {
        // The body was whole, but could not be stored the first time; the second time there is nothing left to fetch.
        let rig = try TransferRig(commitFailures: [.storage("disk full", isFull: true)])
        let (end, _, requests, _) = try await run(rig: rig) { exchange in
            if exchange.request.rangeStart == 4096 {
                exchange.answer("416 Range Not Satisfiable", ["Content-Range: bytes */4096"])
            } else {
                serve(Self.body, exchange)
            }
        }
        #expect(end.result?.received == 4096)
        #expect(requests.map(\.rangeStart) == [nil, 4096])
        #expect(rig.committer.bodies == [Self.body])
        #expect(rig.committer.roomAsked == [0])
    }

    @Test(arguments: ["bytes */4095", "bytes */5000", "", "bytes 0-1/4096"])
    func saysARangeIsUnsatisfiableIsAskedForTheWholeOnce(_ range: String) async throws {
        let (end, _, requests, rig) = try await resume { exchange in
            if exchange.request.rangeStart == nil { return serve(Self.body, exchange) }
            exchange.answer("416 Range Not Satisfiable", range.isEmpty ? [] : ["Content-Range: \(range)"])
        }
        #expect(end.result != nil)
        #expect(requests.map(\.rangeStart) == [nil, 1000, nil])
        #expect(rig.committer.bodies == [Self.body])
    }

    // MARK: - Cuts, stalls, lies

    @Test func cutsAChunkedBodyIsResumed() async throws {
        let (end, backoffs, _, rig) = try await run { exchange in
            guard exchange.number == 0 else { return serve(Self.body, exchange) }
            exchange.send("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nTransfer-Encoding: chunked\r\n\r\n800\r\n")
            exchange.send(Self.body.prefix(1500))
            exchange.close()
        }
        // The first answer did not tell the length; the second one does, and its validator says that it is the same body.
        #expect(end.result?.resumed == 1500)
        #expect(backoffs.isEmpty)
        #expect(rig.committer.bodies == [Self.body])
    }

    @Test func sendsAWholeChunkedBodyIsTakenAtItsWord() async throws {
        let (end, _, _, rig) = try await run { exchange in
            exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1000\r\n")
            exchange.send(Self.body)
            exchange.send("\r\n0\r\nTrailer: x\r\n\r\n")
        }
        #expect(end.result?.length == 4096)
        #expect(rig.committer.bodies == [Self.body])
    }

    @Test func resetsTheConnectionIsResumed() async throws {
        let (end, _, requests, rig) = try await run { exchange in
            guard exchange.number == 0 else { return serve(Self.body, exchange) }
            exchange.send("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 4096\r\n\r\n")
            exchange.reset()
        }
        #expect(end.result != nil)
        #expect(requests.count == 2)
        #expect(rig.committer.bodies == [Self.body])
    }

    @Test func saysNothingAtAllIsAskedFiveTimes() async throws {
        let (end, _, requests, rig) = try await run { $0.close() }
        #expect(end.failure == .interrupted)
        #expect(requests.count == 5)
        #expect(rig.files.isEmpty)
    }

    @Test func cutsAtTheSamePlaceForEverIsGivenUpAndItsPartKept() async throws {
        let (end, _, requests, rig) = try await run { exchange in
            serve(Self.body, exchange, cutAfter: max(0, 1000 - (exchange.request.rangeStart ?? 0)))
        }
        #expect(end.failure == .interrupted)
        #expect(requests.count == 5)
        #expect(rig.files.count == 2)
        #expect(rig.files.allSatisfy { $0.hasSuffix(".part") || $0.hasSuffix(".info") })
    }

    @Test func advancesAByteAtATimeIsNeverGivenUp() async throws {
        let small = Array(Self.body.prefix(100))
        let (end, _, requests, rig) = try await run { serve(small, $0, cutAfter: 1) }
        #expect(end.result != nil)
        #expect(requests.count == 100)
        #expect(rig.committer.bodies == [small])
    }

    @Test func promisesMoreThanItSendsIsResumed() async throws {
        let (end, _, requests, _) = try await run { exchange in
            exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 5000\r\n\r\n")
            exchange.send(Self.body)
            exchange.close()
        }
        #expect(end.failure == .interrupted)
        #expect(requests.count == 5)
    }

    @Test func sendsMoreThanItPromisedIsReadToItsPromise() async throws {
        let (_, _, _, rig) = try await run { exchange in
            exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n")
            exchange.send(Self.body)
        }
        #expect(rig.committer.bodies == [Array(Self.body.prefix(100))])
    }

    @Test(arguments: ["Content-Length: -5", "Content-Length: 12abc", "Content-Length: 99999999999999999999999"])
    func promisesNonsenseYieldsNothing(_ line: String) async throws {
        let (end, _, _, rig) = try await run { exchange in
            exchange.send("HTTP/1.1 200 OK\r\n\(line)\r\n\r\n")
            exchange.send(Self.body)
            exchange.close()
        }
        #expect(end.failure != nil)
        #expect(rig.committer.bodies.isEmpty)
    }

    @Test func sendsMoreOfAPieceThanThereIsYieldsNothingOfIt() async throws {
        let (end, _, requests, rig) = try await resume { exchange in
            if exchange.request.rangeStart == nil { return serve(Self.body, exchange) }
            exchange.send(
                "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 1000-4095/4096\r\nETag: \"v1\"\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n1000\r\n")
            exchange.send(Self.body)
            exchange.send("\r\n0\r\n\r\n")
        }
        #expect(end.result != nil)
        #expect(requests.count == 3)
        #expect(rig.committer.bodies == [Self.body])
    }

    @Test func speaksNoHTTPIsRejected() async throws {
        let (end, _, requests, _) = try await run { exchange in
            exchange.send("220 mail.example ESMTP\r\n")
            exchange.close()
        }
        #expect(end.failure == .rejected)
        #expect(requests.count == 1)
    }

    @Test func sendsHintsBeforeItsAnswerIsUnderstood() async throws {
        let (end, _, _, rig) = try await run { exchange in
            exchange.send("HTTP/1.1 103 Early Hints\r\nLink: </x>\r\nContent-Length: 3\r\n\r\n")
            serve(Self.body, exchange)
        }
        #expect(end.result?.head["link"] == nil)
        #expect(rig.committer.bodies == [Self.body])
    }

    @Test func sendsAnEmptyBodyYieldsNoResource() async throws {
        let (end, _, requests, rig) = try await run { $0.answer("200 OK") }
        #expect(end.failure == .corrupt)
        #expect(requests.count == 2)
        #expect(rig.files.isEmpty)
    }

    // MARK: - Coded bodies

    @Test func compressesAllTheSameIsDecoded() async throws {
        let (end, _, _, rig) = try await run { exchange in
            exchange.answer("200 OK", ["Content-Encoding: gzip", "ETag: \"v1\""], body: gzip(Self.body))
        }
        #expect(end.result?.length == 4096)
        #expect(rig.committer.bodies == [Self.body])
    }

    @Test func compressesAndCutsIsNotResumedButFetchedAgain() async throws {
        let (end, _, requests, rig) = try await run { exchange in
            let coded = gzip(Self.body)
            exchange.send(
                "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nETag: \"v1\"\r\nContent-Length: \(coded.count)\r\n\r\n")
            exchange.send(coded.prefix(exchange.number == 0 ? 1000 : coded.count))
            if exchange.number == 0 { exchange.close() }
        }
        #expect(end.result != nil)
        #expect(requests.map(\.rangeStart) == [nil, nil])
        #expect(rig.committer.bodies == [Self.body])
    }

    @Test func compressesBadlyYieldsNothing() async throws {
        let (end, _, requests, rig) = try await run { exchange in
            exchange.answer("200 OK", ["Content-Encoding: gzip"], body: Self.body)
        }
        #expect(end.failure == .corrupt)
        #expect(requests.count == 2)
        #expect(rig.files.isEmpty)
    }

    // MARK: - Portals and redirects

    @Test func sendsHTMLForAPictureIsAPortalAndCostsNoBytesAlreadyHad() async throws {
        let portal = Array("<!DOCTYPE html><title>Log in</title>".utf8)
        let png = TransfersPictureTests.png(10, 10) + Self.body
        let (end, backoffs, requests, rig) = try await run(expects: .picture) { exchange in
            switch exchange.number {
            case 0: serve(png, exchange, cutAfter: 1000)
            case 1: exchange.answer("200 OK", ["Content-Type: text/html; charset=utf-8"], body: portal)
            case 2: exchange.answer("200 OK", ["Content-Type: image/png"], body: portal)
            case 3: exchange.answer("511 Network Authentication Required", body: portal)
            default: serve(png, exchange)
            }
        }
        #expect(backoffs == [.captivePortal, .captivePortal, .captivePortal])
        #expect(requests.last?.rangeStart == 1000)
        #expect(end.result?.resumed == 1000)
        #expect(rig.committer.bodies == [png])
    }

    @Test func sendsHTMLInPiecesIsSeenThroughWhenTheBodyIsWhole() async throws {
        let portal = Array("<html>".utf8)
        let (end, backoffs, _, rig) = try await run(expects: .picture) { exchange in
            if exchange.request.rangeStart == 3 {
                return Self.piece(exchange, "bytes 3-5/6", portal[3...], etag: "\"p\"")
            }
            exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nETag: \"p\"\r\n\r\n")
            exchange.send(portal.prefix(3))
            exchange.close()
        }
        #expect(backoffs.first == .captivePortal)
        // The cuts are counted too, and run out before the probes do.
        #expect(end.failure == .interrupted)
        #expect(rig.committer.bodies.isEmpty)
    }

    @Test func keepsSendingHTMLIsReportedAsAPortalInTheEnd() async throws {
        let (end, backoffs, _, rig) = try await run(expects: .picture) { exchange in
            exchange.answer("200 OK", ["Content-Type: text/html"], body: Array("<html>".utf8))
        }
        #expect(backoffs.count == 6)
        #expect(end.failure == .captivePortal)
        #expect(rig.files.isEmpty)
    }

    @Test func redirectsToAnotherHostGetsNoSecretsThere() async throws {
        let other = try FaultServer(host: "127.0.0.2") { serve(Self.body, $0) }
        defer { other.stop() }
        let server = try FaultServer { exchange in
            if exchange.request.target == "/body" {
                exchange.answer("302 Found", ["Location: /hop"])
            } else {
                exchange.answer("302 Found", ["Location: \(other.url("/there"))"])
            }
        }
        defer { server.stop() }
        let rig = try TransferRig()
        let secrets = ["Authorization", "Cookie", "X-Api-Key"]
        let request = try TransferRequest(
            url: "http://user:pass@127.0.0.1:\(server.port)/body",
            headers: secrets.dropFirst().map { TransferHeader($0, "secret") } + [TransferHeader("Accept", "image/png")],
            kind: .original)
        let end = await rig.run(request)
        #expect(end.result != nil)
        #expect(server.requests.count == 2)
        for seen in server.requests { #expect(secrets.allSatisfy { seen[$0] != nil }) }
        #expect(secrets.allSatisfy { other.requests[0][$0] == nil })
        #expect(other.requests[0]["Accept"] == "image/png")
        await rig.engine.shutDown()
    }

    @Test func redirectsToAnotherHostsHTMLIsAPortal() async throws {
        let portal = try FaultServer(host: "127.0.0.2") { exchange in
            exchange.answer("200 OK", ["Content-Type: text/html"], body: Array("<html>Log in".utf8))
        }
        defer { portal.stop() }
        let (end, backoffs, _, rig) = try await run { $0.answer("302 Found", ["Location: \(portal.url("/login"))"]) }
        #expect(backoffs.first == .captivePortal)
        #expect(end.failure == .captivePortal)
        #expect(rig.files.isEmpty)
    }

    @Test func redirectsInCirclesIsRejectedAfterTenHops() async throws {
        let (end, _, requests, _) = try await run { $0.answer("302 Found", ["Location: /again"]) }
        #expect(end.failure == .rejected)
        #expect(requests.count == 11)
    }

    @Test(arguments: ["file:///etc/passwd", "gopher://127.0.0.1/x", "http://"])
    func redirectsOutOfTheWebIsRejected(_ location: String) async throws {
        let (end, _, requests, _) = try await run { $0.answer("302 Found", ["Location: \(location)"]) }
        #expect(end.failure == .rejected)
        #expect(requests.count == 1)
    }

    @Test func redirectsAndIsCutIsResumedThroughTheRedirect() async throws {
        let (end, _, requests, rig) = try await run { exchange in
            if exchange.request.target == "/body" {
                exchange.answer("307 Temporary Redirect", ["Location: /real"])
            } else {
                serve(Self.body, exchange, cutAfter: exchange.number < 2 ? 1000 : nil)
            }
        }
        #expect(end.result?.resumed == 1000)
        #expect(requests.map(\.target) == ["/body", "/real", "/body", "/real"])
        #expect(rig.committer.bodies == [Self.body])
    }

    // MARK: - Statuses

    @Test(arguments: [
        (401, FailureClass.unauthorized), (403, .unauthorized), (404, .missing), (410, .missing), (400, .rejected),
    ])
    func refusesIsNotAskedAgain(_ status: Int, _ expected: FailureClass) async throws {
        let (end, _, requests, rig) = try await run { $0.answer("\(status) X", body: Array("sorry".utf8)) }
        #expect(end.failure == expected)
        #expect(requests.count == 1)
        #expect(rig.files.isEmpty)
    }

    @Test(arguments: [408, 425, 429, 500, 503]) func isInTroubleIsAskedFiveTimes(_ status: Int) async throws {
        let (end, _, requests, _) = try await run { $0.answer("\(status) X") }
        #expect(end.failure == .server)
        #expect(requests.count == 5)
    }

    @Test func asksForTimeGetsIt() async throws {
        let rig = try TransferRig()
        let date = "Tue, 14 Nov 2023 22:13:45 GMT"  // 25 s after the rig's clock
        let answers = ["Retry-After: 5", "Retry-After: 500", "Retry-After: \(date)", "X: y"]
        let server = try FaultServer { exchange in
            if exchange.number < answers.count {
                exchange.answer("503 Busy", [answers[exchange.number]])
            } else {
                serve(Self.body, exchange)
            }
        }
        defer { server.stop() }
        var waits: [Duration] = []
        for await state in rig.start(try .get(server.url())).states {
            guard case .backingOff(let until, .server) = state else { continue }
            waits.append(until - rig.clock.now())
            // By now the date that the third answer names is past, so it asks for nothing.
            rig.clock.advance(by: until - rig.clock.now())
        }
        #expect(waits == [.seconds(5), .seconds(120)])
        #expect(rig.committer.bodies == [Self.body])
        await rig.engine.shutDown()
    }

    @Test func namesATimeIsAskedThen() async throws {
        let rig = try TransferRig()
        let server = try FaultServer { exchange in
            if exchange.number == 0 {
                exchange.answer("429 Slow Down", ["Retry-After: Tue, 14 Nov 2023 22:13:45 GMT"])
            } else {
                serve(Self.body, exchange)
            }
        }
        defer { server.stop() }
        for await state in rig.start(try .get(server.url())).states {
            guard case .backingOff(let until, .server) = state else { continue }
            #expect(until - rig.clock.now() == .seconds(25))
            rig.clock.advance(by: .seconds(25))
        }
        #expect(rig.committer.bodies == [Self.body])
        await rig.engine.shutDown()
    }

    @Test func asksForTimeToTheEndLetsTheCallerKnow() async throws {
        for (status, header, expected) in [
            ("503 Busy", "Retry-After: 7", Duration.seconds(7)), ("429 Slow Down", "X: y", nil),
            ("404 Not Found", "Retry-After: 7", nil),
        ] {
            guard case .failed(let failure) = try await run({ $0.answer(status, [header]) }).end else {
                Issue.record("no failure after \(status)")
                continue
            }
            #expect(failure.retryAfter == expected)
        }
    }

    @Test func lacksAResourceIsNotAskedForItAgainForFiveMinutes() async throws {
        let server = try FaultServer { $0.answer("404 Not Found") }
        defer { server.stop() }
        let rig = try TransferRig()
        func ask(_ priority: TransferPriority) async throws -> (FailureClass?, Int) {
            let end = await rig.run(try .get(server.url(), priority: priority))
            return (end.failure, server.requests.count)
        }
        #expect(try await ask(.visible) == (.missing, 1))
        #expect(try await ask(.visible) == (.missing, 1))
        #expect(try await ask(.user) == (.missing, 2))
        rig.clock.advance(by: .seconds(299))
        #expect(try await ask(.visible) == (.missing, 2))
        rig.clock.advance(by: .seconds(1))
        #expect(try await ask(.visible) == (.missing, 3))
        await rig.engine.shutDown()
    }

    @Test func hasAResourceAgainIsAskedForItLikeForAnyOther() async throws {
        let server = try FaultServer { exchange in
            if exchange.number == 0 { exchange.answer("404 Not Found") } else { serve(Self.body, exchange) }
        }
        defer { server.stop() }
        let rig = try TransferRig()
        #expect(await rig.run(try .get(server.url())).failure == .missing)
        #expect(await rig.run(try .get(server.url(), priority: .user)).result != nil)
        #expect(await rig.run(try .get(server.url())).result != nil)
        await rig.engine.shutDown()
    }

    // MARK: - A question about the caller's copy

    /// Asks whether a copy still holds, over a part of its successor if there is one.
    private func askAboutACopy(
        _ name: String, _ rig: TransferRig, _ script: @escaping FaultServer.Script
    ) async throws -> (end: TransferState, outcomes: [TransferOutcome], requests: [FaultServer.Request]) {
        let server = try FaultServer(script)
        defer { server.stop() }
        let outcomes = rig.engine.outcomes()
        let request = try TransferRequest(
            url: server.url(), headers: [TransferHeader(name, "\"v0\"")], kind: .original)
        let (end, _) = await rig.runThroughBackoffs(request)
        await rig.engine.shutDown()
        var told: [TransferOutcome] = []
        for await outcome in outcomes { told.append(outcome) }
        return (end, told, server.requests)
    }

    @Test(arguments: ["If-None-Match", "if-modified-since"])
    func saysThatTheCopyHoldsSucceedsWithoutABody(_ name: String) async throws {
        let rig = try TransferRig()
        let (end, outcomes, _) = try await askAboutACopy(name, rig) {
            $0.send("HTTP/1.1 304 Not Modified\r\nETag: \"v0\"\r\nCache-Control: max-age=60\r\n\r\n")
        }
        #expect(end.result?.body == .notModified)
        #expect(end.result?.length == 0)
        #expect(end.result?.head["Cache-Control"] == "max-age=60")
        #expect(outcomes.map(\.failure) == [nil])
        #expect(rig.engine.statistics.finished == 1)
        #expect(rig.engine.statistics.failed == 0)
        #expect(rig.files.isEmpty)
        #expect(rig.committer.bodies.isEmpty)
    }

    @Test func saysThatTheCopyHoldsAfterAllLeavesNothingOfItsSuccessor() async throws {
        let rig = try TransferRig()
        let (end, _, requests) = try await askAboutACopy("If-None-Match", rig) { exchange in
            if exchange.number == 0 { return serve(Self.body, exchange, cutAfter: 1000) }
            exchange.send("HTTP/1.1 304 Not Modified\r\n\r\n")
        }
        #expect(requests.map(\.rangeStart) == [nil, 1000])
        #expect(end.result?.body == .notModified)
        #expect(rig.files.isEmpty)
    }

    @Test func saysThatACopyHoldsOfWhichNobodyAskedIsRejected() async throws {
        let (end, _, _, _) = try await run { $0.send("HTTP/1.1 304 Not Modified\r\n\r\n") }
        #expect(end.failure == .rejected)
    }

    // MARK: - Limits and checks

    @Test func announcesTooMuchIsCutOffBeforeItsBody() async throws {
        // No byte of the body ever comes, so it is the announcement that decides.
        let (end, _, requests, rig) = try await run(limits: TransferLimits(bytes: 4095)) { exchange in
            exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 4096\r\n\r\n")
            exchange.hang()
        }
        #expect(end.failure == .tooLarge)
        #expect(requests.count == 1)
        #expect(rig.engine.statistics.received == 0)
        #expect(rig.files.isEmpty)
    }

    @Test func sendsTooMuchUnannouncedIsCutOffOnTheWay() async throws {
        let (end, _, _, rig) = try await run(limits: TransferLimits(bytes: 1 << 20)) { exchange in
            exchange.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
            while exchange.send("10000\r\n"), exchange.send([UInt8](repeating: 7, count: 65536)), exchange.send("\r\n")
            {}
        }
        #expect(end.failure == .tooLarge)
        #expect(rig.engine.statistics.received < 2 << 20)
        #expect(rig.files.isEmpty)
    }

    @Test func inflatesItsBodyIsCutOffByWhatComesOut() async throws {
        let (end, _, _, _) = try await run(limits: TransferLimits(bytes: 4095)) { exchange in
            exchange.answer("200 OK", ["Content-Encoding: gzip"], body: gzip(Self.body))
        }
        #expect(end.failure == .tooLarge)
    }

    @Test func sendsTooManyPixelsIsCutOffAtThePicturesHeader() async throws {
        let png = TransfersPictureTests.png(10_000, 10_000) + [UInt8](repeating: 0, count: 4 << 20)
        let limits = TransferLimits(pixels: 99_999_999)
        let (end, _, _, rig) = try await run(expects: .picture, limits: limits) { serve(png, $0) }
        #expect(end.failure == .tooLarge)
        #expect(rig.engine.statistics.received < 2 << 20)
        #expect(rig.files.isEmpty)
    }

    @Test func hidesItsPixelsBehindACutIsSeenThroughWhenTheBodyIsWhole() async throws {
        let png = TransfersPictureTests.png(10_000, 10_000) + [UInt8](repeating: 0, count: 2000)
        let limits = TransferLimits(pixels: 99_999_999)
        let (end, _, _, rig) = try await run(expects: .picture, limits: limits) { exchange in
            serve(png, exchange, cutAfter: exchange.number == 0 ? 20 : nil)
        }
        #expect(end.failure == .tooLarge)
        #expect(rig.committer.bodies.isEmpty)
        #expect(rig.files.isEmpty)
    }

    @Test func sendsTheWrongBytesIsAskedOnceMore() async throws {
        let digest = SHA256.digest(of: Self.body)
        let wrong = try await run(digest: digest) { serve(pattern(4096, seed: 9), $0) }
        #expect(wrong.end.failure == .corrupt)
        #expect(wrong.requests.count == 2)
        #expect(wrong.rig.files.isEmpty)
        let mended = try await run(digest: digest) { exchange in
            serve(exchange.number == 0 ? pattern(4096, seed: 9) : Self.body, exchange)
        }
        #expect(mended.end.result != nil)
        #expect(mended.rig.committer.bodies == [Self.body])
    }

    @Test func cannotBeStoredMakesRoomOnce() async throws {
        let full = SinkFailure.storage("No space left on device", isFull: true)
        let once = try await run(rig: TransferRig(commitFailures: [full])) { serve(Self.body, $0) }
        #expect(once.end.result != nil)
        let twice = try await run(rig: TransferRig(commitFailures: [full, full])) { serve(Self.body, $0) }
        #expect(twice.end.failure == .storage)
        let noRoom = try await run(rig: TransferRig(commitFailures: [full], makesRoom: false)) { serve(Self.body, $0) }
        #expect(noRoom.end.failure == .storage)
        #expect(noRoom.requests.count == 1)
    }

    @Test func cannotBeStoredForAnyOtherReasonIsNotAskedAgain() async throws {
        let rig = try TransferRig(commitFailures: [.storage("Permission denied")])
        let (end, _, requests, _) = try await run(rig: rig) { serve(Self.body, $0) }
        #expect(end.failure == .storage)
        #expect(requests.count == 1)
        #expect(rig.committer.roomAsked.isEmpty)
    }

    // MARK: - Connections

    @Test func isNotThereIsAskedFiveTimes() async throws {
        let rig = try TransferRig()
        let request = try TransferRequest.get("http://127.0.0.1:\(FaultServer.closedPort())/")
        let (end, _) = await rig.runThroughBackoffs(request)
        #expect(end.failure == .refused)
        #expect(rig.engine.statistics.attempts == 5)
        await rig.engine.shutDown()
    }

    @Test func hasNoNameIsAskedThreeTimes() async throws {
        let rig = try TransferRig()
        // A label longer than 63 bytes is refused by the resolver itself; no question leaves this machine.
        let label = String(repeating: "x", count: 70)
        let (end, _) = await rig.runThroughBackoffs(try .get("http://\(label).invalid/"))
        #expect(end.failure == .hostNotFound)
        #expect(rig.engine.statistics.attempts == 3)
        await rig.engine.shutDown()
    }

    @Test func speaksNoTLSIsInsecure() async throws {
        let server = try RawServer { socket in
            let text = Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8)
            _ = Glibc.send(socket, text, text.count, Int32(MSG_NOSIGNAL))
        }
        defer { server.stop() }
        let rig = try TransferRig()
        let (end, _) = await rig.runThroughBackoffs(try .get("https://127.0.0.1:\(server.port)/"))
        #expect(end.failure == .insecure)
        #expect(server.connections == 1)
        await rig.engine.shutDown()
    }

    @Test(arguments: [true, false]) func breaksOffInTheHandshakeIsInterruptedNotInsecure(_ resets: Bool) async throws {
        let server = try RawServer { socket in
            guard resets else { return }
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
        }
        defer { server.stop() }
        let rig = try TransferRig()
        let (end, _) = await rig.runThroughBackoffs(try .get("https://127.0.0.1:\(server.port)/"))
        #expect(end.failure == .interrupted)
        #expect(server.connections == 5)
        await rig.engine.shutDown()
    }

    @Test func stallsIsLeftAndResumed() async throws {
        let server = try FaultServer { exchange in
            guard exchange.number == 0 else { return serve(Self.body, exchange) }
            exchange.send("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 4096\r\n\r\n")
            exchange.send(Self.body.prefix(1000))
            exchange.hang()
        }
        defer { server.stop() }
        let rig = try TransferRig()
        var hasStalled = false
        var last: TransferState?
        for await state in rig.start(try .get(server.url())).states {
            if case .running(let progress) = state, progress.received == 1000, !hasStalled {
                hasStalled = true
                rig.clock.advance(by: .seconds(30))
            }
            last = state
        }
        #expect(last?.result?.resumed == 1000)
        #expect(server.requests.map(\.rangeStart) == [nil, 1000])
        #expect(rig.committer.bodies == [Self.body])
        await rig.engine.shutDown()
    }

    @Test func neverAcceptsTimesOut() async throws {
        // A full backlog: the kernel drops what comes, as a firewall does.
        let silent = try SilentPort()
        defer { silent.close() }
        let rig = try TransferRig()
        let request = try TransferRequest(
            url: "http://127.0.0.1:\(silent.port)/", kind: .original, timeouts: TransferTimeouts(connect: .seconds(5)))
        var classes: [FailureClass] = []
        for await state in rig.start(request).states {
            if state.isRunning { rig.clock.advance(by: .seconds(5)) }
            if let failure = state.failure { classes.append(failure) }
        }
        #expect(classes == [.timeout])
        #expect(rig.engine.statistics.attempts == 5)
        await rig.engine.shutDown()
    }

    @Test func dripsIsWaitedForUntilTheTransferTakesTooLongInAll() async throws {
        let gate = Gate()
        // Twice the step of progress that is told, so that each drop is told of.
        let drop: Int64 = 2 * 409_600
        let server = try FaultServer { exchange in
            exchange.send("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: 40960000\r\n\r\n")
            while exchange.send([UInt8](repeating: 1, count: Int(drop))) { gate.wait() }
        }
        defer {
            gate.open()
            server.stop()
        }
        let rig = try TransferRig()
        let request = try TransferRequest(
            url: server.url(), kind: .original,
            timeouts: TransferTimeouts(stall: .seconds(30), overall: .seconds(100)))
        var seconds = 0
        var end: TransferState?
        var drops: Int64 = 0
        for await state in rig.start(request).states {
            if case .running(let progress) = state, progress.received > drops * drop {
                drops += 1
                seconds += 29
                rig.clock.advance(by: .seconds(29))
                gate.pass()
            }
            if state.isTerminal { end = state }
        }
        // Three times 29 s without a stall; the fourth is past the 100 s in all, and is not tried again. (libcurl reads on while
        // bytes keep coming, so some more may have come before the engine looked at its clock.)
        #expect(end?.failure == .timeout)
        #expect(seconds >= 116)
        #expect(server.requests.count == 1)
        await rig.engine.shutDown()
    }
}

/// A gate that lets one waiter through for each pass, and all once it is open. Only the server's own threads wait at it.
final class Gate: Sendable {
    private let semaphore = DispatchSemaphore(value: 0)
    private let isOpen = Atomic<Bool>(false)

    func wait() {
        semaphore.wait()
        if isOpen.load(ordering: .acquiring) { semaphore.signal() }
    }

    func pass() { semaphore.signal() }

    func open() {
        isOpen.store(true, ordering: .releasing)
        semaphore.signal()
    }
}

/// Bytes in gzip's frame, stored and not compressed (RFC 1951, 3.2.4; RFC 1952).
func gzip(_ bytes: [UInt8]) -> [UInt8] {
    var crc: UInt32 = 0xffff_ffff
    for byte in bytes {
        crc ^= UInt32(byte)
        for _ in 0..<8 { crc = crc >> 1 ^ (crc & 1 == 1 ? 0xedb8_8320 : 0) }
    }
    func little(_ value: UInt32, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> UInt32($0 * 8)) }
    }
    var coded: [UInt8] = [0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255, 1]
    coded += little(UInt32(bytes.count), 2)
    coded += little(~UInt32(bytes.count), 2)
    coded += bytes
    coded += little(~crc, 4)
    return coded + little(UInt32(bytes.count), 4)
}

/// Accepts connections, reads what comes first, and does one thing with them before it closes them.
final class RawServer: Sendable {
    let port: UInt16
    private let listener: Int32
    private let count = Atomic<Int>(0)

    init(_ answer: @escaping @Sendable (Int32) -> Void) throws {
        let (listener, port) = try SilentPort.listen(backlog: 16)
        self.listener = listener
        self.port = port
        Thread { [self] in
            while true {
                let connection = accept(listener, nil, nil)
                guard connection >= 0 else { break }
                count.add(1, ordering: .relaxed)
                var buffer = [UInt8](repeating: 0, count: 4096)
                _ = recv(connection, &buffer, buffer.count, 0)
                answer(connection)
                close(connection)
            }
            close(listener)
        }.start()
    }

    var connections: Int { count.load(ordering: .relaxed) }

    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }
}

/// A port whose backlog is full, so that a connection is neither made nor refused.
struct SilentPort {
    let port: UInt16
    private let sockets: [Int32]

    init() throws {
        let (listener, port) = try Self.listen(backlog: 0)
        self.port = port
        var sockets = [listener]
        for _ in 0..<4 {
            let client = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            var address = Self.address(port: port)
            withUnsafePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    _ = connect(client, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
                }
            }
            sockets.append(client)
        }
        self.sockets = sockets
    }

    func close() {
        for socket in sockets { Glibc.close(socket) }
    }

    fileprivate static func address(port: UInt16) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        address.sin_port = port.bigEndian
        return address
    }

    fileprivate static func listen(backlog: Int32) throws -> (Int32, UInt16) {
        let made = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = address(port: 0)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isReady = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(made, $0, length) == 0 && Glibc.listen(made, backlog) == 0 && getsockname(made, $0, &length) == 0
            }
        }
        guard made >= 0, isReady else { throw POSIXError(.EIO) }
        return (made, UInt16(bigEndian: address.sin_port))
    }
}
