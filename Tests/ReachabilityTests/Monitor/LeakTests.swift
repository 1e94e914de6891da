import Foundation
import Glibc
import Netlink
import Reachability
import ReachabilityTestKit
import TestSupport
import Testing

/// In a process of its own, so that nobody else opens and closes anything.
@Suite("What a thousand starts leave behind", .takingTurns, .serialized, .timeLimit(.minutes(10)))
struct LeakTests {
    @Test func descriptorsThreadsAndMemoryAreFlatOnTheSimulatedKernel() async {
        await #expect(processExitsWith: .success) {
            let kernel = SimulatedKernel()
            try kernel.connect("eth0", address: "10.1.0.2/24", gateway: "10.1.0.1")
            try await startAThousandTimes(kernel)
            #expect(kernel.openConversations == 0)
        }
    }

    @Test(.enabled(if: LiveBench.isPossible || isEverythingRequired, "needs root and iproute2"))
    func descriptorsThreadsAndMemoryAreFlatOnTheRealKernel() async {
        await #expect(processExitsWith: .success) {
            let bench = try LiveBench()
            try bench.uplink("eth0", 1)
            try await startAThousandTimes(bench.feed)
        }
    }

    @Test func aFullDescriptorTableIsAClearError() async {
        await #expect(processExitsWith: .success) {
            let monitor = ReachabilityMonitor()
            var limit = rlimit(rlim_cur: 64, rlim_max: 64)
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            var taken: [CInt] = []
            while case let descriptor = dup(0), descriptor >= 0 { taken.append(descriptor) }
            // However far it gets, each attempt fails cleanly, until there is room for all that it needs.
            var attempts = 0
            while true {
                attempts += 1
                do throws(NetlinkError) {
                    try monitor.start()
                    break
                } catch {
                    #expect(error.errno == EMFILE)
                    #expect(monitor.currentPath.status == .unknown)
                    close(taken.removeLast())
                }
            }
            #expect(attempts > 3)
            monitor.stop()
        }
    }
}

private func startAThousandTimes(_ feed: any NetlinkFeed) async throws {
    let monitor = ReachabilityMonitor(configuration: ReachabilityMonitor.Configuration(), feed: AnyFeed(feed: feed))
    func round() async throws {
        try monitor.start()
        for await path in monitor {
            #expect(path.status == .wired)
            break
        }
        monitor.stop()
    }
    // What the process makes once, such as the threads that run tasks and their timer, is there after that.
    for _ in 0..<200 { try await round() }
    let before = Resources()
    for _ in 0..<1000 { try await round() }
    let after = Resources.settled(to: before)
    #expect(after.descriptors <= before.descriptors + Resources.slack)
    #expect(after.threads <= before.threads + Resources.slack)
    #expect(after.kilobytes <= before.kilobytes + 4096)
}

/// What this process holds.
private struct Resources {
    let descriptors: Int
    let threads: Int
    let kilobytes: Int

    init() {
        func count(_ folder: String) -> Int {
            (try? FileManager.default.contentsOfDirectory(atPath: folder).count) ?? 0
        }
        descriptors = count("/proc/self/fd")
        threads = count("/proc/self/task")
        let statm = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let pages = statm.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        kilobytes = pages * Int(getpagesize()) / 1024
    }

    /// The runtime opens a timer and starts a thread when it pleases. What a thousand starts leave would be a thousand times more.
    static let slack = 8

    /// The last reader threads are on their way out, each with a descriptor in its hand: waits for them.
    static func settled(to before: Resources) -> Resources {
        let deadline = ContinuousClock.now + .seconds(10)
        var now = Resources()
        while now.descriptors > before.descriptors + slack || now.threads > before.threads + slack,
            ContinuousClock.now < deadline
        {
            sched_yield()
            now = Resources()
        }
        return now
    }
}
