import Reachability
import ReachabilityTestKit
import TestSupport
import Testing

@Suite("An app's own test", .takingTurns, .timeLimit(.minutes(10)))
struct AppTests {
    @Test func drivesTheKernelInFiveLines() async throws {
        let kernel = SimulatedKernel()
        let monitor = kernel.makeMonitor()
        var watcher = try Watcher(monitor)
        try await watcher.expect(.offline, .noInterface)
        try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1", metric: 600)
        let path = try await watcher.expect(.wifi, over: "wlan0")
        #expect(path.gateways == [IPAddress(10, 1, 0, 1)])
        try kernel.disconnect("wlan0")
        try await watcher.expect(.offline, .noCarrier)
        #expect(watcher.statuses == [.offline, .wifi, .offline])
    }
}
