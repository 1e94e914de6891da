import Foundation
import TestSupport
import Testing

@testable import ResourceLoader

@Suite(.takingTurns) struct CacheStoringTests {
    @Test func givesBackWhatWasStored() throws {
        let fixture = try CacheFixture()
        let metadata = CacheMetadata(
            contentType: "image/png", etag: "\"v1\"", lastModified: "Mon, 30 Nov 2026 09:30:00 GMT",
            lifetime: .seconds(60))
        let entry = try fixture.cache.store(
            bytes("picture"), as: CacheKey("cat"), variant: .thumbnail, metadata: metadata)
        let body = try #require(try fixture.cache.body(of: CacheKey("cat"), variant: .thumbnail))
        #expect(try body.bytes() == bytes("picture"))
        #expect(body.entry == entry)
        #expect(body.entry.metadata == metadata)
        #expect(body.entry.variant == .thumbnail)
        #expect(try fixture.cache.body(of: CacheKey("cat"), variant: .original) == nil)
    }

    @Test func outlivesTheObject() throws {
        let folder = TemporaryFolder()
        try DiskCache(directory: folder.path).store(bytes("picture"), as: CacheKey("cat"))
        let body = try #require(try DiskCache(directory: folder.path).body(of: CacheKey("cat"), variant: .original))
        #expect(try body.bytes() == bytes("picture"))
    }

    @Test(arguments: [CacheDurability.process, .body, .full])
    func storesUnderEveryDurability(_ durability: CacheDurability) throws {
        let fixture = try CacheFixture { $0.durability = durability }
        try fixture.cache.store(bytes("picture"), as: CacheKey("cat"))
        let body = try #require(try fixture.reopened().body(of: CacheKey("cat"), variant: .original))
        #expect(try body.bytes() == bytes("picture"))
    }

    static let oddKeys: [CacheKey] = [
        CacheKey(""), CacheKey("."), CacheKey(".."), CacheKey("/"), CacheKey("../../etc/passwd"), CacheKey("a/b/c"),
        CacheKey("a\0b"), CacheKey("a\0c"), CacheKey("\0"), CacheKey("a"), CacheKey("A"), CacheKey("\u{E9}"),
        CacheKey("e\u{301}"), CacheKey([0xff, 0xfe, 0x00]), CacheKey("'; DROP TABLE entries; --"),
        CacheKey(repeatElement(0x41, count: 10_240)), CacheKey(Array(repeatElement(0x41, count: 10_239)) + [0x42]),
        CacheKey(repeatElement(0, count: 10_240)), CacheKey((0...255).map { UInt8($0) }),
    ]

    @Test func keepsOddKeysApart() throws {
        let fixture = try CacheFixture()
        for (number, key) in Self.oddKeys.enumerated() {
            for variant in [CacheVariant.thumbnail, "a/../b\0", ""] {
                try fixture.cache.store(bytes("\(number) \(variant.name)"), as: key, variant: variant)
            }
        }
        let other = try fixture.reopened()
        for (number, key) in Self.oddKeys.enumerated() {
            for variant in [CacheVariant.thumbnail, "a/../b\0", ""] {
                let body = try #require(try other.body(of: key, variant: variant))
                #expect(try body.bytes() == bytes("\(number) \(variant.name)"))
                #expect(body.entry.key == key)
                #expect(body.entry.variant == variant)
            }
        }
        #expect(other.statistics.entries == Self.oddKeys.count * 3)
    }

    @Test func makesNoFileNamesFromKeys() throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(bytes("picture"), as: CacheKey("secret"), variant: "variant")
        let files = fixture.folder.files()
        #expect(files.count == 1)
        #expect(files.allSatisfy { $0.wholeMatch(of: /bodies\/[0-9a-f]{2}\/[0-9a-f]{16}/) != nil })
    }

    @Test func writesBodiesVerbatim() throws {
        let fixture = try CacheFixture()
        let body = (0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        try fixture.cache.store(body, as: CacheKey("cat"))
        let file = try #require(fixture.folder.files().first)
        #expect(FileManager.default.contents(atPath: "\(fixture.folder.path)/\(file)") == Data(body))
    }

    @Test func leavesOneFileAfterAReplacement() throws {
        let fixture = try CacheFixture()
        let first = try fixture.cache.store(bytes("old"), as: CacheKey("cat"))
        let second = try fixture.cache.store(bytes("new"), as: CacheKey("cat"))
        #expect(first.id != second.id)
        #expect(try fixture.cache.body(of: CacheKey("cat"), variant: .original)?.bytes() == bytes("new"))
        #expect(fixture.folder.files().count == 1)
        #expect(fixture.cache.statistics.entries == 1)
    }

    @Test func refusesAnEmptyBody() throws {
        let fixture = try CacheFixture()
        #expect(throws: CacheError.empty) { try fixture.cache.store([], as: CacheKey("cat")) }
        #expect(fixture.folder.files().isEmpty)
        #expect(fixture.cache.statistics.refusedCommits == 1)
    }

    @Test func refusesAWrongLengthOrDigest() throws {
        let fixture = try CacheFixture()
        let cache = fixture.cache
        try cache.store(bytes("good"), as: CacheKey("cat"))
        let wrong = BodyDigest(of: bytes("something else"))
        #expect(throws: CacheError.incomplete(expected: 8, got: 7)) {
            try cache.store(bytes("picture"), as: CacheKey("cat"), expecting: BodyExpectation(length: 8))
        }
        #expect(throws: CacheError.corrupt("7 bytes instead of 6")) {
            try cache.store(bytes("picture"), as: CacheKey("cat"), expecting: BodyExpectation(length: 6))
        }
        #expect(throws: CacheError.corrupt("SHA-256 is \(BodyDigest(of: bytes("picture"))), not \(wrong)")) {
            try cache.store(bytes("picture"), as: CacheKey("cat"), expecting: BodyExpectation(digest: wrong))
        }
        #expect(try cache.body(of: CacheKey("cat"), variant: .original)?.bytes() == bytes("good"))
        #expect(fixture.folder.files().count == 1)
        #expect(cache.statistics.refusedCommits == 3)
    }

    @Test func keepsTheDigestItChecked() throws {
        let fixture = try CacheFixture()
        let digest = BodyDigest(of: bytes("picture"))
        try fixture.cache.store(
            bytes("picture"), as: CacheKey("cat"), expecting: BodyExpectation(length: 7, digest: digest))
        let body = try #require(try fixture.cache.body(of: CacheKey("cat"), variant: .original))
        #expect(body.entry.digest == digest)
        try body.verify()
    }

    @Test func tellsABodyThatRotted() throws {
        let fixture = try CacheFixture()
        let digest = BodyDigest(of: bytes("picture"))
        try fixture.cache.store(bytes("picture"), as: CacheKey("cat"), expecting: BodyExpectation(digest: digest))
        let file = try #require(fixture.folder.files().first)
        try Data("pictuRe".utf8).write(to: URL(fileURLWithPath: "\(fixture.folder.path)/\(file)"))
        let body = try #require(try fixture.cache.body(of: CacheKey("cat"), variant: .original))
        #expect(throws: CacheError.self) { try body.verify() }
    }

    @Test func readsFromTheMiddle() throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(bytes("0123456789"), as: CacheKey("digits"))
        let body = try #require(try fixture.cache.body(of: CacheKey("digits"), variant: .original))
        func read(_ count: Int, at offset: Int64) throws -> [UInt8] {
            var buffer = [UInt8](repeating: 0, count: count)
            let got = try buffer.withUnsafeMutableBytes { try body.read(into: $0, at: offset) }
            return Array(buffer.prefix(got))
        }
        #expect(try read(4, at: 3) == bytes("3456"))
        #expect(try read(4, at: 8) == bytes("89"))
        #expect(try read(4, at: 10) == [])
        #expect(try read(4, at: 99) == [])
    }

    @Test func forgetsOneVariantOrAll() throws {
        let fixture = try CacheFixture()
        for variant in [CacheVariant.thumbnail, .original, "large"] {
            try fixture.cache.store(bytes("picture"), as: CacheKey("cat"), variant: variant)
        }
        try fixture.cache.remove(CacheKey("cat"), variant: .original)
        #expect(
            try fixture.cache.best(of: CacheKey("cat"), among: [.original, .thumbnail])?.entry.variant == .thumbnail)
        try fixture.cache.remove(CacheKey("cat"))
        #expect(fixture.folder.files().isEmpty)
        #expect(fixture.cache.statistics.entries == 0)
        #expect(fixture.cache.statistics.bytes == 0)
    }

    @Test func countsHitsAndMisses() throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(bytes("picture"), as: CacheKey("cat"))
        for name in ["cat", "dog", "cat", "cow"] { _ = try fixture.cache.body(of: CacheKey(name), variant: .original) }
        let statistics = fixture.cache.statistics
        #expect(statistics.hits == 2)
        #expect(statistics.misses == 2)
        #expect(statistics.commits == 1)
    }

    @Test func isReadableToItsOwnerOnly() throws {
        let folder = TemporaryFolder()
        try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: folder.path)
        let cache = try DiskCache(directory: folder.path)
        try cache.store(bytes("picture"), as: CacheKey("secret"))
        let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter { $0 != "generation" }
        #expect(names.contains { $0.hasSuffix(".sqlite-wal") })
        for name in names {
            let attributes = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/\(name)")
            #expect((attributes[.posixPermissions] as? Int ?? 0o777) & 0o077 == 0, "\(name)")
        }
    }

    @Test func saysWhereItCannotBe() throws {
        let folder = TemporaryFolder()
        try folder.write("", to: "file")
        #expect {
            try DiskCache(directory: folder.file("file/below"))
        } throws: { error in
            guard case .storage(let failure)? = error as? CacheError else { return false }
            return failure.code == ENOTDIR && failure.path.hasSuffix("/below")
        }
    }

    @Test func startsAgainWhenTheFolderIsDeleted() throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(bytes("picture"), as: CacheKey("cat"))
        try FileManager.default.removeItem(atPath: fixture.folder.path)
        #expect(try fixture.cache.body(of: CacheKey("cat"), variant: .original) == nil)
        try fixture.cache.store(bytes("picture"), as: CacheKey("cat"))
        #expect(try fixture.cache.body(of: CacheKey("cat"), variant: .original)?.bytes() == bytes("picture"))
    }
}
