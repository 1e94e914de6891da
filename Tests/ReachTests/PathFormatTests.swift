import Foundation
import Glibc
import Reachability
import ReachabilityTestKit
import TestSupport
import Testing

@testable import reach

@Suite("What reach prints of a path", .takingTurns, .timeLimit(.minutes(10)))
struct PathFormatTests {
    private let kernel = SimulatedKernel()
    private let moment = Timestamp.now

    init() throws {
        try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1")
    }

    private func members(of path: NetworkPath) throws -> [String: Any] {
        let line = PathFormat.json.line(for: path, at: moment)
        #expect(line.hasSuffix("}\n"))
        return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
    }

    @Test func anObjectALineWithEveryMember() async throws {
        let monitor = kernel.makeMonitor()
        let members = try members(of: try await monitor.refresh())
        #expect(members["status"] as? String == "wifi")
        #expect(members["reason"] is NSNull)
        #expect((members["interface"] as? [String: Any])?["name"] as? String == "wlan0")
        #expect(members["gateways"] as? [String] == ["10.1.0.1"])
        #expect(members["monotonic_ns"] as? Int64 == moment.monotonicNanoseconds)
        #expect(members["updates"] as? String == "events")
        #expect(members["error"] is NSNull)
        for member in members.keys { #expect(Invocation.help.contains(member)) }
    }

    @Test func whereTheKernelSendsNoNotificationsItSaysPollingAndWhy() async throws {
        kernel.fail(.joinGroup, with: EPERM)
        let members = try members(of: try await kernel.makeMonitor().refresh())
        #expect(members["updates"] as? String == "polling")
        #expect((members["error"] as? String)?.contains("Operation not permitted") == true)
    }

    @Test func aPathThatGoesStaleIsAnotherLine() async throws {
        let monitor = kernel.makeMonitor()
        try monitor.start()
        let before = monitor.currentPath
        kernel.fail(.lookUpRoute, with: ENOBUFS)
        let stale = try await monitor.refresh()
        monitor.stop()
        let members = try members(of: stale)
        #expect(members["updates"] as? String == "stale")
        #expect((members["error"] as? String)?.isEmpty == false)
        #expect(PathFormat.json.line(for: stale, at: moment) != PathFormat.json.line(for: before, at: moment))
    }
}
