import Foundation
import Synchronization
import TestSupport
import Testing

@testable import ResourceLoader

extension TemporaryFolder {
    /// All plain files below, relative, without the index and its companions.
    func files() -> [String] {
        let all = FileManager.default.enumerator(atPath: path)?.compactMap { $0 as? String } ?? []
        return all.filter { name in
            var isFolder: ObjCBool = false
            _ = FileManager.default.fileExists(atPath: "\(path)/\(name)", isDirectory: &isFolder)
            return !isFolder.boolValue && name != "lock" && !name.hasPrefix("generation") && !name.hasPrefix("index-")
        }.sorted()
    }

    var index: String? {
        (try? FileManager.default.contentsOfDirectory(atPath: path))?.first { $0.hasSuffix(".sqlite") }
    }
}

/// A wall clock that stands until it is moved.
final class StandingClock: Sendable {
    private let time = Mutex(WallTime(milliseconds: 1_700_000_000_000))

    func move(by duration: Duration) {
        time.withLock { $0 = $0.advanced(by: duration) }
    }

    var now: @Sendable () -> WallTime {
        { self.time.withLock { $0 } }
    }
}

/// A cache in a folder of its own, on a standing clock.
struct CacheFixture {
    let folder = TemporaryFolder()
    let clock = StandingClock()
    let configuration: CacheConfiguration
    let cache: DiskCache

    init(_ configure: (inout CacheConfiguration) -> Void = { _ in }) throws {
        var configuration = CacheConfiguration()
        configuration.durability = .process
        configure(&configuration)
        self.configuration = configuration
        cache = try DiskCache(directory: folder.path, configuration: configuration, now: clock.now)
    }

    /// Changes the index behind the cache's back.
    func execute(_ sql: String) throws {
        let index = try #require(folder.index)
        try Database(path: "\(folder.path)/\(index)", patience: .seconds(5)).script(sql)
    }

    /// What the index says to a question for a number.
    func number(_ sql: String) throws -> Int64 {
        let index = try #require(folder.index)
        return try Database(path: "\(folder.path)/\(index)", patience: .seconds(5)).number(sql)
    }

    /// A second object on the same folder, as another process has it.
    func reopened() throws -> DiskCache {
        try DiskCache(directory: folder.path, configuration: configuration, now: clock.now)
    }
}

func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

func block(_ byte: UInt8, count: Int = 4000) -> [UInt8] { Array(repeating: byte, count: count) }
