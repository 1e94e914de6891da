import TestSupport
import Testing

@testable import ResourceLoader

@Suite(.takingTurns) struct CacheClearTests {
    @Test func leavesNothingOfADownloadThatHadBegun() throws {
        let fixture = try CacheFixture()
        let kept = try fixture.cache.claimPart(for: bytes("request"))
        let scratch = try fixture.cache.scratchPart()
        for part in [kept, scratch] { try part.append(bytes("half ")) }
        try fixture.reopened().removeAll()
        for part in [kept, scratch] {
            try part.append(bytes("whole"))
            #expect(throws: CacheError.cleared) { try fixture.cache.commit(part, as: CacheKey("cat")) }
        }
        #expect(fixture.folder.files().isEmpty)
        #expect(try fixture.cache.allEntries().isEmpty)
        #expect(fixture.cache.statistics.refusedCommits == 2)
    }

    @Test func doesNotStandInTheWayOfTheNextDownload() throws {
        let fixture = try CacheFixture()
        let before = try fixture.cache.claimPart(for: bytes("request"))
        try before.append(bytes("old"))
        try fixture.cache.removeAll()
        let after = try fixture.cache.claimPart(for: bytes("request"))
        #expect(after.length == 0)
        try after.append(bytes("new"))
        try fixture.cache.commit(after, as: CacheKey("cat"))
        #expect(throws: CacheError.cleared) { try fixture.cache.commit(before, as: CacheKey("cat")) }
        #expect(try fixture.cache.body(of: CacheKey("cat"), variant: .original)?.bytes() == bytes("new"))
    }

    @Test func keepsWhatIsReleasedAfterItFromComingBack() throws {
        let fixture = try CacheFixture()
        let part = try fixture.cache.claimPart(for: bytes("request"))
        try part.append(bytes("half"))
        try fixture.cache.removeAll()
        try part.release()
        #expect(try fixture.cache.claimPart(for: bytes("request")).length == 0)
    }

    @Test func forgetsEverything() throws {
        let fixture = try CacheFixture()
        for name in ["a", "b"] { try fixture.cache.store(bytes(name), as: CacheKey(name)) }
        try fixture.cache.claimPart(for: bytes("request")).release()
        try fixture.cache.removeAll()
        #expect(fixture.folder.files().isEmpty)
        #expect(fixture.cache.statistics.bytes == 0)
        #expect(fixture.cache.statistics.entries == 0)
    }
}
