import TestSupport
import Testing

@testable import ResourceLoader

@Suite("A failure's class", .takingTurns, .timeLimit(.minutes(10)))
struct TransfersClassTests {
    struct Row: CustomTestStringConvertible {
        let name: String
        let evidence: FailureEvidence
        let expected: FailureClass?
        var testDescription: String { name }
    }

    static let rows: [Row] =
        FailureEvidence.Transport.allCases.flatMap { transport in
            [
                Row(
                    name: "\(transport) while the path is offline",
                    evidence: FailureEvidence(transport: transport, isPathOnline: false), expected: .offline),
                Row(
                    name: "\(transport) while the path is offline and others fail",
                    evidence: FailureEvidence(transport: transport, isPathOnline: false, othersFail: true),
                    expected: .offline),
            ]
        } + [
            Row(
                name: "resolving fails to two hosts", evidence: .failing(.nameNotFound, others: true),
                expected: .offlineSuspected),
            Row(
                name: "connecting fails to two hosts", evidence: .failing(.noConnection, others: true),
                expected: .offlineSuspected),
            Row(name: "two hosts time out", evidence: .failing(.timedOut, others: true), expected: .offlineSuspected),
            Row(
                name: "a lost connection is no failure to connect", evidence: .failing(.connectionLost, others: true),
                expected: .interrupted),
            Row(name: "TLS is no failure to connect", evidence: .failing(.tls, others: true), expected: .insecure),
            Row(name: "one name not found", evidence: .failing(.nameNotFound), expected: .hostNotFound),
            Row(name: "refused", evidence: .failing(.noConnection), expected: .refused),
            Row(name: "timed out", evidence: .failing(.timedOut), expected: .timeout),
            Row(name: "lost", evidence: .failing(.connectionLost), expected: .interrupted),
            Row(
                name: "cut short", evidence: FailureEvidence(status: 200, receivedBytes: 5, expectedBytes: 6),
                expected: .interrupted),
            Row(
                name: "too long", evidence: FailureEvidence(status: 200, receivedBytes: 7, expectedBytes: 6),
                expected: .corrupt),
            Row(name: "TLS", evidence: .failing(.tls), expected: .insecure),
            Row(
                name: "HTML for a picture", evidence: FailureEvidence(status: 200, isHTML: true, expects: .picture),
                expected: .captivePortal),
            Row(name: "HTML where it may be", evidence: FailureEvidence(status: 200, isHTML: true), expected: nil),
            Row(
                name: "another host's HTML", evidence: FailureEvidence(status: 200, isHTML: true, leftHost: true),
                expected: .captivePortal),
            Row(name: "another host's data", evidence: FailureEvidence(status: 200, leftHost: true), expected: nil),
            Row(name: "511", evidence: FailureEvidence(status: 511), expected: .captivePortal),
            Row(
                name: "an HTML error page is an error",
                evidence: FailureEvidence(status: 404, isHTML: true, expects: .picture), expected: .missing),
            Row(
                name: "cancelled", evidence: FailureEvidence(transport: .timedOut, isCancelled: true),
                expected: .cancelled),
            Row(
                name: "a whole body", evidence: FailureEvidence(status: 200, receivedBytes: 6, expectedBytes: 6),
                expected: nil),
        ]

    @Test(arguments: rows) func followsFromTheEvidence(_ row: Row) {
        #expect(FailureClass(row.evidence) == row.expected)
    }

    @Test(arguments: [
        (401, FailureClass.unauthorized), (403, .unauthorized), (404, .missing), (410, .missing), (408, .server),
        (425, .server), (429, .server), (500, .server), (502, .server), (503, .server), (504, .server), (599, .server),
        (400, .rejected), (405, .rejected), (416, .rejected), (304, .rejected), (301, .rejected), (600, .rejected),
    ])
    func followsFromTheStatus(_ status: Int, _ expected: FailureClass) {
        #expect(FailureClass(FailureEvidence(status: status)) == expected)
    }

    @Test(arguments: [
        (FailureEvidence.Verdict.tooManyBytes, FailureClass.tooLarge), (.tooManyPixels, .tooLarge),
        (.digestMismatch, .corrupt), (.lengthMismatch, .corrupt), (.emptyBody, .corrupt), (.undecodableBody, .corrupt),
        (.unusableRange, .corrupt), (.notStored, .storage), (.diskFull, .storage), (.insecureRedirect, .insecure),
        (.unusableRedirect, .rejected), (.unusableAnswer, .rejected),
    ])
    func followsFromTheVerdict(_ verdict: FailureEvidence.Verdict, _ expected: FailureClass) {
        #expect(FailureClass(FailureEvidence(verdict: verdict, status: 200)) == expected)
    }

    @Test func missingIsRememberedForFiveMinutes() {
        for failure in FailureClass.allCases {
            #expect(failure.remembered == (failure == .missing ? .seconds(300) : nil))
        }
    }
}

extension FailureEvidence {
    fileprivate static func failing(_ transport: Transport, others: Bool = false) -> FailureEvidence {
        FailureEvidence(transport: transport, othersFail: others)
    }
}

@Suite("A retry", .takingTurns, .timeLimit(.minutes(10)))
struct TransfersRetryTests {
    /// Decides once more with everything at its plainest.
    private func decide(
        _ ledger: inout RetryLedger, _ failure: FailureClass, position: Int64 = 0, floor: Duration = .zero,
        chance: Double = 0.5, mayRepeat: Bool = true, roomWouldHelp: Bool = false
    ) -> RetryDecision {
        var budget = RetryBudget(at: .zero)
        return ledger.decide(
            failure, position: position, floor: floor, chance: chance, mayRepeat: mayRepeat,
            roomWouldHelp: roomWouldHelp, budget: &budget, at: .zero)
    }

    @Test(arguments: [FailureClass.insecure, .unauthorized, .missing, .tooLarge, .cancelled, .rejected])
    func isNotMadeForWhatTryingAgainWouldNotChange(_ failure: FailureClass) {
        var ledger = RetryLedger()
        #expect(decide(&ledger, failure) == .giveUp)
    }

    @Test(arguments: [FailureClass.refused, .timeout, .server, .interrupted])
    func isMadeFourTimesSoThatFiveTriesAreMadeInAll(_ failure: FailureClass) {
        var ledger = RetryLedger()
        let decisions = (0..<5).map { _ in decide(&ledger, failure) }
        #expect(
            decisions == [
                .retry(after: .milliseconds(250)), .retry(after: .milliseconds(500)), .retry(after: .seconds(1)),
                .retry(after: .seconds(2)), .giveUp,
            ])
    }

    @Test func isNeverMoreThanThirtySecondsAway() {
        var ledger = RetryLedger()
        for _ in 0..<4 { _ = decide(&ledger, .offlineSuspected) }
        let decisions = (0..<4).map { _ in decide(&ledger, .offlineSuspected) }
        #expect(
            decisions == [
                .retry(after: .seconds(16)), .retry(after: .seconds(30)), .retry(after: .seconds(30)),
                .retry(after: .seconds(30)),
            ])
    }

    @Test func comesAnywhereBetweenZeroAndTheStep() {
        for chance in [0.0, 0.25, 0.999] {
            var ledger = RetryLedger()
            #expect(decide(&ledger, .server, chance: chance) == .retry(after: .milliseconds(500) * chance))
        }
    }

    @Test func waitsAtLeastAsLongAsTheServerAsks() {
        var ledger = RetryLedger()
        #expect(decide(&ledger, .server, floor: .seconds(7), chance: 0) == .retry(after: .seconds(7)))
    }

    @Test func ofANameNotFoundIsMadeTwice() {
        var ledger = RetryLedger()
        let decisions = (0..<3).map { _ in decide(&ledger, .hostNotFound, chance: 0) }
        #expect(decisions == [.retry(after: .zero), .retry(after: .zero), .giveUp])
    }

    @Test func countsAgainFromTheStartAfterProgress() {
        var ledger = RetryLedger()
        for _ in 0..<4 { #expect(decide(&ledger, .interrupted, position: 10) != .giveUp) }
        #expect(decide(&ledger, .interrupted, position: 11) == .retry(after: .milliseconds(250)))
        for _ in 0..<3 { #expect(decide(&ledger, .interrupted, position: 11) != .giveUp) }
        #expect(decide(&ledger, .interrupted, position: 11) == .giveUp)
    }

    @Test func thatFallsBackBehindWhatWasReachedIsNoProgress() {
        var ledger = RetryLedger()
        _ = decide(&ledger, .interrupted, position: 100)
        for _ in 0..<3 { #expect(decide(&ledger, .interrupted, position: 50) != .giveUp) }
        #expect(decide(&ledger, .interrupted, position: 50) == .giveUp)
    }

    @Test func waitsForThePathWhenItIsOfflineAndCountsNothing() {
        var ledger = RetryLedger()
        for _ in 0..<20 { #expect(decide(&ledger, .offline) == .whenOnline) }
        #expect(decide(&ledger, .server, chance: 0) == .retry(after: .zero))
    }

    @Test func probesAPortalForAMinuteAndThenTells() {
        var ledger = RetryLedger()
        let decisions = (0..<7).map { _ in decide(&ledger, .captivePortal) }
        #expect(decisions == [1, 2, 4, 8, 16, 30].map { .retry(after: .seconds($0)) } + [.giveUp])
    }

    @Test func startsADamagedBodyOverOnce() {
        var ledger = RetryLedger()
        #expect(decide(&ledger, .corrupt) == .startOver)
        #expect(decide(&ledger, .corrupt) == .giveUp)
        let again = ledger.startsOver()
        #expect(!again)
    }

    @Test func makesRoomOnceWhereThatWouldHelp() {
        var ledger = RetryLedger()
        #expect(decide(&ledger, .storage) == .giveUp)
        #expect(decide(&ledger, .storage, roomWouldHelp: true) == .makeRoom)
        #expect(decide(&ledger, .storage, roomWouldHelp: true) == .giveUp)
    }

    @Test func afterAChangeOfPathIsFreeOnce() {
        var ledger = RetryLedger()
        ledger.hasFreeAttempt = true
        #expect(decide(&ledger, .timeout) == .retry(after: .zero))
        #expect(decide(&ledger, .timeout) == .retry(after: .milliseconds(250)))
    }

    @Test func isNotMadeForWhatMustNotBeSentTwice() {
        var ledger = RetryLedger()
        #expect(decide(&ledger, .interrupted, mayRepeat: false) == .giveUp)
        #expect(decide(&ledger, .offline, mayRepeat: false) == .giveUp)
    }

    @Test func budgetOfAHostRunsOutAndRefills() {
        var budget = RetryBudget(at: .seconds(100))
        let spent = [100, 100, 100, 100, 100, 100, 100, 100, 100, 100, 104, 105, 105].map {
            budget.spend(at: .seconds($0))
        }
        #expect(spent == [Bool](repeating: true, count: 10) + [false, true, false])
        budget.succeeded()
        let afterSuccess = budget.spend(at: .seconds(106))
        #expect(afterSuccess)
    }

    @Test func budgetEndsRetriesButNotProgress() {
        var budget = RetryBudget(at: .zero)
        while budget.spend(at: .zero) {}
        var ledger = RetryLedger()
        let still = ledger.decide(.interrupted, position: 0, chance: 0, budget: &budget, at: .zero)
        #expect(still == .giveUp)
        let moving = ledger.decide(.interrupted, position: 1, chance: 0, budget: &budget, at: .zero)
        #expect(moving == .retry(after: .zero))
    }
}

@Suite("Retry-After", .takingTurns, .timeLimit(.minutes(10)))
struct TransfersRetryAfterTests {
    @Test(arguments: [
        ("0", Duration.zero), ("7", .seconds(7)), (" 120 ", .seconds(120)), ("121", .seconds(120)),
        ("99999999999999999999999", .seconds(120)),
        ("Sun, 06 Nov 1994 08:49:47 GMT", .seconds(10)), ("Sunday, 06-Nov-94 08:49:47 GMT", .seconds(10)),
        ("Sun Nov  6 08:49:47 1994", .seconds(10)), ("Sun, 06 Nov 1994 08:49:27 GMT", .zero),
        ("Mon, 07 Nov 1994 08:49:37 GMT", .seconds(120)),
    ])
    func isReadInEveryForm(_ text: String, _ expected: Duration) {
        #expect(RetryAfter.delay(text, now: 784_111_777) == expected)
    }

    @Test(arguments: [
        "", "-1", "1.5", "soon", "12 parsecs", "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT",
    ])
    func thatMakesNoSenseIsIgnored(_ text: String) {
        #expect(RetryAfter.delay(text, now: 0) == nil)
    }

    @Test(arguments: [
        ("Thu, 01 Jan 1970 00:00:00 GMT", Int64(0)), ("Sat, 01 Mar 2000 00:00:00 GMT", 951_868_800),
        ("Thu, 29 Feb 2024 12:00:00 GMT", 1_709_208_000), ("Thursday, 01-Jan-70 00:00:00 GMT", 0),
        ("Friday, 01-Jan-69 00:00:00 GMT", 3_124_224_000),
    ])
    func datesAreThoseOfTheCalendar(_ text: String, _ expected: Int64) {
        #expect(HTTPDate.seconds(text) == expected)
    }
}
