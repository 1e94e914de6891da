import Foundation
import TestSupport
import Testing

@testable import ResourceLoader

@Suite(.takingTurns) struct CachePartsTests {
    let request = bytes("GET https://example.org/\0cat")

    @Test func goesOnWhereTheLastOneStopped() throws {
        let fixture = try CacheFixture()
        let first = try fixture.cache.claimPart(for: request)
        #expect(first.length == 0)
        try first.append(bytes("first half, "))
        try first.checkpoint(PartNote(validator: "\"v1\"", total: 23))
        try first.release()
        let second = try fixture.reopened().claimPart(for: request)
        #expect(second.length == 12)
        #expect(second.note == PartNote(validator: "\"v1\"", total: 23))
        try second.append(bytes("second half"))
        let entry = try second.cache.commit(
            second, as: CacheKey("cat"), expecting: BodyExpectation(length: 23))
        #expect(entry.size == 23)
        let body = try #require(try fixture.cache.body(of: CacheKey("cat"), variant: .original))
        #expect(try body.bytes() == bytes("first half, second half"))
        #expect(try fixture.number("SELECT count(*) FROM parts") == 0)
        #expect(try fixture.cache.claimPart(for: request).length == 0)
    }

    @Test func goesOnAfterACrashWithoutACheckpoint() throws {
        let fixture = try CacheFixture()
        var part: ResumablePart? = try fixture.cache.claimPart(for: request)
        try part?.append(bytes("half"))
        part = nil
        #expect(try fixture.cache.claimPart(for: request).length == 4)
    }

    @Test func goesOnFromTheLastCheckpointAfterAReboot() throws {
        let fixture = try CacheFixture()
        var part: ResumablePart? = try fixture.cache.claimPart(for: request)
        try part?.append(bytes("flushed"))
        try part?.checkpoint(PartNote())
        try part?.append(bytes(" and not"))
        part = nil
        try fixture.execute("UPDATE parts SET boot = 'an earlier one'")
        #expect(try fixture.cache.claimPart(for: request).length == 7)
    }

    @Test func belongsToOneAtATime() throws {
        let fixture = try CacheFixture()
        let part = try fixture.cache.claimPart(for: request)
        #expect(throws: CacheError.partInUse) { try fixture.cache.claimPart(for: request) }
        #expect(throws: CacheError.partInUse) { try fixture.reopened().claimPart(for: request) }
        #expect(try fixture.cache.claimPart(for: bytes("another")).length == 0)
        try part.release()
        _ = try fixture.reopened().claimPart(for: request)
    }

    @Test func isRefusedAsSoonAsItIsKnownToExceedTheWholeBudget() throws {
        let fixture = try CacheFixture { $0.byteBudget = 4096 }
        let announced = try fixture.cache.claimPart(for: request)
        #expect(throws: CacheError.tooLarge(size: 4097, budget: 4096)) {
            try announced.checkpoint(PartNote(total: 4097))
        }
        let counted = try fixture.cache.claimPart(for: request)
        try counted.append(block(1, count: 4096))
        #expect(throws: CacheError.tooLarge(size: 4097, budget: 4096)) { try counted.append([0]) }
        #expect(try fixture.cache.claimPart(for: request).length == 0)
        #expect(fixture.cache.statistics.refusedCommits == 2)
    }

    @Test func isGoneOnceAbandoned() throws {
        let fixture = try CacheFixture()
        let part = try fixture.cache.claimPart(for: request)
        try part.append(bytes("half"))
        try part.abandon()
        #expect(fixture.folder.files().isEmpty)
        #expect(try fixture.cache.claimPart(for: request).length == 0)
    }

    @Test func cannotBeUsedOnceItHasEnded() throws {
        let fixture = try CacheFixture()
        let part = try fixture.cache.claimPart(for: request)
        try part.append(bytes("whole"))
        try fixture.cache.commit(part, as: CacheKey("cat"))
        #expect(throws: CacheError.partEnded) { try part.append(bytes("more")) }
        #expect(throws: CacheError.partEnded) { try part.truncate(to: 0) }
        #expect(throws: CacheError.partEnded) { try part.release() }
        #expect(throws: CacheError.partEnded) { try part.abandon() }
        #expect(throws: CacheError.partEnded) { try fixture.cache.commit(part, as: CacheKey("dog")) }
        #expect(try fixture.cache.body(of: CacheKey("cat"), variant: .original)?.bytes() == bytes("whole"))
    }

    @Test func startsOverOrGoesBackByTruncation() throws {
        let fixture = try CacheFixture()
        let part = try fixture.cache.claimPart(for: request)
        try part.append(bytes("0123456789"))
        try part.truncate(to: 4)
        try part.append(bytes("abc"))
        #expect(part.length == 7)
        try fixture.cache.commit(part, as: CacheKey("cat"))
        #expect(try fixture.cache.body(of: CacheKey("cat"), variant: .original)?.bytes() == bytes("0123abc"))
    }

    @Test func neverTakesNewBytesForThoseOfTheBodyBefore() throws {
        let fixture = try CacheFixture()
        let note = PartNote(validator: "\"old\"", total: 100)
        var part: ResumablePart? = try fixture.cache.claimPart(for: request)
        try part?.append(bytes("old body"))
        try part?.checkpoint(note)
        try part?.truncate(to: 3)
        #expect(part?.note == note)
        try part?.truncate(to: 0)
        try part?.append(bytes("new body"))
        part = nil
        let next = try fixture.cache.claimPart(for: request)
        #expect(next.length == 8)
        #expect(next.note == PartNote())
    }

    @Test func canBeReadForChecks() throws {
        let fixture = try CacheFixture()
        let part = try fixture.cache.claimPart(for: request)
        try part.append(bytes("0123456789"))
        var buffer = [UInt8](repeating: 0, count: 4)
        #expect(try buffer.withUnsafeMutableBytes { try part.read(into: $0, at: 8) } == 2)
        #expect(buffer.prefix(2) == [0x38, 0x39])
    }

    @Test func survivesAnIncompleteCommitAndNoOtherRefusal() throws {
        let fixture = try CacheFixture()
        let part = try fixture.cache.claimPart(for: request)
        try part.append(bytes("half"))
        #expect(throws: CacheError.incomplete(expected: 8, got: 4)) {
            try fixture.cache.commit(part, as: CacheKey("cat"), expecting: BodyExpectation(length: 8))
        }
        #expect(part.length == 4)
        #expect(throws: CacheError.self) {
            try fixture.cache.commit(part, as: CacheKey("cat"), expecting: BodyExpectation(length: 3))
        }
        #expect(fixture.folder.files().isEmpty)
        #expect(try fixture.cache.claimPart(for: request).length == 0)
    }

    @Test func startsOverWhereThereIsMoreThanTheWhole() throws {
        let fixture = try CacheFixture()
        let part = try fixture.cache.claimPart(for: request)
        try part.append(bytes("too much"))
        try part.checkpoint(PartNote(total: 3))
        try part.release()
        #expect(try fixture.cache.claimPart(for: request).length == 0)
    }

    @Test func deletesScratchPartsThatAreNotCommitted() throws {
        let fixture = try CacheFixture()
        do {
            let dropped = try fixture.cache.scratchPart()
            try dropped.append(bytes("x"))
            let released = try fixture.cache.scratchPart()
            try released.append(bytes("y"))
            try released.release()
            #expect(fixture.folder.files().count == 1)
            try dropped.checkpoint(PartNote())
        }
        #expect(fixture.folder.files().isEmpty)
    }

    @Test func keepsPartsWithinTheirOwnBudget() throws {
        let fixture = try CacheFixture { $0.partsByteBudget = 10_000 }
        for name in ["a", "b", "c"] {
            let part = try fixture.cache.claimPart(for: bytes(name))
            try part.append(block(1))
            try part.release()
            fixture.clock.move(by: .seconds(1))
        }
        #expect(fixture.cache.statistics.droppedParts == 1)
        #expect(try fixture.cache.claimPart(for: bytes("a")).length == 0)
        #expect(try fixture.cache.claimPart(for: bytes("b")).length == 4000)
        #expect(try fixture.cache.claimPart(for: bytes("c")).length == 4000)
    }

    @Test func doesNotTakeAPartFromWhoeverWorksOnIt() throws {
        let fixture = try CacheFixture { $0.partsByteBudget = 5000 }
        let working = try fixture.cache.claimPart(for: bytes("working"))
        try working.append(block(1, count: 6000))
        fixture.clock.move(by: .seconds(1))
        let other = try fixture.cache.claimPart(for: bytes("other"))
        try other.append(block(1))
        try other.release()
        #expect(fixture.cache.statistics.droppedParts == 0)
        try fixture.cache.commit(working, as: CacheKey("cat"))
        #expect(try fixture.cache.claimPart(for: bytes("other")).length == 4000)
    }

    @Test func dropsPartsThatAreTooOld() throws {
        let fixture = try CacheFixture { $0.partsAgeLimit = .seconds(100) }
        let part = try fixture.cache.claimPart(for: request)
        try part.append(bytes("half"))
        try part.release()
        fixture.clock.move(by: .seconds(101))
        let opened = try fixture.reopened()
        #expect(opened.statistics.droppedParts == 1)
        #expect(fixture.folder.files().isEmpty)
    }

    @Test func refusesAFileThatSomebodyElseHasChanged() throws {
        let fixture = try CacheFixture()
        let part = try fixture.cache.claimPart(for: request)
        try part.append(bytes("body"))
        let file = try #require(fixture.folder.files().first)
        try Data("something longer".utf8).write(to: URL(fileURLWithPath: "\(fixture.folder.path)/\(file)"), options: [])
        #expect(throws: CacheError.self) { try fixture.cache.commit(part, as: CacheKey("cat")) }
        #expect(try fixture.cache.allEntries().isEmpty)
    }
}
