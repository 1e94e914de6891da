import Foundation
import Netlink
import ReachabilityTestKit

@testable import Reachability

/// A recorded scenario, played back: what the monitor reported in each of its steps.
struct Replay {
    struct Step: Equatable {
        /// What happened, in the words of whoever recorded it.
        var remark: String
        /// The paths reported since.
        var paths: [NetworkPath] = []
    }

    private(set) var steps: [Step] = []
    private(set) var statistics = ReachabilityMonitor.Statistics()
    /// The last path.
    private(set) var path: NetworkPath

    init(_ scenario: String, kernel: String) throws {
        var player = RecordingPlayer()
        var monitor = try SteppedMonitor(feed: player.kernel)
        path = monitor.path
        for datagram in try Self.datagrams(scenario, kernel: kernel) {
            datagram.forEachMessage { message in
                guard datagram.family == .program, case .remark(let remark) = RecordingNote(message: message) else {
                    return
                }
                steps.append(Step(remark: remark))
            }
            player.play(datagram)
            guard let path = monitor.step() else { continue }
            self.path = path
            if !steps.isEmpty { steps[steps.count - 1].paths.append(path) }
        }
        statistics = monitor.statistics
    }

    /// The recording. It is read where it lies, beside this file.
    static func datagrams(_ scenario: String, kernel: String) throws -> [RecordedDatagram] {
        let fixtures = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures/\(kernel)")
        let file = try Data(contentsOf: fixtures.appending(path: "\(scenario).pcap"))
        return try PcapFile.content(of: Array(file)).datagrams
    }

    /// What is reported in the steps that report something, a line each.
    var summary: [String] {
        steps.filter { !$0.paths.isEmpty }.map { step in
            "\(step.remark): " + step.paths.map(Self.words).joined(separator: ", ")
        }
    }

    private static func words(_ path: NetworkPath) -> String {
        if let reason = path.reason { return reason.rawValue }
        let families = (path.supportsIPv4 ? "4" : "") + (path.supportsIPv6 ? "6" : "")
        let names = [path.interface, path.via].compactMap { $0?.name }
        let route = Set(names).count == 1 ? names[0] : names.joined(separator: " on ")
        return "\(path.status.rawValue) \(route) \(families)" + (path.isExpensive ? " expensive" : "")
    }
}
