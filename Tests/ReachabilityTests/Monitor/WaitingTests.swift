import Glibc
import Reachability
import ReachabilityTestKit
import TestSupport
import Testing

@Suite("Waiting for a path", .takingTurns, .timeLimit(.minutes(10)))
struct WaitingTests {
    private let kernel = SimulatedKernel()
    private let clock = ManualClock()

    private func error(of wait: Task<NetworkPath, any Error>) async -> WaitError? {
        do {
            let path = try await wait.value
            Issue.record("\(path)")
            return nil
        } catch {
            return error as? WaitError
        }
    }

    /// The snippet of the README.
    @Test func aTestWaitsForWhatItDoesToTheKernel() async throws {
        let kernel = SimulatedKernel()
        let monitor = kernel.makeMonitor()
        try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1")
        #expect(try await monitor.wait(for: [.wifi]).via?.name == "wlan0")
        try kernel.disconnect("wlan0")
        #expect(try await monitor.wait(for: [.offline]).reason == .noCarrier)
    }

    @Test func itReturnsAtOnceWhereItHoldsAndLeavesNothingOpen() async throws {
        try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1")
        let monitor = kernel.makeMonitor()
        #expect(try await monitor.wait().status == .wifi)
        #expect(try await monitor.wait(for: [.wired, .wifi], timeout: .zero, clock: clock).status == .wifi)
        #expect(kernel.openConversations == 0)
    }

    @Test func itReturnsWhenItComesToHold() async throws {
        let monitor = kernel.makeMonitor()
        let wait = Task { try await monitor.wait(for: [.wifi], timeout: .seconds(5), clock: clock) }
        await clock.waitForSleepers(1)
        try kernel.connect("eth0", address: "10.2.0.2/24", gateway: "10.2.0.1", metric: 100)
        try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1", metric: 50)
        #expect(try await wait.value.via?.name == "wlan0")
        #expect(clock.sleepers == 0)
        #expect(kernel.openConversations == 0)
    }

    @Test func aTimeoutTellsThePathAtThatMoment() async throws {
        try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1")
        let monitor = kernel.makeMonitor()
        let wait = Task { try await monitor.wait(for: [.wired], timeout: .seconds(5), clock: clock) }
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        guard case .timedOut(let path) = await error(of: wait) else {
            Issue.record("no time-out")
            return
        }
        #expect(path.status == .wifi)
        #expect(WaitError.timedOut(path).description == "timed out; the path is \(path)")
        #expect(kernel.openConversations == 0)
    }

    @Test func aStopEndsIt() async throws {
        let monitor = kernel.makeMonitor()
        let wait = Task { try await monitor.wait(for: [.wifi]) }
        while kernel.openConversations == 0 { await Task.yield() }
        monitor.stop()
        // Had it not begun to listen when the monitor was stopped, it listens now, until the next stop.
        let stopping = Task {
            while !Task.isCancelled {
                await Task.yield()
                monitor.stop()
            }
        }
        #expect(await error(of: wait) == .stopped)
        stopping.cancel()
        await stopping.value
    }

    @Test func aCancellationEndsIt() async throws {
        let monitor = kernel.makeMonitor()
        let wait = Task { try await monitor.wait(for: [.wifi]) }
        while kernel.openConversations == 0 { await Task.yield() }
        wait.cancel()
        #expect(await error(of: wait) == .cancelled)
        #expect(kernel.openConversations == 0)
    }

    @Test func whereTheKernelCannotBeAskedItSaysSo() async throws {
        kernel.fail(.openSocket, with: EPERM)
        let monitor = kernel.makeMonitor()
        let error = await #expect(throws: WaitError.self) { try await monitor.wait() }
        guard case .unavailable(let cause) = error else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(cause.operation == .openSocket)
    }
}
