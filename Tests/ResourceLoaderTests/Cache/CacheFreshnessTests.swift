import TestSupport
import Testing

@testable import ResourceLoader

@Suite(.takingTurns) struct CacheFreshnessTests {
    let key = CacheKey("cat")

    @Test func tellsWhatThereIsOfEachRungInOneCall() throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(bytes("s"), as: key, variant: "small", metadata: CacheMetadata(lifetime: .seconds(10)))
        try fixture.cache.store(bytes("m"), as: key, variant: "medium", metadata: CacheMetadata(lifetime: .seconds(20)))
        fixture.clock.move(by: .seconds(10))
        let holdings = try fixture.cache.holdings(of: key, variants: ["large", "medium", "small"])
        #expect(holdings.rungs.map(\.variant) == ["large", "medium", "small"])
        #expect(holdings.rungs.map(\.freshness) == [.absent, .fresh, .stale])
        #expect(holdings["medium"] == .fresh)
        #expect(holdings["unheard of"] == .absent)
        #expect(holdings.nextExpiry(after: fixture.clock.now()) == fixture.clock.now().advanced(by: .seconds(10)))
    }

    @Test func givesStaleBodiesToo() throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(bytes("picture"), as: key, metadata: CacheMetadata(lifetime: .zero))
        #expect(try fixture.cache.holdings(of: key, variants: [.original])[.original] == .stale)
        #expect(try fixture.cache.body(of: key, variant: .original)?.bytes() == bytes("picture"))
    }

    @Test func assumesALifetimeWhereNoneIsTold() throws {
        let fixture = try CacheFixture { $0.assumedLifetime = .seconds(5) }
        let entry = try fixture.cache.store(bytes("picture"), as: key)
        #expect(entry.metadata.lifetime == nil)
        #expect(entry.freshness(at: fixture.clock.now().advanced(by: .milliseconds(4999))) == .fresh)
        #expect(entry.freshness(at: fixture.clock.now().advanced(by: .seconds(5))) == .stale)
        #expect(try fixture.cache.entry(of: key, variant: .original) == entry)
    }

    @Test func survivesALifetimeWithoutEnd() throws {
        let fixture = try CacheFixture { $0.ageLimit = .seconds(Int64.max) }
        let entry = try fixture.cache.store(
            bytes("picture"), as: key, metadata: CacheMetadata(lifetime: .seconds(Int64.max)))
        #expect(entry.freshUntil == WallTime(milliseconds: .max))
        #expect(try fixture.cache.holdings(of: key, variants: [.original])[.original] == .fresh)
        #expect(try fixture.cache.entry(of: key, variant: .original)?.freshUntil == entry.freshUntil)
    }

    @Test func countsAsStaleWhileTheClockIsSetBack() throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(bytes("picture"), as: key)
        fixture.clock.move(by: .seconds(-1))
        #expect(try fixture.cache.holdings(of: key, variants: [.original])[.original] == .stale)
    }

    @Test func keepsTheValidatorsAndFreshensByThem() throws {
        let fixture = try CacheFixture()
        let stored = try fixture.cache.store(
            bytes("picture"), as: key,
            metadata: CacheMetadata(contentType: "image/png", etag: "W/\"1\"", lifetime: .seconds(10)))
        fixture.clock.move(by: .seconds(30))
        let stale = try #require(try fixture.cache.holdings(of: key, variants: [.original]).rungs.first?.entry)
        #expect(stale.metadata.hasValidator)
        let renewed = try fixture.cache.revalidate(stale, metadata: CacheMetadata(lifetime: .seconds(60)))
        #expect(renewed?.id == stored.id)
        #expect(renewed?.metadata.etag == "W/\"1\"")
        #expect(renewed?.metadata.contentType == "image/png")
        fixture.clock.move(by: .seconds(59))
        #expect(try fixture.cache.holdings(of: key, variants: [.original])[.original] == .fresh)
    }

    @Test func doesNotFreshenAnotherBody() throws {
        let fixture = try CacheFixture()
        let old = try fixture.cache.store(bytes("old"), as: key, metadata: CacheMetadata(lifetime: .zero))
        try fixture.cache.store(bytes("new"), as: key, metadata: CacheMetadata(lifetime: .zero))
        #expect(try fixture.cache.revalidate(old, metadata: CacheMetadata(lifetime: .seconds(60))) == nil)
        #expect(try fixture.cache.holdings(of: key, variants: [.original])[.original] == .stale)
    }

    @Test func findsTheBestThereIs() throws {
        let fixture = try CacheFixture()
        #expect(try fixture.cache.best(of: key, among: [.original, .thumbnail]) == nil)
        try fixture.cache.store(bytes("t"), as: key, variant: .thumbnail)
        #expect(try fixture.cache.best(of: key, among: [.original, .thumbnail])?.entry.variant == .thumbnail)
        try fixture.cache.store(bytes("o"), as: key, variant: .original)
        #expect(try fixture.cache.best(of: key, among: [.original, .thumbnail])?.entry.variant == .original)
    }

    @Test(
        arguments: [
            ("max-age=60", nil, Duration.seconds(60)), ("MAX-AGE=60", "20", .seconds(40)), ("max-age=60", "90", .zero),
            ("public, max-age=\"60\"", nil, .seconds(60)), ("max-age=60, max-age=5", nil, .seconds(60)),
            ("max-age=abc", nil, .zero), ("max-age=-5", nil, .zero), ("max-age=", nil, .zero), ("max-age", nil, .zero),
            ("max-age=99999999999999999999999", nil, .seconds(2_147_483_648)), ("no-cache, max-age=60", nil, .zero),
            ("no-store", nil, .zero), ("no-cache=\"set-cookie\", max-age=60", nil, .seconds(60)), ("", nil, nil),
            ("private", nil, nil), ("x=\"max-age=1, no-store\"", nil, nil),
            ("x=\"\\\", no-store\", max-age=7", nil, .seconds(7)),
            ("s-maxage=60", nil, nil), ("max-age=60", "nonsense", .seconds(60)), (" max-age = 60 ,", nil, .seconds(60)),
        ] as [(String, String?, Duration?)])
    func readsCacheControl(_ header: String, age: String?, lifetime: Duration?) {
        #expect(CacheControl(header).lifetime(age: age) == lifetime)
    }

    @Test func tellsThatAResponseMustNotBeStored() {
        #expect(CacheControl("private, No-Store").forbidsStoring)
        #expect(!CacheControl("private, x=\"no-store\"").forbidsStoring)
    }
}
