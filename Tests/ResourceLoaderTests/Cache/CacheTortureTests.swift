import Foundation
import TestSupport
import Testing

@testable import CacheTortureChild
@testable import ResourceLoader

/// What happens to a folder that several processes work on and that are killed. One after the other: they are many
/// processes.
@Suite(.takingTurns, .serialized, .timeLimit(.minutes(10))) struct CacheTortureTests {
    static let child = ChildProcess.built("CacheTortureChild")

    /// Opens the folder, as the next process does, and looks at everything in it.
    static func verify(_ folder: TemporaryFolder) throws {
        let cache = try DiskCache(directory: folder.path, configuration: CacheTorture.configuration())
        // Nobody deletes the file of an entry before the entry, and no sweep takes a body on its way for an orphan.
        try expect(cache.statistics.lostBodies == 0, "\(cache.statistics.lostBodies) entries without their files")
        let entries = try cache.allEntries()
        for entry in entries {
            guard let body = try cache.body(of: entry.key, variant: entry.variant) else {
                throw CacheTorture.Wrong(what: "an entry without a body")
            }
            try CacheTorture.verify(body)
        }
        let charged = entries.reduce(0) { $0 + DiskStore.charge(size: $1.size, key: $1.key) }
        try expect(cache.incidents.isEmpty, "\(cache.incidents)")
        try expect(cache.statistics.bytes == charged, "charged \(cache.statistics.bytes) instead of \(charged)")
        try expect(charged <= CacheTorture.configuration().byteBudget, "\(charged) bytes exceed the budget")
        let files = folder.files()
        let bodies = files.filter { $0.hasPrefix("bodies/") }
        try expect(bodies.count == entries.count, "\(bodies.count) files for \(entries.count) entries")
        try expect(files.allSatisfy { $0.hasPrefix("bodies/") || $0.hasPrefix("parts/") }, "\(files)")
    }

    static func expect(_ holds: Bool, _ otherwise: @autoclosure () -> String) throws {
        if !holds { throw CacheTorture.Wrong(what: otherwise()) }
    }

    static func finish(_ child: ChildProcess, with expected: Int32) throws {
        if expected < 0 { child.kill() }
        let output = expected < 0 ? "" : child.readAll()
        let status = child.wait()
        try expect(status == expected, "exit status \(status) instead of \(expected): \(output)\(child.readAll())")
    }

    @Test func leavesEveryEntryWholeWhenKilledAThousandTimes() async throws {
        try await onAThreadOfItsOwn {
            let folder = TemporaryFolder()
            for _ in 0..<1000 {
                let child = try ChildProcess(Self.child, ["commit", folder.path])
                // So many operations, and then some way into the next. With none, it may still be opening the folder.
                let ticks = Int.random(in: 0..<6)
                for _ in 0..<ticks where child.read(atMost: 1).isEmpty { break }
                // The pause is the random point itself; nothing is waited for.
                usleep(.random(in: 0..<(ticks == 0 ? 12_000 : 800)))
                try Self.finish(child, with: -SIGKILL)
                try Self.verify(folder)
            }
        }
    }

    @Test func letsEightProcessesShareAFolder() async throws {
        try await onAThreadOfItsOwn {
            let folder = TemporaryFolder()
            let children = try (0..<8).map { _ in try ChildProcess(Self.child, ["work", folder.path, "300"]) }
            for child in children { try Self.finish(child, with: 0) }
            try Self.verify(folder)
        }
    }

    @Test func goesOnWhenSomeOfEightProcessesAreKilled() async throws {
        try await onAThreadOfItsOwn {
            let folder = TemporaryFolder()
            let workers = try (0..<4).map { _ in try ChildProcess(Self.child, ["work", folder.path, "200"]) }
            for _ in 0..<20 {
                let victims = try (0..<4).map { _ in try ChildProcess(Self.child, ["commit", folder.path]) }
                for victim in victims { _ = victim.read(atMost: 1) }
                for victim in victims { try Self.finish(victim, with: -SIGKILL) }
            }
            for worker in workers { try Self.finish(worker, with: 0) }
            try Self.verify(folder)
        }
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
    func evictsOnceAndThenReportsAFullDisk() async throws {
        try await onAThreadOfItsOwn {
            let folder = TemporaryFolder()
            try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
            // The mount is seen by the child alone and goes with it.
            let script = "mount -t tmpfs -o size=1m none \"$1\" && exec \"$2\" full \"$1/cache\""
            let child = try ChildProcess("unshare", ["-m", "sh", "-c", script, "sh", folder.path, Self.child])
            try Self.finish(child, with: 0)
        }
    }
}
