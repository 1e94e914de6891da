import TestSupport
import Testing

@testable import ResourceLoader

@Suite(.takingTurns) struct ContentMachineTests {
    typealias State = ContentState<String>

    /// A machine and the time, in milliseconds, for tests that read like a story.
    struct Story {
        var machine = ContentMachine<String>()
        var effects: [ContentEffect] = []

        mutating func at(_ milliseconds: Int, _ event: ContentEvent<String>) -> State {
            effects = machine.receive(event, at: .milliseconds(milliseconds))
            return machine.state
        }
    }

    @Test func keepsContentUntilLoadingHasLastedWhenNothingIsThereAnyMore() {
        var story = Story()
        _ = story.at(0, .load)
        _ = story.at(10, .succeeded(generation: 1, "cat"))
        _ = story.at(100, .load)
        #expect(story.at(300, .tick) == .content("cat", refresh: .loading))
        #expect(story.at(400, .succeeded(generation: 2, nil)) == .content("cat", refresh: .loading))
        #expect(story.at(800, .tick) == .empty)
    }

    @Test func showsAQuickSuccessWithoutLoading() {
        var story = Story()
        #expect(story.at(0, .load) == .idle)
        #expect(story.effects == [.start(generation: 1), .wake(at: .milliseconds(200))])
        #expect(story.at(199, .succeeded(generation: 1, "cat")) == .content("cat", refresh: .none))
        #expect(story.at(200, .tick) == .content("cat", refresh: .none))
    }

    @Test func showsLoadingAfter200MillisecondsAndThenFor500() {
        var story = Story()
        _ = story.at(0, .load)
        #expect(story.at(199, .tick) == .idle)
        #expect(story.at(200, .tick) == .loading(previous: nil))
        #expect(story.at(250, .succeeded(generation: 1, "cat")) == .loading(previous: nil))
        #expect(story.effects == [.wake(at: .milliseconds(700))])
        #expect(story.at(699, .tick) == .loading(previous: nil))
        #expect(story.at(700, .tick) == .content("cat", refresh: .none))
    }

    @Test func endsLoadingAtOnceWhenItHasLastedLongEnough() {
        var story = Story()
        _ = story.at(0, .load)
        _ = story.at(200, .tick)
        #expect(story.at(700, .succeeded(generation: 1, "cat")) == .content("cat", refresh: .none))
    }

    @Test func countsFromWhenLoadingWasReallyShown() {
        var story = Story()
        _ = story.at(0, .load)
        #expect(story.at(900, .tick) == .loading(previous: nil))
        #expect(story.at(1000, .failed(generation: 1, .timeout)) == .loading(previous: nil))
        #expect(story.effects == [.wake(at: .milliseconds(1400))])
        #expect(story.at(1400, .tick) == .failed(.timeout, previous: nil, retry: .offered))
    }

    @Test func tellsOfNoDataOnlyAfterASuccess() {
        var story = Story()
        _ = story.at(0, .load)
        #expect(story.at(10, .succeeded(generation: 1, nil)) == .empty)
        #expect(story.at(20, .load) == .empty)
        #expect(story.at(30, .failed(generation: 2, .missing)) == .failed(.missing, previous: nil, retry: .offered))
    }

    @Test func neverReplacesContentByLoadingOrAnError() {
        var story = Story()
        _ = story.at(0, .load)
        _ = story.at(10, .succeeded(generation: 1, "cat"))
        #expect(story.at(1000, .load) == .content("cat", refresh: .none))
        #expect(story.at(1200, .tick) == .content("cat", refresh: .loading))
        #expect(story.at(1300, .failed(generation: 2, .server)) == .content("cat", refresh: .loading))
        #expect(story.at(1700, .tick) == .content("cat", refresh: .failed(.server, retry: .offered)))
        #expect(story.at(2000, .load) == .content("cat", refresh: .failed(.server, retry: .underway)))
        #expect(
            story.at(2010, .failed(generation: 3, .offline))
                == .content("cat", refresh: .offline(suspected: false, retry: .automatic)))
    }

    @Test func showsBetterContentAtOnceWhileLoadingRidesAlong() {
        var story = Story()
        _ = story.at(0, .load)
        #expect(story.at(50, .arrived(generation: 1, "thumbnail")) == .content("thumbnail", refresh: .none))
        #expect(story.at(200, .tick) == .content("thumbnail", refresh: .loading))
        #expect(story.at(300, .succeeded(generation: 1, "original")) == .content("original", refresh: .loading))
        #expect(story.at(700, .tick) == .content("original", refresh: .none))
    }

    @Test func keepsTheThumbnailWhenTheOriginalFails() {
        var story = Story()
        _ = story.at(0, .load)
        _ = story.at(200, .tick)
        #expect(story.at(250, .arrived(generation: 1, "thumbnail")) == .loading(previous: nil))
        #expect(story.at(300, .failed(generation: 1, .interrupted)) == .loading(previous: nil))
        #expect(story.at(700, .tick) == .content("thumbnail", refresh: .failed(.interrupted, retry: .automatic)))
    }

    @Test(arguments: FailureClass.allCases) func namesEachFailure(_ failure: FailureClass) {
        var story = Story()
        _ = story.at(0, .load)
        let automatic: [FailureClass] = [.offline, .offlineSuspected, .interrupted]
        let retry: ContentRetry = automatic.contains(failure) ? .automatic : .offered
        let expected: State =
            switch failure {
            case .offline: .offline(previous: nil, suspected: false, retry: retry)
            case .offlineSuspected: .offline(previous: nil, suspected: true, retry: retry)
            case .cancelled: .idle
            default: .failed(failure, previous: nil, retry: retry)
            }
        #expect(story.at(10, .failed(generation: 1, failure)) == expected)
        _ = story.at(20, .connectionReturned)
        #expect(story.effects.contains(.start(generation: 2)) == automatic.contains(failure))
    }

    @Test func triesAgainOnceHoweverOftenItIsAsked() {
        var story = Story()
        _ = story.at(0, .load)
        _ = story.at(10, .failed(generation: 1, .offline))
        #expect(story.at(20, .load) == .offline(previous: nil, suspected: false, retry: .underway))
        #expect(story.effects.first == .start(generation: 2))
        for event in [ContentEvent<String>.load, .connectionReturned, .load] {
            _ = story.at(30, event)
            #expect(story.effects.isEmpty)
        }
        #expect(story.at(220, .tick) == .loading(previous: nil))
    }

    @Test func triesAgainWhenTheNetworkCameBackWhileItFailed() {
        var story = Story()
        _ = story.at(0, .load)
        _ = story.at(10, .connectionReturned)
        #expect(
            story.at(20, .failed(generation: 1, .offline))
                == .offline(previous: nil, suspected: false, retry: .underway))
        #expect(story.effects == [.start(generation: 2), .wake(at: .milliseconds(220))])
        #expect(
            story.at(30, .failed(generation: 2, .offline))
                == .offline(previous: nil, suspected: false, retry: .automatic))
        #expect(story.effects.isEmpty)
    }

    @Test func goesOnLoadingWhenTheNetworkComesBackBeforeAFailureIsShown() {
        var story = Story()
        _ = story.at(0, .load)
        _ = story.at(200, .tick)
        #expect(story.at(300, .failed(generation: 1, .interrupted)) == .loading(previous: nil))
        #expect(story.at(400, .connectionReturned) == .loading(previous: nil))
        #expect(story.effects == [.start(generation: 2)])
        #expect(story.at(700, .tick) == .loading(previous: nil))
        #expect(story.at(750, .succeeded(generation: 2, "cat")) == .content("cat", refresh: .none))
    }

    @Test func ignoresAndCountsReportsOfEarlierAttempts() {
        var story = Story()
        _ = story.at(0, .load)
        #expect(story.at(10, .bind(previous: nil)) == .idle)
        #expect(story.effects == [.cancel(generation: 1)])
        _ = story.at(20, .load)
        #expect(story.at(30, .succeeded(generation: 1, "cat")) == .idle)
        #expect(story.at(31, .arrived(generation: 1, "cat")) == .idle)
        #expect(story.at(32, .failed(generation: 1, .server)) == .idle)
        #expect(story.at(40, .succeeded(generation: 2, "dog")) == .content("dog", refresh: .none))
        #expect(story.at(50, .succeeded(generation: 2, "dog again")) == .content("dog", refresh: .none))
        #expect(story.machine.staleReports == 4)
    }

    @Test func takesTheEarlierPictureAwayAtOnce() {
        var story = Story()
        _ = story.at(0, .load)
        _ = story.at(10, .succeeded(generation: 1, "cat"))
        #expect(story.at(20, .bind(previous: nil)) == .idle)
        _ = story.at(20, .load)
        #expect(story.at(220, .tick) == .loading(previous: nil))
        #expect(story.at(230, .bind(previous: nil)) == .idle)
    }

    @Test func carriesThePreviousThroughLoadingAndFailure() {
        var story = Story()
        #expect(story.at(0, .bind(previous: "old")) == .idle)
        #expect(story.at(0, .load) == .loading(previous: "old"))
        #expect(story.at(10, .failed(generation: 1, .refused)) == .failed(.refused, previous: "old", retry: .offered))
        _ = story.at(20, .load)
        #expect(story.at(220, .tick) == .loading(previous: "old"))
        #expect(story.at(800, .succeeded(generation: 2, nil)) == .empty)
        _ = story.at(900, .load)
        #expect(
            story.at(910, .failed(generation: 3, .offline))
                == .offline(previous: nil, suspected: false, retry: .automatic))
    }

    @Test func leavesWhatIsShownWhenCancelled() {
        var story = Story()
        _ = story.at(0, .load)
        _ = story.at(200, .tick)
        #expect(story.at(250, .cancel) == .idle)
        #expect(story.effects == [.cancel(generation: 1)])
        _ = story.at(300, .load)
        _ = story.at(310, .succeeded(generation: 2, "cat"))
        _ = story.at(400, .load)
        _ = story.at(600, .tick)
        #expect(story.at(610, .cancel) == .content("cat", refresh: .none))
        #expect(story.at(620, .cancel) == .content("cat", refresh: .none))
        #expect(story.effects.isEmpty)
    }

    @Test func showsWhatHadArrivedWhenCancelled() {
        var story = Story()
        _ = story.at(0, .load)
        _ = story.at(200, .tick)
        _ = story.at(250, .succeeded(generation: 1, "cat"))
        #expect(story.at(260, .cancel) == .content("cat", refresh: .none))
    }

    @Test func countsOnlyWhatCanBeSeenAsAChange() {
        var story = Story()
        _ = story.at(0, .load)
        #expect(story.machine.revision == 0)
        _ = story.at(10, .succeeded(generation: 1, "cat"))
        #expect(story.machine.revision == 1)
        _ = story.at(20, .tick)
        _ = story.at(20, .load)
        #expect(story.machine.revision == 1)
        _ = story.at(30, .succeeded(generation: 2, "cat"))
        #expect(story.machine.revision == 2)
    }

    /// Every law of section 4 over random stories.
    @Test func keepsItsLawsInTwentyThousandRandomStories() {
        var random = SeededGenerator(seed: 4)
        for story in 0..<20_000 {
            var laws = ContentLaws()
            for _ in 0..<30 { laws.step(using: &random) }
            guard laws.broken.isEmpty else {
                let log = laws.log.map { "\($0)" }.joined(separator: "\n")
                Issue.record("story \(story): \(laws.broken.joined(separator: "; "))\n\(log)")
                return
            }
        }
    }
}

/// Watches a machine from outside and notes which law it breaks.
struct ContentLaws {
    private var machine = ContentMachine<String>()
    private var now = 0
    private var running: Int?
    private var loadingSince: Int?
    private var attemptSince = 0
    private var hasPrevious = false
    private var ended: [Int] = []
    private var lastBroughtNothing = false
    private var wake: Int?
    var broken: [String] = []
    var log: [(Int, ContentEvent<String>, ContentState<String>, [ContentEffect])] = []

    private static let failures: [FailureClass] = [.offline, .offlineSuspected, .interrupted, .server, .cancelled]

    mutating func step(using random: inout SeededGenerator) {
        now += Int.random(in: 0...1, using: &random) == 0 ? 0 : Int.random(in: 1...400, using: &random)
        // The wake-up comes when it was asked for, or later, as timers do.
        if let wake, wake <= now { perform(.tick) }
        let generation = Bool.random(using: &random) ? running ?? 0 : ended.randomElement(using: &random) ?? 99
        switch Int.random(in: 0..<14, using: &random) {
        case 0: perform(.bind(previous: nil))
        case 1: perform(.bind(previous: "previous"))
        case 2..<5: perform(.load)
        case 5: perform(.cancel)
        case 6, 7: perform(.connectionReturned)
        case 8: perform(.arrived(generation: generation, "\(generation)"))
        case 9: perform(.succeeded(generation: generation, "\(generation)"))
        case 10: perform(.succeeded(generation: generation, nil))
        case 11, 12:
            let failure = Self.failures.randomElement(using: &random) ?? .server
            perform(.failed(generation: generation, failure))
        default: perform(.tick)
        }
    }

    private mutating func perform(_ event: ContentEvent<String>) {
        let before = machine.state
        let revision = machine.revision
        let effects = machine.receive(event, at: .milliseconds(now))
        let after = machine.state
        log.append((now, event, after, effects))
        follow(event, effects)

        if (after != before) != (machine.revision != revision), after != before {
            broken.append("a change without a revision")
        }
        if case .content(let old, _) = before {
            switch (event, after) {
            case (.bind, _): break
            // Also where a new attempt began before the end of the data was shown.
            case (_, .empty) where lastBroughtNothing, (_, .loading(nil)) where lastBroughtNothing: break
            case (_, .content(let new, _)):
                let mayDiffer =
                    switch event {
                    case .arrived, .succeeded: true
                    default: false
                    }
                if new != old, !mayDiffer { broken.append("content changed without news") }
            default: broken.append("content was replaced")
            }
        }
        if case .bind = event, after != .idle { broken.append("something is shown after a binding") }
        if after == .empty, !lastBroughtNothing { broken.append("empty without a success") }
        followLoading(event, before, after)
        if machine.isRunning != (running != nil) { broken.append("an attempt nobody was told of") }
        if case .connectionReturned = event, !machine.isRunning {
            switch after {
            case .offline, .failed(.interrupted, _, _), .content(_, .offline), .content(_, .failed(.interrupted, _)):
                broken.append("not tried again on return")
            default: break
            }
        }
    }

    private mutating func follow(_ event: ContentEvent<String>, _ effects: [ContentEffect]) {
        switch event {
        case .arrived(let generation, _):
            if generation == running { lastBroughtNothing = false }
        case .succeeded(let generation, let value) where generation == running:
            lastBroughtNothing = value == nil
        default: break
        }
        switch event {
        case .succeeded(let generation, _), .failed(let generation, _):
            if generation == running {
                ended.append(generation)
                running = nil
            }
        case .tick: if let due = wake, due <= now { wake = nil }
        case .bind(let previous): hasPrevious = previous != nil
        case .load, .cancel, .connectionReturned, .arrived: break
        }
        for effect in effects {
            switch effect {
            case .start(let generation):
                if running != nil { broken.append("two attempts at a time") }
                running = generation
                attemptSince = now
            case .cancel(let generation):
                if running != generation { broken.append("cancelled what is not running") }
                running = nil
                ended.append(generation)
            case .wake(let moment):
                wake = Int(moment / .milliseconds(1))
                if wake ?? 0 < now { broken.append("woken in the past") }
            }
        }
    }

    private mutating func followLoading(
        _ event: ContentEvent<String>, _ before: ContentState<String>, _ after: ContentState<String>
    ) {
        let isLoading =
            switch after {
            case .loading, .content(_, .loading): true
            default: false
            }
        if case .loading(let previous) = after, previous != nil, !hasPrevious {
            broken.append("a previous from nowhere")
        }
        // With a previous value loading is the state from the start; the times are then not to be seen from outside.
        if case .loading(.some) = after {
            loadingSince = nil
            return
        }
        if isLoading, loadingSince == nil {
            // It goes on from a loading whose beginning was not to be seen.
            if case .loading(.some) = before {
                loadingSince = now - 500
                return
            }
            if now - attemptSince < 200 { broken.append("loading after \(now - attemptSince) ms") }
            loadingSince = now
        } else if !isLoading, let since = loadingSince {
            switch event {
            case .bind, .cancel: break
            default: if now - since < 500, !hasPrevious { broken.append("loading for \(now - since) ms") }
            }
            loadingSince = nil
        }
        if isLoading, !machine.isRunning, wake == nil { broken.append("loading for ever") }
    }
}
