import TestSupport
import Testing

@testable import ResourceLoader

@Suite("The answer to a request for the rest", .takingTurns, .timeLimit(.minutes(10)))
struct TransfersResumeTableTests {
    private static let part = PartialBody(offset: 100, total: 1000, validator: .etag("\"v1\""))

    private func answer(
        _ status: Int, _ headers: [(String, String)] = [], to part: PartialBody? = part
    ) -> ResumeAnswer {
        ResumeAnswer(
            part: part, head: ResponseHead(status: status, headers: headers.map { TransferHeader($0.0, $0.1) }))
    }

    private func partial(_ range: String, _ more: (String, String)..., etag: String = "\"v1\"") -> ResumeAnswer {
        answer(206, [("content-range", range), ("ETag", etag)] + more)
    }

    @Test func isAppendedWhenItStartsWhereWeStand() {
        #expect(partial("bytes 100-999/1000") == .take(from: 100))
        #expect(partial("bytes 100-499/1000", ("Content-Length", "400")) == .take(from: 100))
    }

    @Test func mayTellATotalThatWasNotKnown() {
        let part = PartialBody(offset: 100, total: nil, validator: .etag("\"v1\""))
        #expect(
            answer(206, [("Content-Range", "bytes 100-999/1000"), ("ETag", "\"v1\"")], to: part) == .take(from: 100))
        #expect(answer(206, [("Content-Range", "bytes 100-999/*"), ("ETag", "\"v1\"")], to: part) == .take(from: 100))
    }

    @Test func overwritesWhenItStartsEarlier() {
        #expect(partial("bytes 40-999/1000") == .take(from: 40))
        #expect(partial("bytes 0-999/1000") == .take(from: 0))
    }

    @Test(arguments: [
        "bytes 101-999/1000", "bytes 100-999/1001", "bytes 100-999/*", "bytes */1000", "bytes 100-1000/1000",
        "bytes 999-100/1000",
        "items 100-999/1000", "bytes 100-/1000", "bytes -100-999/1000", "bytes 100-999", "", "bytes 1e2-999/1000",
    ])
    func startsOverWhenTheRangeIsWrong(_ range: String) {
        #expect(partial(range) == .startOver)
    }

    @Test func startsOverWhenThePieceIsNotOfOurBody() {
        #expect(partial("bytes 100-999/1000", etag: "\"v2\"") == .startOver)
        #expect(partial("bytes 100-999/1000", etag: "W/\"v1\"") == .startOver)
        #expect(answer(206, [("Content-Range", "bytes 100-999/1000")]) == .startOver)
        #expect(answer(206) == .startOver)
        #expect(partial("bytes 100-999/1000", ("Content-Encoding", "gzip")) == .startOver)
        #expect(partial("bytes 100-999/1000", ("Content-Type", "multipart/byteranges; boundary=x")) == .startOver)
        #expect(partial("bytes 100-999/1000", ("Content-Length", "899")) == .startOver)
        #expect(answer(206, [("Content-Range", "bytes 0-999/1000")], to: nil) == .startOver)
    }

    @Test func isTheWholeBodyWithTwoHundred() {
        #expect(answer(200) == .takeWhole)
        #expect(answer(200, to: nil) == .takeWhole)
    }

    @Test(arguments: [304, 412]) func startsOverWhenTheConditionFailed(_ status: Int) {
        #expect(answer(status) == .startOver)
        #expect(answer(status, to: nil) == .notInTable)
    }

    @Test func finishesWhenTheServerHasNoMoreThanWe() {
        let whole = PartialBody(offset: 1000, total: 1000, validator: .etag("\"v1\""))
        #expect(answer(416, [("Content-Range", "bytes */1000")], to: whole) == .finish)
        #expect(answer(416, [("Content-Range", "bytes */1000"), ("ETag", "\"v1\"")], to: whole) == .finish)
        let unknown = PartialBody(offset: 1000, total: nil, validator: .etag("\"v1\""))
        #expect(answer(416, [("Content-Range", "bytes */1000")], to: unknown) == .finish)
    }

    @Test func startsOverWithAnyOtherUnsatisfiableRange() {
        let whole = PartialBody(offset: 1000, total: 1000, validator: .etag("\"v1\""))
        #expect(answer(416, [("Content-Range", "bytes */900")], to: whole) == .startOver)
        #expect(answer(416, [("Content-Range", "bytes */1100")], to: whole) == .startOver)
        #expect(answer(416, [], to: whole) == .startOver)
        #expect(answer(416, [("Content-Range", "nonsense")], to: whole) == .startOver)
        #expect(answer(416, [("Content-Range", "bytes */1000"), ("ETag", "\"v2\"")], to: whole) == .startOver)
        #expect(answer(416, [("Content-Range", "bytes */1000")]) == .startOver)
        #expect(answer(416, [], to: nil) == .notInTable)
    }

    @Test func leavesOtherStatusesToTheClasses() {
        for status in [301, 401, 404, 429, 500, 503] { #expect(answer(status) == .notInTable) }
    }

    @Test func validatorsAreStrongOrNone() {
        func validator(_ headers: (String, String)...) -> BodyValidator? {
            ResponseHead(status: 200, headers: headers.map { TransferHeader($0.0, $0.1) }).validator
        }
        let (early, late) = ("Sun, 06 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:50:37 GMT")
        #expect(validator(("etag", "\"a\"")) == .etag("\"a\""))
        #expect(validator(("ETag", "W/\"a\""), ("Last-Modified", early), ("Date", late)) == nil)
        #expect(validator(("ETag", "a")) == nil)
        #expect(validator(("ETag", "\"")) == nil)
        #expect(validator(("Last-Modified", early), ("Date", late)) == .lastModified(early))
        #expect(validator(("Last-Modified", early), ("Date", early)) == nil)
        #expect(validator(("Last-Modified", early)) == nil)
        #expect(validator() == nil)
    }
}
