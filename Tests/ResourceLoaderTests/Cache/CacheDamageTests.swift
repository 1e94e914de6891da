import Foundation
import TestSupport
import Testing

@testable import ResourceLoader

@Suite(.takingTurns) struct CacheDamageTests {
    let key = CacheKey("cat")

    /// A folder with twenty bodies that carry their digests, nobody having it open.
    static func filled() throws -> TemporaryFolder {
        let folder = TemporaryFolder()
        let cache = try DiskCache(directory: folder.path)
        for number in 0..<20 {
            let body = block(UInt8(number), count: 1000 + number)
            try cache.store(
                body, as: CacheKey("\(number)"), expecting: BodyExpectation(digest: BodyDigest(of: body)))
        }
        return folder
    }

    static func path(_ folder: TemporaryFolder) throws -> String {
        "\(folder.path)/\(try #require(folder.index))"
    }

    enum Damage: CaseIterable {
        case garbage
        case header
        case truncated
        case folderInItsPlace
        case anotherDatabase
        case newerFormat
    }

    @Test(arguments: Damage.allCases) func setsADamagedIndexAsideAndGoesOn(_ damage: Damage) throws {
        let folder = try Self.filled()
        let path = try Self.path(folder)
        switch damage {
        case .garbage: try Data("this is no database, whatever it is called".utf8).write(to: URL(fileURLWithPath: path))
        case .header:
            var data = try Data(contentsOf: URL(fileURLWithPath: path))
            data.replaceSubrange(0..<16, with: Data(repeating: 0x55, count: 16))
            try data.write(to: URL(fileURLWithPath: path))
        case .truncated:
            let data = try Data(contentsOf: URL(fileURLWithPath: path))
            try data.prefix(5000).write(to: URL(fileURLWithPath: path))
        case .folderInItsPlace:
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        case .anotherDatabase:
            try FileManager.default.removeItem(atPath: path)
            try Database(path: path, patience: .zero).script("CREATE TABLE other (x); PRAGMA user_version=1")
        case .newerFormat: try Database(path: path, patience: .zero).script("PRAGMA user_version=99")
        }
        let cache = try DiskCache(directory: folder.path)
        #expect(try cache.holdings(of: CacheKey("3"), variants: [.original])[.original] == .absent)
        try cache.store(bytes("picture"), as: key)
        #expect(try cache.body(of: key, variant: .original)?.bytes() == bytes("picture"))
        #expect(cache.incidents.map(\.kind) == [.damagedIndex])
        #expect(
            cache.incidents.first?.movedTo.map { FileManager.default.fileExists(atPath: "\(folder.path)/\($0)") }
                == true)
        #expect(cache.statistics.setAside == 1)
        // Without their rows the bodies are nobody's.
        #expect(folder.files().filter { $0.hasPrefix("bodies/") }.count == 1)
    }

    @Test func noticesDamageWhileItRuns() throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(bytes("picture"), as: key)
        try fixture.execute("DROP TABLE entries")
        #expect(try fixture.cache.body(of: key, variant: .original) == nil)
        try fixture.cache.store(bytes("again"), as: key)
        #expect(try fixture.reopened().body(of: key, variant: .original)?.bytes() == bytes("again"))
        #expect(fixture.cache.incidents.map(\.kind) == [.damagedIndex])
    }

    @Test func followsAnotherProcessToANewIndex() throws {
        let fixture = try CacheFixture()
        let other = try fixture.reopened()
        try fixture.cache.store(bytes("picture"), as: key)
        let part = try other.scratchPart()
        try part.append(bytes("begun under the old one"))
        try fixture.execute("DROP TABLE entries")
        try fixture.cache.store(bytes("again"), as: key)
        #expect(try other.body(of: key, variant: .original)?.bytes() == bytes("again"))
        try other.commit(part, as: CacheKey("dog"))
        #expect(try fixture.cache.body(of: CacheKey("dog"), variant: .original) != nil)
        #expect(other.incidents.isEmpty)
    }

    @Test func refusesACommitAcrossAClearEvenWhenTheIndexIsNew() throws {
        let fixture = try CacheFixture()
        let part = try fixture.cache.scratchPart()
        try part.append(bytes("begun before"))
        try fixture.cache.removeAll()
        try fixture.execute("DROP TABLE entries")
        #expect(throws: CacheError.cleared) { try fixture.cache.commit(part, as: key) }
    }

    @Test func deletesAPartThatItsNewIndexDoesNotKnow() throws {
        let fixture = try CacheFixture()
        let part = try fixture.cache.claimPart(for: bytes("request"))
        try part.append(bytes("half"))
        try fixture.execute("DROP TABLE entries")
        try fixture.cache.store(bytes("picture"), as: key)
        try part.release()
        #expect(fixture.folder.files().filter { $0.hasPrefix("parts/") }.isEmpty)
    }

    @Test func neverGivesAWrongBodyFromADamagedIndex() throws {
        var random = SeededGenerator(seed: 5)
        for _ in 0..<150 {
            let folder = try Self.filled()
            let path = try Self.path(folder)
            var data = try Data(contentsOf: URL(fileURLWithPath: path))
            for _ in 0..<Int.random(in: 1...40, using: &random) {
                data[Int.random(in: 0..<data.count, using: &random)] = UInt8.random(in: 0...255, using: &random)
            }
            if Int.random(in: 0..<4, using: &random) == 0 {
                data = data.prefix(Int.random(in: 0..<data.count, using: &random))
            }
            try data.write(to: URL(fileURLWithPath: path))
            let cache = try DiskCache(directory: folder.path)
            for number in 0..<20 {
                guard let body = try cache.body(of: CacheKey("\(number)"), variant: .original) else { continue }
                // A flipped bit in the stored digest shows as a mismatch, which is what a digest is for.
                guard (try? body.verify()) != nil else { continue }
                #expect(try body.bytes() == block(UInt8(number), count: 1000 + number))
            }
            try cache.store(bytes("picture"), as: key)
            #expect(try cache.body(of: key, variant: .original)?.bytes() == bytes("picture"))
        }
    }

    enum BodyDamage: CaseIterable {
        case truncated
        case longer
        case empty
        case folder
        case link
    }

    @Test(arguments: BodyDamage.allCases) func setsADamagedBodyAside(_ damage: BodyDamage) throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(bytes("picture"), as: key)
        let file = "\(fixture.folder.path)/\(try #require(fixture.folder.files().first))"
        switch damage {
        case .truncated: #expect(truncate(file, 3) == 0)
        case .longer: #expect(truncate(file, 30) == 0)
        case .empty: #expect(truncate(file, 0) == 0)
        case .folder:
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.createDirectory(atPath: file, withIntermediateDirectories: false)
        case .link:
            try FileManager.default.removeItem(atPath: file)
            try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: "/etc/passwd")
        }
        #expect(try fixture.cache.holdings(of: key, variants: [.original])[.original] == .absent)
        #expect(try fixture.cache.body(of: key, variant: .original) == nil)
        #expect(fixture.cache.incidents.map(\.kind) == [.unreadableBody])
        #expect(fixture.cache.statistics.setAside == 1)
        #expect(fixture.cache.statistics.entries == 0)
        #expect(!FileManager.default.fileExists(atPath: file))
    }

    @Test func forgetsABodyThatIsGone() throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(bytes("picture"), as: key)
        try FileManager.default.removeItem(
            atPath: "\(fixture.folder.path)/\(try #require(fixture.folder.files().first))")
        #expect(try fixture.cache.holdings(of: key, variants: [.original])[.original] == .absent)
        #expect(try fixture.cache.body(of: key, variant: .original) == nil)
        #expect(fixture.cache.statistics.lostBodies == 1)
        #expect(fixture.cache.statistics.bytes == 0)
    }

    @Test func keepsFewThingsAside() throws {
        let fixture = try CacheFixture()
        for number in 0..<20 {
            let entry = try fixture.cache.store(bytes("\(number)"), as: key)
            try fixture.cache.setAside(entry, because: "does not decode")
        }
        #expect(fixture.folder.files().filter { $0.hasPrefix("aside/") }.count == 8)
        #expect(fixture.cache.statistics.setAside == 20)
    }

    @Test func sweepsWhatAKilledProcessLeft() throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(bytes("picture"), as: key)
        let begun = try fixture.cache.scratchPart()
        try begun.append(bytes("in progress"))
        let resumable = try fixture.cache.claimPart(for: bytes("request"))
        try resumable.append(bytes("in progress"))
        for orphan in ["bodies/ab/00000000000000ab", "bodies/cd/7fffffffffffffcd", "parts/0000000000000001"] {
            let path = "\(fixture.folder.path)/\(orphan)"
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent, withIntermediateDirectories: true)
            try Data("left behind".utf8).write(to: URL(fileURLWithPath: path))
        }
        let opened = try fixture.reopened()
        #expect(opened.statistics.sweptOrphans == 3)
        #expect(fixture.folder.files().count == 3)
        try fixture.cache.commit(begun, as: CacheKey("begun"))
        try fixture.cache.commit(resumable, as: CacheKey("resumable"))
        #expect(opened.statistics.entries == 3)
    }

    @Test func sparesABodyThatWasCommittedSinceItWasListed() throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(bytes("picture"), as: key)
        let name = try #require(fixture.folder.files().first)
        var store = try DiskStore(
            path: fixture.folder.path, configuration: fixture.configuration, now: fixture.clock.now)
        try store.sweepOrphan(name) { true }
        #expect(fixture.folder.files() == [name])
        try store.sweepOrphan(name) { false }
        #expect(fixture.folder.files().isEmpty)
    }

    @Test func sweepsRowsWithoutFiles() throws {
        let fixture = try CacheFixture()
        try fixture.cache.store(bytes("picture"), as: key)
        try fixture.cache.claimPart(for: bytes("request")).release()
        for file in fixture.folder.files() {
            try FileManager.default.removeItem(atPath: "\(fixture.folder.path)/\(file)")
        }
        let opened = try fixture.reopened()
        #expect(opened.statistics.lostBodies == 1)
        #expect(try opened.allEntries().isEmpty)
    }

    @Test func leavesForeignFilesAlone() throws {
        let fixture = try CacheFixture()
        try FileManager.default.createDirectory(
            atPath: fixture.folder.path + "/bodies/ab", withIntermediateDirectories: true)
        for name in ["bodies/ab/README", "bodies/ab/00000000000000AB", "parts/note.txt", "bodies/ab/0000000000000000"] {
            try Data("mine".utf8).write(to: URL(fileURLWithPath: "\(fixture.folder.path)/\(name)"))
        }
        _ = try fixture.reopened()
        #expect(fixture.folder.files().count == 4)
    }
}
