import TestSupport
import Testing

@testable import ResourceLoader

@Suite("The reaction of a transfer to the network", .takingTurns, .timeLimit(.minutes(10)))
struct TransfersReactionTests {
    private let kib: Int64 = 1024

    private func reaction(
        _ event: NetworkEvent, _ kind: TransferKind, _ activity: ReactionInput.Activity = .running,
        costly: Bool = false,
        rerouted: Bool = false, always: Bool = false, budget: Bool = true, remaining: Int64? = nil, total: Int64? = nil
    ) -> NetworkReaction {
        ReactionInput(
            event: event, kind: kind, activity: activity, isCostly: costly, isRerouted: rerouted,
            alwaysOriginal: always,
            budgetAllows: budget, remaining: remaining, total: total
        ).reaction
    }

    // To expensive, constrained, roaming

    @Test func pausesAnOriginalOnACostlyPath() {
        #expect(reaction(.becameCostly, .original, costly: true) == .wait(.unmetered))
        #expect(
            reaction(.becameCostly, .original, costly: true, remaining: 900 * kib, total: 1000 * kib)
                == .wait(.unmetered))
        #expect(reaction(.becameCostly, .original, .queued, costly: true) == .wait(.unmetered))
    }

    @Test func finishesAnOriginalThatIsNearlyDoneIfTheBudgetAllows() {
        #expect(reaction(.becameCostly, .original, costly: true, remaining: 64 * kib, total: 100 * kib) == .proceed)
        #expect(
            reaction(.becameCostly, .original, costly: true, remaining: 64 * kib + 1, total: 100 * kib)
                == .wait(.unmetered))
        #expect(reaction(.becameCostly, .original, costly: true, remaining: 100 * kib, total: 1000 * kib) == .proceed)
        #expect(
            reaction(.becameCostly, .original, costly: true, remaining: 100 * kib + 1, total: 1000 * kib)
                == .wait(.unmetered))
        #expect(
            reaction(.becameCostly, .original, costly: true, budget: false, remaining: 1, total: 1000 * kib)
                == .wait(.unmetered))
        #expect(reaction(.becameCostly, .original, costly: true, remaining: 1, total: nil) == .wait(.unmetered))
    }

    @Test func goesOnWithAnOriginalThatIsAlwaysWanted() {
        #expect(reaction(.becameCostly, .original, costly: true, always: true) == .proceed)
        #expect(reaction(.becameCostly, .original, costly: true, always: true, budget: false) == .wait(.unmetered))
    }

    @Test func goesOnWithAThumbnailAndPutsAPrefetchOff() {
        #expect(reaction(.becameCostly, .thumbnail, costly: true) == .proceed)
        #expect(reaction(.becameCostly, .prefetch, costly: true) == .wait(.unmetered))
        #expect(reaction(.becameCostly, .prefetch, costly: true, always: true) == .wait(.unmetered))
    }

    @Test func movesOverWhatGoesOnWhenTheRouteChangedToo() {
        #expect(reaction(.becameCostly, .thumbnail, costly: true, rerouted: true) == .restart(isFree: false))
        #expect(
            reaction(.becameCostly, .original, costly: true, rerouted: true, always: true) == .restart(isFree: true))
        #expect(reaction(.becameCostly, .original, costly: true, rerouted: true) == .wait(.unmetered))
    }

    // To unmetered, stable

    @Test(arguments: TransferKind.allCases) func resumesOnlyWhenTheFreePathIsStable(_ kind: TransferKind) {
        #expect(reaction(.becameUnmetered, kind, .waitingForUnmetered) == .proceed)
        #expect(reaction(.unmeteredIsStable, kind, .waitingForUnmetered) == .resume)
        #expect(reaction(.unmeteredIsStable, kind, .running) == .proceed)
        #expect(reaction(.becameUnmetered, kind, .running) == .proceed)
    }

    @Test func movesOverToTheFreePathAtOnce() {
        #expect(reaction(.becameUnmetered, .original, rerouted: true) == .restart(isFree: true))
    }

    // To offline and back

    @Test(arguments: TransferKind.allCases) func suspendsEverythingOffline(_ kind: TransferKind) {
        for activity in ReactionInput.Activity.allCases {
            #expect(reaction(.wentOffline, kind, activity) == .wait(.online))
        }
    }

    @Test(arguments: TransferKind.allCases) func resumesWithJitterWhenItIsBack(_ kind: TransferKind) {
        #expect(reaction(.cameOnline, kind, .waitingForOnline) == .resumeWithJitter)
    }

    @Test func comesBackToACostlyPathWithThumbnailsOnly() {
        #expect(reaction(.cameOnline, .thumbnail, .waitingForOnline, costly: true) == .resumeWithJitter)
        #expect(reaction(.cameOnline, .original, .waitingForOnline, costly: true) == .wait(.unmetered))
        #expect(reaction(.cameOnline, .original, .waitingForOnline, costly: true, always: true) == .resumeWithJitter)
        #expect(reaction(.cameOnline, .prefetch, .waitingForOnline, costly: true) == .wait(.unmetered))
    }

    // Another path, same kind

    @Test func abortsAndResumesOnAnotherPath() {
        #expect(reaction(.rerouted, .original, rerouted: true) == .restart(isFree: true))
        #expect(reaction(.rerouted, .thumbnail, rerouted: true) == .restart(isFree: false))
        #expect(reaction(.rerouted, .prefetch, rerouted: true) == .requeue)
        #expect(reaction(.rerouted, .original, .queued, rerouted: true) == .proceed)
        #expect(reaction(.rerouted, .original, .waitingForUnmetered, rerouted: true) == .proceed)
    }

    // Preference changed

    @Test func followsAChangedPreferenceLikeAChangedPath() {
        #expect(reaction(.allowanceChanged, .original, costly: true) == .wait(.unmetered))
        #expect(reaction(.allowanceChanged, .original, .waitingForUnmetered, costly: true, always: true) == .resume)
        #expect(reaction(.allowanceChanged, .original, .waitingForUnmetered, costly: true) == .proceed)
        #expect(reaction(.allowanceChanged, .original, .waitingForUnmetered, costly: false, always: true) == .proceed)
        #expect(reaction(.allowanceChanged, .original, costly: false) == .proceed)
        #expect(reaction(.allowanceChanged, .thumbnail, costly: true) == .proceed)
    }

    @Test(arguments: TransferKind.allCases) func lingersWhenNobodyWaits(_ kind: TransferKind) {
        #expect(reaction(.abandoned, kind) == .linger)
    }

    @Test(arguments: NetworkEvent.allCases) func letsRunOnWhatMustNotBeSentTwice(_ event: NetworkEvent) {
        for isCostly in [true, false] {
            for isRerouted in [true, false] {
                let input = ReactionInput(
                    event: event, kind: .prefetch, mayBeSent: false, isCostly: isCostly, isRerouted: isRerouted)
                #expect(input.reaction == (event == .abandoned ? .linger : .proceed))
            }
        }
    }

    @Test func neverSpendsMoreBecauseAFactGotWorse() {
        // Over the whole input space: costlier, over budget, or not wanted never turns a pause into going on.
        let goesOn: Set<NetworkReaction> = [
            .proceed, .resume, .resumeWithJitter, .restart(isFree: true), .restart(isFree: false),
        ]
        for event in [NetworkEvent.becameCostly, .cameOnline, .allowanceChanged] {
            for kind in TransferKind.allCases {
                for remaining in [Int64?.none, 1, 70_000, 1_000_000] {
                    let activity: ReactionInput.Activity = event == .cameOnline ? .waitingForOnline : .running
                    func spends(_ always: Bool, _ budget: Bool, _ costly: Bool) -> Bool {
                        goesOn.contains(
                            reaction(
                                event, kind, activity, costly: costly, always: always, budget: budget,
                                remaining: remaining,
                                total: 1_000_000))
                    }
                    for always in [true, false] {
                        #expect(!(spends(always, false, true) && !spends(always, true, true)))
                        #expect(!(spends(always, true, true) && !spends(always, true, false)))
                    }
                    #expect(!(spends(false, true, true) && !spends(true, true, true)))
                }
            }
        }
    }

    @Test func eventsAreReadFromTwoPaths() {
        let free = TransferPath(isOnline: true, link: .wifi, route: "a")
        var moved = free
        moved.route = "b"
        let expensive = TransferPath(isOnline: true, link: .wwan, isExpensive: true, route: "c")
        var roaming = expensive
        roaming.isRoaming = true
        let offline = TransferPath(isOnline: false)
        #expect(NetworkEvent(from: free, to: free) == nil)
        #expect(NetworkEvent(from: free, to: moved) == .rerouted)
        #expect(NetworkEvent(from: free, to: expensive) == .becameCostly)
        #expect(NetworkEvent(from: expensive, to: roaming) == .becameCostly)
        #expect(NetworkEvent(from: roaming, to: expensive) == .allowanceChanged)
        #expect(NetworkEvent(from: expensive, to: free) == .becameUnmetered)
        #expect(NetworkEvent(from: free, to: offline) == .wentOffline)
        #expect(NetworkEvent(from: offline, to: expensive) == .cameOnline)
        #expect(NetworkEvent(from: offline, to: TransferPath(isOnline: false, route: "x")) == nil)
    }

    @Test func alwaysOriginalCoversNeitherConstrainedNorRoaming() {
        let preferences = TransferPreferences(alwaysOriginal: true)
        #expect(preferences.wantsOriginals(on: TransferPath(isOnline: true, isExpensive: true)))
        #expect(!preferences.wantsOriginals(on: TransferPath(isOnline: true, isConstrained: true)))
        #expect(!preferences.wantsOriginals(on: TransferPath(isOnline: true, isRoaming: true)))
        let roams = TransferPreferences(alwaysOriginal: true, allowsRoaming: true)
        #expect(roams.wantsOriginals(on: TransferPath(isOnline: true, isExpensive: true, isRoaming: true)))
        #expect(!TransferPreferences().wantsOriginals(on: TransferPath(isOnline: true, isExpensive: true)))
    }

    @Test func unknownSizesAreReckonedAtTheReserve() {
        let preferences = TransferPreferences(remainingBudget: 1000, reserve: 1001)
        #expect(!preferences.budgetAllows(nil))
        #expect(preferences.budgetAllows(1000))
        #expect(!preferences.budgetAllows(1001))
        #expect(TransferPreferences().budgetAllows(.max))
    }
}

@Suite("After an outage", .takingTurns, .timeLimit(.minutes(10)))
struct TransfersOutageTests {
    @Test func requestsGoOutByOneTwoFourSix() {
        var ramp = OutageRamp(slots: 6)
        #expect(ramp.limit == 6)
        ramp.outage()
        var limits = [ramp.limit]
        for _ in 0..<8 {
            ramp.answered()
            limits.append(ramp.limit)
        }
        #expect(limits == [1, 2, 2, 4, 4, 4, 4, 6, 6])
    }

    @Test func aSecondOutageBeginsAgain() {
        var ramp = OutageRamp(slots: 6)
        ramp.outage()
        ramp.answered()
        ramp.outage()
        #expect(ramp.limit == 1)
    }

    @Test func twoHostsWithinTenSecondsAreSuspicious() {
        var suspicion = OutageSuspicion()
        suspicion.failed("a", at: .seconds(1))
        #expect(!suspicion.othersFail(than: "a", at: .seconds(2)))
        #expect(suspicion.othersFail(than: "b", at: .seconds(11)))
        #expect(!suspicion.othersFail(than: "b", at: .seconds(12)))
        suspicion.succeeded()
        #expect(!suspicion.othersFail(than: "b", at: .seconds(2)))
    }
}
