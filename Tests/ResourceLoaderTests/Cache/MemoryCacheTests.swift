import Foundation
import TestSupport
import Testing

@testable import ResourceLoader

@Suite(.takingTurns) struct MemoryCacheTests {
    let key = CacheKey("cat")

    @Test func servesTheSecondTimeFromMemory() throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(bytes("picture"), as: key)
        let memory = MemoryCache(over: fixture.cache, byteBudget: 1000)
        let first = try #require(try memory.body(of: key, variant: .original))
        let second = try #require(try memory.body(of: key, variant: .original))
        #expect(try first.bytes() == bytes("picture"))
        #expect(try second.bytes() == bytes("picture"))
        #expect(second.isInMemory)
        #expect(memory.statistics.hits == 1)
        #expect(memory.statistics.misses == 1)
        #expect(fixture.cache.statistics.hits == 1)
        #expect(memory.statistics.bytes == 7)
        #expect(memory.statistics.entries == 1)
    }

    @Test func servesAtOnceWhatWasStoredThroughIt() throws {
        let fixture = try CacheFixture()
        let memory = MemoryCache(over: fixture.cache, byteBudget: 1000)
        try memory.store(bytes("picture"), as: key)
        #expect(try memory.body(of: key, variant: .original)?.bytes() == bytes("picture"))
        #expect(memory.statistics.hits == 1)
        #expect(fixture.cache.statistics.hits == 0)
    }

    @Test func keepsTheMostRecentlyUsedWithinItsBytes() throws {
        let fixture = try CacheFixture()
        let memory = MemoryCache(over: fixture.cache, byteBudget: 400)
        for name in ["a", "b", "c", "d"] { try memory.store(block(1, count: 100), as: CacheKey(name)) }
        _ = try memory.body(of: CacheKey("a"), variant: .original)
        try memory.store(block(1, count: 100), as: CacheKey("e"))
        #expect(memory.statistics.bytes == 400)
        #expect(memory.statistics.evictions == 1)
        let before = memory.statistics.hits
        for name in ["a", "c", "d", "e"] { _ = try memory.body(of: CacheKey(name), variant: .original) }
        #expect(memory.statistics.hits == before + 4)
        _ = try memory.body(of: CacheKey("b"), variant: .original)
        #expect(memory.statistics.hits == before + 4)
    }

    @Test func leavesLargeBodiesOnDisk() throws {
        let fixture = try CacheFixture()
        let memory = MemoryCache(over: fixture.cache, byteBudget: 400)
        try fixture.cache.store(block(1, count: 101), as: key)
        #expect(try memory.body(of: key, variant: .original)?.isInMemory == false)
        #expect(memory.statistics.refusedCommits == 1)
        #expect(memory.statistics.bytes == 0)
    }

    @Test func keepsEvictionOffWhatItShows() throws {
        let fixture = try CacheFixture { $0.byteBudget = 4096 }
        let memory = MemoryCache(over: fixture.cache, byteBudget: 400)
        try fixture.cache.store(bytes("picture"), as: key)
        for isInMemoryBefore in [false, true] {
            var shown = try memory.body(of: key, variant: .original)
            #expect(shown?.isInMemory == true, "and before: \(isInMemoryBefore)")
            try fixture.cache.store(block(1), as: CacheKey("another"))
            #expect(try fixture.cache.entry(of: key, variant: .original) != nil)
            shown = nil
        }
        try fixture.cache.store(block(2), as: CacheKey("another"))
        #expect(try fixture.cache.entry(of: key, variant: .original) == nil)
    }

    enum Change: CaseIterable {
        case replaced
        case removed
        case cleared
    }

    @Test(arguments: Change.allCases) func neverServesWhatAnotherProcessHasChanged(_ change: Change) throws {
        let fixture = try CacheFixture()
        let memory = MemoryCache(over: fixture.cache, byteBudget: 1000)
        try memory.store(bytes("old"), as: key)
        let other = try fixture.reopened()
        switch change {
        case .replaced: try other.store(bytes("new"), as: key)
        case .removed: try other.remove(key)
        case .cleared: try other.removeAll()
        }
        #expect(try memory.body(of: key, variant: .original)?.bytes() == (change == .replaced ? bytes("new") : nil))
    }

    @Test func tellsTheFreshnessOfNowNotOfThen() throws {
        let fixture = try CacheFixture()
        let memory = MemoryCache(over: fixture.cache, byteBudget: 1000)
        let entry = try memory.store(bytes("picture"), as: key, metadata: CacheMetadata(lifetime: .seconds(1)))
        fixture.clock.move(by: .seconds(5))
        try memory.revalidate(entry)
        let body = try #require(try memory.body(of: key, variant: .original))
        #expect(body.isInMemory)
        #expect(body.entry.freshness(at: fixture.clock.now()) == .fresh)
    }

    @Test func keepsServingWhenTheDiskFails() throws {
        let fixture = try CacheFixture()
        let memory = MemoryCache(over: fixture.cache, byteBudget: 1000)
        try memory.store(bytes("picture"), as: key)
        fixture.folder.delete()
        // A file where the folder was: the cache cannot be made anew.
        try Data().write(to: URL(fileURLWithPath: fixture.folder.path))
        #expect(throws: CacheError.self) { try fixture.cache.body(of: key, variant: .original) }
        #expect(try memory.body(of: key, variant: .original)?.bytes() == bytes("picture"))
        #expect(throws: CacheError.self) { try memory.removeAll() }
        #expect(throws: CacheError.self) { try memory.body(of: key, variant: .original) }
    }

    @Test func agreesWithAPlainModel() {
        var random = SeededGenerator(seed: 11)
        var lru = ByteBoundedLRU<Int, Int>(budget: 100)
        var model: [(key: Int, size: Int)] = []
        for step in 0..<20_000 {
            let key = Int.random(in: 0..<20, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0, 1:
                let size = Int.random(in: 0...40, using: &random)
                _ = lru.put(key, step, Array(repeating: 0, count: size))
                model.removeAll { $0.key == key }
                model.append((key, size))
                while model.reduce(0, { $0 + $1.size }) > 100 { model.removeFirst() }
            case 2, 3:
                let known = model.firstIndex { $0.key == key }
                #expect(lru.take(key)?.bytes.count == known.map { model[$0].size })
                if let known { model.append(model.remove(at: known)) }
            default:
                lru.remove(key)
                model.removeAll { $0.key == key }
            }
            #expect(lru.count == model.count && lru.total == model.reduce(0) { $0 + $1.size })
        }
    }
}
