import Foundation
import TestSupport
import Testing

@testable import ResourceLoader

/// HTTPS goes through a proxy in a tunnel that the proxy is asked for. What the proxy says about the tunnel is not the host's answer.
@Suite("A proxy that is asked for a tunnel and", .takingTurns, .timeLimit(.minutes(10)))
struct TransfersProxyTests {
    /// Asks for a host behind a proxy, and gives the end and what was told of the network.
    private func ask(
        _ script: @escaping FaultServer.Script
    ) async throws -> (end: TransferState, outcomes: [TransferOutcome], requests: [FaultServer.Request]) {
        let proxy = try FaultServer(script)
        defer { proxy.stop() }
        // libcurl reads it when an attempt begins.
        let before = ProcessInfo.processInfo.environment["https_proxy"]
        setenv("https_proxy", proxy.url(""), 1)
        defer {
            if let before { setenv("https_proxy", before, 1) } else { unsetenv("https_proxy") }
        }
        let rig = try TransferRig()
        let outcomes = rig.engine.outcomes()
        let (end, _) = await rig.runThroughBackoffs(try .get("https://host.invalid/picture"))
        await rig.engine.shutDown()
        #expect(rig.files.isEmpty)
        var told: [TransferOutcome] = []
        for await outcome in outcomes { told.append(outcome) }
        return (end, told, proxy.requests)
    }

    private func expectFailure(
        _ failure: FailureClass, afterTunnels count: Int, _ script: @escaping FaultServer.Script
    ) async throws {
        let (end, outcomes, requests) = try await ask(script)
        #expect(requests.map(\.line) == [String](repeating: "CONNECT host.invalid:443 HTTP/1.1", count: count))
        #expect(end.failure == failure)
        guard case .failed(let failed) = end else { return }
        #expect(failed.status == nil)
        #expect(outcomes.map(\.failure) == [FailureClass?](repeating: failure, count: count))
        #expect(!outcomes.contains { $0.reached })
    }

    @Test func opensItToAHostWithoutTLSGivesNoBody() async throws {
        try await expectFailure(.insecure, afterTunnels: 1) { exchange in
            exchange.send("HTTP/1.1 200 Connection established\r\nContent-Type: image/png\r\n\r\n")
            exchange.send("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong")
        }
    }

    @Test func opensItToAHostThatHangsUpIsAnInterruption() async throws {
        try await expectFailure(.interrupted, afterTunnels: 5) { exchange in
            exchange.send("HTTP/1.1 200 Connection established\r\nETag: \"proxy\"\r\n\r\n")
            exchange.close()
        }
    }

    @Test(arguments: ["502 Bad Gateway", "503 Service Unavailable", "504 Gateway Timeout"])
    func cannotReachTheHostIsLikeAHostThatCannotBeConnectedTo(_ status: String) async throws {
        try await expectFailure(.refused, afterTunnels: 5) { $0.answer(status, body: Array("proxy".utf8)) }
    }

    @Test(arguments: ["407 Proxy Authentication Required", "403 Forbidden", "404 Not Found"])
    func willNotOpenItIsNotAskedAgain(_ status: String) async throws {
        try await expectFailure(.rejected, afterTunnels: 1) { $0.answer(status, ["Proxy-Authenticate: Basic"]) }
    }

    @Test func redirectsInsteadIsNotFollowed() async throws {
        let elsewhere = try FaultServer { $0.answer("200 OK", body: [1, 2, 3]) }
        defer { elsewhere.stop() }
        try await expectFailure(.rejected, afterTunnels: 1) {
            $0.answer("302 Found", ["Location: https://127.0.0.1:\(elsewhere.port)/"])
        }
        #expect(elsewhere.connectionsAccepted == 0)
    }
}
