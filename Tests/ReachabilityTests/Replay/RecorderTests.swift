import Foundation
import NamespaceTools
import Netlink
import ReachabilityTestKit
import TestSupport
import Testing

@testable import Reachability

/// What is recorded of the real kernel, played back, comes to the same paths.
@Suite(
    "Recording the real kernel", .takingTurns, .timeLimit(.minutes(10)),
    .enabled(if: LiveBench.isPossible || isEverythingRequired, "needs root and iproute2"))
struct RecorderTests {
    private struct NothingCame: Error {
        let last: NetworkPath
    }

    /// A kernel in a namespace of its own, being recorded, and the same kernel as the recording has it.
    private final class Studio {
        let machine: Namespace
        let farSide: Namespace
        private var recorder: Recorder
        private var poller = try? Poller()
        private(set) var recording: [RecordedDatagram] = []
        private var player = RecordingPlayer()
        private var replayed: SteppedMonitor
        let resolver: URL

        init() throws {
            machine = try Namespace()
            farSide = try Namespace()
            resolver = FileManager.default.temporaryDirectory.appending(path: "resolv-\(UUID().uuidString).conf")
            try Data("nameserver 10.1.0.1\n".utf8).write(to: resolver)
            var recorder = try Self.recorder(in: machine, resolver)
            recording = try recorder.snapshot()
            self.recorder = recorder
            for datagram in recording { player.play(datagram) }
            replayed = try SteppedMonitor(feed: player.kernel)
        }

        static func recorder(in namespace: Namespace, _ resolver: URL) throws -> Recorder {
            let path = resolver.path
            return try namespace.inside { () throws(NetlinkError) in
                try Recorder(devices: noDevices, resolverPath: path)
            }
        }

        deinit { try? FileManager.default.removeItem(at: resolver) }

        /// The device files of this machine are about other links than those in the namespace.
        static let noDevices = DeviceTree(sysfs: "/nonexistent", procfs: "/nonexistent")

        func nic(_ name: String) throws {
            try machine.ip("link add \(name) type veth peer name \(name) netns \(farSide.path)")
            try machine.ip("link set \(name) up")
            try farSide.ip("link set \(name) up")
        }

        /// Plays what comes until the replayed kernel leads to such a path.
        func expect(_ isExpected: (NetworkPath) -> Bool) throws {
            while !isExpected(replayed.path) {
                try poller?.watch(recorder.descriptors)
                if poller?.wait(for: .seconds(10)) != false { throw NothingCame(last: replayed.path) }
                for descriptor in poller?.ringing ?? [] {
                    for datagram in try recorder.drain(descriptor) {
                        recording.append(datagram)
                        player.play(datagram)
                        _ = replayed.step()
                    }
                }
            }
        }

        /// The path of the real kernel, asked now.
        func livePath() throws -> NetworkPath {
            let feed = NamespaceFeed(
                namespace: machine, feed: LiveFeed(devices: Self.noDevices, resolverPath: resolver.path))
            return try SteppedMonitor(feed: feed).path
        }

        var replayedPath: NetworkPath { replayed.path }
    }

    @Test func whatHappensWhileRecordingIsThere() throws {
        let studio = try Studio()
        try studio.expect { $0.reason == .noInterface || $0.reason == .linkDown }
        try studio.nic("eth0")
        try studio.nic("wlan0")
        try studio.machine.ip("addr add 10.1.0.2/24 dev eth0")
        try studio.machine.ip("addr add 10.2.0.2/24 dev wlan0")
        try studio.machine.ip("route add default via 10.1.0.1 metric 10")
        try studio.machine.ip("route add default via 10.2.0.1 metric 20")
        try studio.expect { $0.status == .wired && $0.interfaces.count == 2 }
        #expect(studio.replayedPath == (try studio.livePath()))

        // Every sort of silence: the default of a link that is switched off goes without a word.
        try studio.machine.ip("link set eth0 down")
        try studio.expect { $0.status == .wifi }
        #expect(studio.replayedPath == (try studio.livePath()))

        // By nexthop object, in another table, found by a rule.
        try studio.machine.ip("nexthop add id 7 via 10.2.0.9 dev wlan0")
        try studio.machine.ip("route add default nhid 7 table 100")
        try studio.machine.ip("rule add priority 100 lookup 100")
        try studio.expect { $0.gateways == [IPAddress(10, 2, 0, 9)] }
        #expect(studio.replayedPath == (try studio.livePath()))
        try studio.machine.ip("nexthop del id 7")
        try studio.expect { $0.gateways == [IPAddress(10, 2, 0, 1)] }
        try studio.machine.ip("addr del 10.2.0.2/24 dev wlan0")
        try studio.expect { $0.status == .offline }
        #expect(studio.replayedPath == (try studio.livePath()))
    }

    @Test func whatWasThereBeforeIsThere() throws {
        let studio = try Studio()
        try studio.nic("wlan0")
        try studio.machine.ip("addr add 10.2.0.2/24 dev wlan0")
        try studio.machine.ip("-6 addr add 2001:db8:2::2/64 dev wlan0 nodad")
        try studio.machine.ip("route add default via 10.2.0.1")
        try studio.machine.ip("-6 route add default via 2001:db8:2::1")
        try studio.machine.ip("nexthop add id 7 via 10.2.0.9 dev wlan0")
        try studio.machine.ip("rule add priority 100 from 10.99.0.0/16 prohibit")
        try studio.expect { $0.supportsIPv4 && $0.supportsIPv6 }

        var recorder = try Studio.recorder(in: studio.machine, studio.resolver)
        var player = RecordingPlayer()
        for datagram in try recorder.snapshot() { player.play(datagram) }
        let path = try SteppedMonitor(feed: player.kernel).path
        #expect(path == (try studio.livePath()))
        #expect(path.status == .wifi)
        #expect(path.supportsDNS)
    }

    @Test func aRecordingSurvivesTheFile() throws {
        let studio = try Studio()
        try studio.nic("eth0")
        try studio.machine.ip("addr add 10.1.0.2/24 dev eth0")
        try studio.machine.ip("route add default via 10.1.0.1")
        try studio.expect { $0.status == .wired }
        let file = PcapFile.header + studio.recording.flatMap(PcapFile.packet)
        #expect(try PcapFile.content(of: file).datagrams == studio.recording)
    }
}
