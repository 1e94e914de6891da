import TestSupport
import Testing

@testable import ResourceLoader

@Suite(.takingTurns, .timeLimit(.minutes(10))) struct CacheChangesTests {
    let key = CacheKey("cat")
    let variants: [CacheVariant] = [.original, .thumbnail]

    @Test func beginsWithThePresentAndFollowsEveryChange() async throws {
        let fixture = try CacheFixture { $0.byteBudget = 8192 }
        let cache = fixture.cache
        try cache.store(bytes("t"), as: key, variant: .thumbnail)
        var changes = cache.changes(of: key, variants: variants).makeAsyncIterator()
        func next() async throws -> [CacheFreshness]? { try await changes.next()?.rungs.map(\.freshness) }
        #expect(try await next() == [.absent, .fresh])
        let entry = try cache.store(bytes("o"), as: key, metadata: CacheMetadata(lifetime: .zero))
        #expect(try await next() == [.stale, .fresh])
        try cache.revalidate(entry, metadata: CacheMetadata(lifetime: .seconds(60)))
        #expect(try await next() == [.fresh, .fresh])
        try cache.remove(key, variant: .thumbnail)
        #expect(try await next() == [.fresh, .absent])
        try cache.store(block(1, count: 8000), as: CacheKey("evicts the others"))
        #expect(try await next() == [.absent, .absent])
        try cache.store(bytes("o"), as: key)
        #expect(try await next() == [.fresh, .absent])
        try cache.removeAll()
        #expect(try await next() == [.absent, .absent])
    }

    @Test func passesOverWhatChangesNothing() async throws {
        let fixture = try CacheFixture()
        var changes = fixture.cache.changes(of: key, variants: [.thumbnail]).makeAsyncIterator()
        #expect(try await changes.next()?[.thumbnail] == .absent)
        try fixture.cache.store(bytes("o"), as: key, variant: .original)
        try fixture.cache.store(bytes("o"), as: CacheKey("dog"), variant: .thumbnail)
        try fixture.cache.store(bytes("t"), as: key, variant: .thumbnail)
        #expect(try await changes.next()?[.thumbnail] == .fresh)
    }

    @Test func missesStatesInBetweenButNotTheLast() async throws {
        let fixture = try CacheFixture()
        var changes = fixture.cache.changes(of: key, variants: [.original]).makeAsyncIterator()
        #expect(try await changes.next()?[.original] == .absent)
        for number in 0..<100 { try fixture.cache.store(bytes("\(number)"), as: key) }
        let last = try fixture.cache.entry(of: key, variant: .original)
        #expect(try await changes.next()?.rungs.first?.entry == last)
    }

    @Test func tellsOfABodyThatWasLost() async throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(bytes("o"), as: key)
        var changes = fixture.cache.changes(of: key, variants: [.original]).makeAsyncIterator()
        let entry = try #require(try await changes.next()?.rungs.first?.entry)
        try fixture.cache.setAside(entry, because: "does not decode")
        #expect(try await changes.next()?[.original] == .absent)
    }

    @Test func endsWithTheCache() async throws {
        let folder = TemporaryFolder()
        var cache: DiskCache? = try DiskCache(directory: folder.path)
        let changes = try #require(cache?.changes(of: key, variants: [.original]))
        var iterator = changes.makeAsyncIterator()
        _ = try await iterator.next()
        cache = nil
        #expect(try await iterator.next() == nil)
    }

    @Test func forgetsSubscribersThatAreGone() async throws {
        let hub = ChangeHub<Int>()
        let reading = Task {
            for await _ in hub.ticks(for: 7) { return }
        }
        while hub.count(of: 7) == 0 { await Task.yield() }
        hub.tick([7])
        await reading.value
        while hub.count(of: 7) > 0 { await Task.yield() }
        #expect(hub.count(of: 7) == 0)
    }
}
