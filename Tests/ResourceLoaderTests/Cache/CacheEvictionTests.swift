import TestSupport
import Testing

@testable import ResourceLoader

@Suite(.takingTurns) struct CacheEvictionTests {
    /// Room for three bodies of one block each.
    static func threeBlocks() throws -> CacheFixture {
        try CacheFixture { $0.byteBudget = 3 * 4096 }
    }

    static func present(_ cache: DiskCache, _ names: [String]) throws -> [String] {
        try names.filter { name in
            try cache.holdings(of: CacheKey(name), variants: [.original])[.original] != .absent
        }
    }

    @Test func throwsOutTheLeastRecentlyUsed() throws {
        let fixture = try Self.threeBlocks()
        for name in ["a", "b", "c"] { try fixture.cache.store(block(1), as: CacheKey(name)) }
        _ = try fixture.cache.body(of: CacheKey("a"), variant: .original)
        try fixture.cache.store(block(1), as: CacheKey("d"))
        #expect(try Self.present(fixture.cache, ["a", "b", "c", "d"]) == ["a", "c", "d"])
        #expect(fixture.cache.statistics.evictions == 1)
        #expect(fixture.folder.files().count == 3)
    }

    @Test func remembersUseAcrossObjects() throws {
        let fixture = try Self.threeBlocks()
        for name in ["a", "b", "c"] { try fixture.cache.store(block(1), as: CacheKey(name)) }
        _ = try fixture.reopened().body(of: CacheKey("a"), variant: .original)
        try fixture.reopened().store(block(1), as: CacheKey("d"))
        #expect(try Self.present(fixture.cache, ["a", "b", "c", "d"]) == ["a", "c", "d"])
    }

    @Test func doesNotCountHoldingsAsUse() throws {
        let fixture = try Self.threeBlocks()
        for name in ["a", "b", "c"] { try fixture.cache.store(block(1), as: CacheKey(name)) }
        _ = try fixture.cache.holdings(of: CacheKey("a"), variants: [.original])
        try fixture.cache.store(block(1), as: CacheKey("d"))
        #expect(try Self.present(fixture.cache, ["a", "b", "c", "d"]) == ["b", "c", "d"])
    }

    @Test func doesNotOrderByTheWallClock() throws {
        let fixture = try Self.threeBlocks()
        for name in ["a", "b", "c", "d"] {
            try fixture.cache.store(block(1), as: CacheKey(name))
            fixture.clock.move(by: .seconds(-3600))
        }
        #expect(try Self.present(fixture.cache, ["a", "b", "c", "d"]) == ["b", "c", "d"])
    }

    @Test func passesOverWhatSomebodyReads() throws {
        let fixture = try Self.threeBlocks()
        for name in ["a", "b", "c"] { try fixture.cache.store(block(1), as: CacheKey(name)) }
        let other = try fixture.reopened()
        let reading = try #require(try other.body(of: CacheKey("a"), variant: .original))
        // Used since, so that "a" is the first in line.
        for name in ["b", "c"] { _ = try fixture.cache.body(of: CacheKey(name), variant: .original) }
        try fixture.cache.store(block(1), as: CacheKey("d"))
        #expect(try Self.present(fixture.cache, ["a", "b", "c", "d"]) == ["a", "c", "d"])
        #expect(try reading.bytes() == block(1))
    }

    @Test func meetsTheBudgetOnceTheReaderIsGone() throws {
        let fixture = try CacheFixture { $0.byteBudget = 4096 }
        try fixture.cache.store(block(1), as: CacheKey("a"))
        var reading = try fixture.cache.body(of: CacheKey("a"), variant: .original)
        try fixture.cache.store(block(2), as: CacheKey("b"))
        #expect(fixture.cache.statistics.bytes == 8192)
        #expect(try reading?.bytes() == block(1))
        reading = nil
        try fixture.cache.store(block(3), as: CacheKey("c"))
        #expect(fixture.cache.statistics.bytes == 4096)
        #expect(try Self.present(fixture.cache, ["a", "b", "c"]) == ["c"])
    }

    enum End: CaseIterable {
        case replaced
        case removed
        case cleared
        case evicted
        case folderDeleted
    }

    @Test(arguments: End.allCases) func neverBreaksAReader(_ end: End) throws {
        let fixture = try CacheFixture { $0.byteBudget = 8192 }
        try fixture.cache.store(block(1, count: 8000), as: CacheKey("a"))
        let reading = try #require(try fixture.cache.body(of: CacheKey("a"), variant: .original))
        let other = try fixture.reopened()
        switch end {
        case .replaced: try other.store(block(2), as: CacheKey("a"))
        case .removed: try other.remove(CacheKey("a"))
        case .cleared: try other.removeAll()
        case .evicted: for name in ["b", "c", "d"] { try other.store(block(2), as: CacheKey(name)) }
        case .folderDeleted: fixture.folder.delete()
        }
        #expect(try reading.bytes() == block(1, count: 8000))
    }

    @Test func chargesWholeBlocksForBodyAndKey() throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(bytes("x"), as: CacheKey("a"))
        #expect(fixture.cache.statistics.bytes == 4096)
        try fixture.cache.store(block(1, count: 4096), as: CacheKey("b"))
        #expect(fixture.cache.statistics.bytes == 4096 + 8192)
        try fixture.cache.store(bytes("x"), as: CacheKey(repeatElement(0, count: 10_240)))
        #expect(fixture.cache.statistics.bytes == 4096 + 8192 + 12288)
        try fixture.cache.remove(CacheKey("b"))
        #expect(fixture.cache.statistics.bytes == 4096 + 12288)
    }

    @Test func refusesWhatExceedsTheWholeBudget() throws {
        let fixture = try Self.threeBlocks()
        try fixture.cache.store(block(1), as: CacheKey("a"))
        #expect(throws: CacheError.tooLarge(size: 12_289, budget: 12_288)) {
            try fixture.cache.store(block(1, count: 12_289), as: CacheKey("b"))
        }
        #expect(try Self.present(fixture.cache, ["a", "b"]) == ["a"])
        #expect(fixture.folder.files().count == 1)
    }

    @Test func throwsOutWhatIsTooOld() throws {
        let fixture = try CacheFixture { $0.ageLimit = .seconds(100) }
        let kept = try fixture.cache.store(bytes("kept"), as: CacheKey("kept"))
        try fixture.cache.store(bytes("old"), as: CacheKey("old"))
        fixture.clock.move(by: .seconds(60))
        try fixture.cache.revalidate(kept)
        fixture.clock.move(by: .seconds(60))
        #expect(try Self.present(fixture.cache, ["kept", "old"]) == ["kept"])
        #expect(try fixture.cache.body(of: CacheKey("old"), variant: .original) == nil)
        try fixture.cache.store(bytes("new"), as: CacheKey("new"))
        #expect(fixture.folder.files().count == 2)
        #expect(fixture.cache.statistics.expirations == 1)
    }

    @Test func throwsOutTheOldWhenOpened() throws {
        let fixture = try CacheFixture { $0.ageLimit = .seconds(100) }
        try fixture.cache.store(bytes("old"), as: CacheKey("old"))
        fixture.clock.move(by: .seconds(101))
        #expect(try fixture.reopened().statistics.expirations == 1)
        #expect(fixture.folder.files().isEmpty)
    }

    @Test func keepsWhatTheClockSetBackMakesYoung() throws {
        let fixture = try CacheFixture { $0.ageLimit = .seconds(100) }
        try fixture.cache.store(bytes("kept"), as: CacheKey("kept"))
        fixture.clock.move(by: .seconds(-1_000_000))
        try fixture.cache.store(bytes("other"), as: CacheKey("other"))
        #expect(try Self.present(fixture.cache, ["kept", "other"]) == ["kept", "other"])
    }
}
