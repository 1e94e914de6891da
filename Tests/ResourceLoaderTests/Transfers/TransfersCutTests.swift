import Synchronization
import TestSupport
import Testing

@testable import ResourceLoader

@Suite("A body that is cut", .takingTurns, .timeLimit(.minutes(10)))
struct TransfersCutTests {
    @Test func arrivesWholeInOnePiece() async throws {
        let body = pattern(4096)
        let server = try FaultServer { serve(body, $0) }
        defer { server.stop() }
        let rig = try TransferRig()
        let request = try TransferRequest.get(server.url())
        let result = try #require(await rig.run(request).result)
        #expect(result.body == .committed(length: 4096))
        #expect(rig.committer.bodies == [body])
        #expect(rig.files == ["committed-1"])
        #expect(server.requests[0]["Accept-Encoding"] == "identity")
        await rig.engine.shutDown()
    }

    @Test func isRightAtEveryCutPoint() async throws {
        let body = pattern(4096)
        let seen = Mutex<Set<String>>([])
        let server = try FaultServer { exchange in
            let isFirst = seen.withLock { $0.insert(exchange.request.target).inserted }
            serve(body, exchange, cutAfter: isFirst ? Int(exchange.request.target.dropFirst(1)) : nil)
        }
        defer { server.stop() }
        let rig = try TransferRig(keepsFiles: false)
        try await withThrowingTaskGroup(of: Void.self) { group in
            for lane in 0..<6 {
                group.addTask {
                    for cut in stride(from: lane, to: body.count, by: 6) {
                        let sink = MemoryBody()
                        let request = try TransferRequest.get(server.url("/\(cut)"))
                        let state = await rig.engine.start(request, into: cut % 2 == 0 ? sink : rig.part(request))
                            .outcome()
                        let result = try #require(state.result, "cut at \(cut)")
                        if case .bytes(let bytes) = result.body { #expect(bytes == body, "cut at \(cut)") }
                        #expect(result.resumed == Int64(cut))
                        #expect(result.attempts == 2)
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(rig.committer.bodies.count == 2048)
        #expect(rig.committer.bodies.allSatisfy { $0 == body })
        #expect(rig.files.isEmpty)
        await rig.engine.shutDown()
    }
}
