import TestSupport
import Testing

@testable import Reachability

@Suite(.takingTurns) struct HostTrackerTests {
    private let one = IPAddress(10, 0, 0, 1)
    private let two = IPAddress(10, 0, 0, 2)
    private let online = NetworkPath(status: .wifi)
    private let costly = NetworkPath(status: .wwan)
    private let offline = NetworkPath(status: .offline, reason: .noCarrier)

    private func tracker(retrying interval: Duration? = .seconds(30)) -> HostTracker {
        HostTracker(timeout: .seconds(5), retryInterval: interval)
    }

    @Test func asksAtTheFirstNewsAndHasNothingToSayYet() {
        var tracker = tracker()
        let action = tracker.take(.news(online))
        #expect(action.question == 1)
        #expect(action.alarm == .after(.seconds(5)))
        #expect(tracker.path == nil)
    }

    @Test func takesTheFirstAddressWithAWayOut() {
        var tracker = tracker()
        _ = tracker.take(.news(online))
        #expect(tracker.take(.answer([one, two], question: 1)).alarm == .never)
        #expect(tracker.addresses == [one, two])
        #expect(tracker.path == nil)
        _ = tracker.take(.path(two, costly))
        #expect(tracker.path == nil, "the first address may still have a way out")
        _ = tracker.take(.path(one, offline))
        #expect(tracker.path == costly)
        _ = tracker.take(.path(one, online))
        #expect(tracker.path == online)
    }

    @Test func reportsTheAddressThatGotFurthestWhereNoneHasAWayOut() {
        var tracker = tracker()
        _ = tracker.take(.news(online))
        _ = tracker.take(.answer([one, two], question: 1))
        _ = tracker.take(.path(one, NetworkPath(status: .offline, reason: .unreachableRoute)))
        _ = tracker.take(.path(two, NetworkPath(status: .offline, reason: .noRoute)))
        #expect(tracker.path?.reason == .unreachableRoute)
    }

    @Test func callsANameWithoutAddressesUnresolved() {
        var tracker = tracker()
        _ = tracker.take(.news(online))
        let action = tracker.take(.answer([], question: 1))
        #expect(action.alarm == .after(.seconds(30)))
        #expect(tracker.path == NetworkPath(status: .offline, reason: .unresolvedName))
    }

    @Test func givesTheMachinesReasonWhereNothingHasAWayOut() {
        var tracker = tracker()
        _ = tracker.take(.news(offline))
        _ = tracker.take(.answer([], question: 1))
        #expect(tracker.path == offline)
    }

    @Test func asksAgainAfterAFailureWithoutNews() {
        var tracker = tracker()
        _ = tracker.take(.news(online))
        _ = tracker.take(.answer([], question: 1))
        #expect(tracker.take(.alarm).question == 2)
    }

    @Test func neverAsksAgainAboutNonsense() {
        var tracker = tracker(retrying: nil)
        _ = tracker.take(.news(online))
        #expect(tracker.take(.answer([], question: 1)).alarm == .never)
    }

    @Test func givesUpInTimeAndUsesTheLateAnswer() {
        var tracker = tracker()
        _ = tracker.take(.news(online))
        let action = tracker.take(.alarm)
        #expect(action.question == nil)
        #expect(action.alarm == .after(.seconds(30)))
        #expect(tracker.path?.reason == .unresolvedName)
        _ = tracker.take(.answer([one], question: 1))
        _ = tracker.take(.path(one, online))
        #expect(tracker.path == online)
    }

    @Test func keepsTheOldAddressesWhileItAsksAgain() {
        var tracker = tracker()
        _ = tracker.take(.news(online))
        _ = tracker.take(.answer([one], question: 1))
        _ = tracker.take(.path(one, online))
        #expect(tracker.take(.news(costly)).question == 2)
        _ = tracker.take(.path(one, costly))
        #expect(tracker.path == costly)
        _ = tracker.take(.answer([two], question: 2))
        #expect(tracker.addresses == [two])
        #expect(tracker.path == nil)
    }

    @Test func hasTwoQuestionsOpenAtMostAndOwesTheRest() {
        var tracker = tracker()
        #expect(tracker.take(.news(online)).question == 1)
        #expect(tracker.take(.news(costly)).question == 2)
        #expect(tracker.take(.news(online)).question == nil)
        #expect(tracker.take(.news(costly)).question == nil)
        #expect(tracker.take(.answer([one], question: 1)).question == 3)
        #expect(tracker.take(.answer([one], question: 2)).question == nil)
    }

    @Test func doesNotLetAnOldAnswerReplaceANewerOne() {
        var tracker = tracker()
        _ = tracker.take(.news(online))
        _ = tracker.take(.news(costly))
        _ = tracker.take(.answer([two], question: 2))
        _ = tracker.take(.answer([one], question: 1))
        #expect(tracker.addresses == [two])
    }

    @Test func doesNotTakeAnOldFailureForTheVerdictOfANewerQuestion() {
        var tracker = tracker()
        _ = tracker.take(.news(online))
        _ = tracker.take(.news(costly))
        _ = tracker.take(.answer([], question: 1))
        #expect(tracker.path == nil)
        _ = tracker.take(.answer([], question: 2))
        #expect(tracker.path?.reason == .unresolvedName)
    }

    @Test func doesNotWatchTheSameAddressTwiceNorHundreds() {
        var tracker = tracker()
        _ = tracker.take(.news(online))
        let many = (0..<100).map { IPAddress(10, 0, 1, UInt8($0)) }
        _ = tracker.take(.answer([one, one] + many, question: 1))
        #expect(tracker.addresses.count == HostTracker.mostAddresses)
        #expect(tracker.addresses.prefix(2) == [one, many[0]])
    }

    @Test func ignoresPathsToAddressesOfBefore() {
        var tracker = tracker()
        _ = tracker.take(.news(online))
        _ = tracker.take(.answer([one], question: 1))
        _ = tracker.take(.path(two, online))
        #expect(tracker.path == nil)
    }
}
