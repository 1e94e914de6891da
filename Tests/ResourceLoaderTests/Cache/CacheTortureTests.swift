import Foundation
import Testing

@testable import CacheTortureChild
@testable import ResourceLoader

/// What happens to a folder that several processes work on and that are killed. One after the other: they are many
/// processes.
@Suite(.serialized) struct CacheTortureTests {
    static let child = ChildProcess.built("CacheTortureChild")

    /// Opens the folder, as the next process does, and looks at everything in it.
    static func verify(_ folder: TemporaryFolder) throws {
        let cache = try DiskCache(directory: folder.path, configuration: CacheTorture.configuration())
        let entries = try cache.allEntries()
        for entry in entries {
            let body = try #require(try cache.body(of: entry.key, variant: entry.variant))
            try CacheTorture.verify(body)
        }
        #expect(cache.incidents.isEmpty)
        #expect(cache.statistics.bytes == entries.reduce(0) { $0 + DiskStore.charge(size: $1.size, key: $1.key) })
        #expect(cache.statistics.bytes <= CacheTorture.configuration().byteBudget)
        let files = folder.files()
        #expect(files.filter { $0.hasPrefix("bodies/") }.count == entries.count)
        #expect(files.allSatisfy { $0.hasPrefix("bodies/") || $0.hasPrefix("parts/") })
    }

    @Test func leavesEveryEntryWholeWhenKilledAThousandTimes() throws {
        let folder = TemporaryFolder()
        var random = SystemRandomNumberGenerator()
        for _ in 0..<1000 {
            let child = try ChildProcess(Self.child, ["commit", folder.path])
            // So many operations, and then some way into the next. With none, it may still be opening the folder.
            let ticks = Int.random(in: 0..<6, using: &random)
            for _ in 0..<ticks where child.read(atMost: 1).isEmpty { break }
            // The pause is the random point itself; nothing is waited for.
            usleep(.random(in: 0..<(ticks == 0 ? 12_000 : 800), using: &random))
            child.kill()
            let status = child.wait()
            #expect(status == -SIGKILL, "\(child.readAll())")
            try Self.verify(folder)
        }
    }

    @Test func letsEightProcessesShareAFolder() throws {
        let folder = TemporaryFolder()
        let children = try (0..<8).map { _ in try ChildProcess(Self.child, ["work", folder.path, "300"]) }
        for child in children {
            let output = child.readAll()
            #expect(child.wait() == 0, "\(output)")
        }
        try Self.verify(folder)
    }

    @Test func goesOnWhenSomeOfEightProcessesAreKilled() throws {
        let folder = TemporaryFolder()
        let workers = try (0..<4).map { _ in try ChildProcess(Self.child, ["work", folder.path, "200"]) }
        for _ in 0..<40 {
            let victims = try (0..<4).map { _ in try ChildProcess(Self.child, ["commit", folder.path]) }
            for victim in victims { _ = victim.read(atMost: 1) }
            for victim in victims {
                victim.kill()
                #expect(victim.wait() == -SIGKILL, "\(victim.readAll())")
            }
        }
        for worker in workers {
            let output = worker.readAll()
            #expect(worker.wait() == 0, "\(output)")
        }
        try Self.verify(folder)
    }

    /// Whether a mount namespace with a tmpfs can be made here.
    static let canMount: Bool = {
        guard let child = try? ChildProcess("unshare", ["-m", "sh", "-c", "mount -t tmpfs -o size=1m none /mnt"]) else {
            return false
        }
        _ = child.readAll()
        return child.wait() == 0
    }()

    @Test(.enabled(if: canMount, "mounting a tmpfs of 1 MiB needs root"))
    func evictsOnceAndThenReportsAFullDisk() throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        // The mount is seen by the child alone and goes with it.
        let script = "mount -t tmpfs -o size=1m none \"$1\" && exec \"$2\" full \"$1/cache\""
        let child = try ChildProcess("unshare", ["-m", "sh", "-c", script, "sh", folder.path, Self.child])
        let output = child.readAll()
        #expect(child.wait() == 0, "\(output)")
    }
}
