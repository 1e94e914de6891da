import ReachabilityTestKit
import Synchronization
import TestSupport
import Testing

@testable import ResourceLoader

/// Attempts that end when and how the test says, whatever becomes of their tasks.
final class Attempts<Item: Hashable & Sendable>: Sendable {
    typealias Outcome = ContentSlot<Item, String>.Outcome

    struct Attempt: Sendable {
        let item: Item
        let show: @Sendable (String) -> Void
        let end: CheckedContinuation<Outcome, Never>
    }

    private struct State {
        var waiting: [Attempt] = []
        var begun = 0
        var ended = 0
        var isOpen = false
    }

    private let state = Mutex(State())

    static func picture(of item: Item) -> String { "picture of \(item)" }

    var load: ContentSlot<Item, String>.Load {
        { item, show in
            self.state.withLock { $0.begun += 1 }
            let outcome = await withCheckedContinuation { end in
                let isOpen = self.state.withLock { state in
                    if !state.isOpen { state.waiting.append(Attempt(item: item, show: show, end: end)) }
                    return state.isOpen
                }
                if isOpen { end.resume(returning: .value(Self.picture(of: item))) }
            }
            self.state.withLock { $0.ended += 1 }
            return outcome
        }
    }

    var counts: (begun: Int, waiting: Int, ended: Int) {
        state.withLock { ($0.begun, $0.waiting.count, $0.ended) }
    }

    /// One that is waiting, out of the list.
    func take(where matches: (Attempt) -> Bool = { _ in true }) -> Attempt? {
        state.withLock { state in state.waiting.firstIndex(where: matches).map { state.waiting.remove(at: $0) } }
    }

    func takeRandom(using random: inout SeededGenerator) -> Attempt? {
        let draw = random.next()
        return state.withLock { state in
            state.waiting.isEmpty ? nil : state.waiting.remove(at: Int(draw % UInt64(state.waiting.count)))
        }
    }

    /// Ends all, and those to come, with their pictures.
    func open() {
        let waiting = state.withLock { state in
            state.isOpen = true
            defer { state.waiting = [] }
            return state.waiting
        }
        for attempt in waiting.reversed() { attempt.end.resume(returning: .value(Self.picture(of: attempt.item))) }
    }

    func waiting(_ count: Int) async {
        while counts.waiting < count { await Task.yield() }
    }
}

@Suite(.takingTurns, .timeLimit(.minutes(10))) struct ContentSlotTests {
    @Test func showsWhatItIsBoundTo() async {
        let attempts = Attempts<String>()
        let slot = ContentSlot(clock: ManualClock(), load: attempts.load)
        var changes = slot.changes.makeAsyncIterator()
        #expect(await changes.next()?.item == nil)
        slot.bind(to: "cat")
        let bound = await changes.next()
        #expect(bound?.item == "cat" && bound?.state == .idle)
        await attempts.waiting(1)
        attempts.take()?.end.resume(returning: .value("the cat"))
        let shown = await changes.next()
        #expect(shown?.item == "cat" && shown?.state == .content("the cat", refresh: .none))
    }

    @Test func showsLoadingByItsClock() async {
        let attempts = Attempts<String>()
        let clock = ManualClock()
        let slot = ContentSlot(clock: clock, load: attempts.load)
        slot.bind(to: "cat")
        var changes = slot.changes.makeAsyncIterator()
        #expect(await changes.next()?.state == .idle)
        await clock.waitForSleeper(until: .milliseconds(200))
        clock.advance(by: .milliseconds(200))
        #expect(await changes.next()?.state == .loading(previous: nil))
        await attempts.waiting(1)
        attempts.take()?.end.resume(returning: .empty)
        await clock.waitForSleeper(until: .milliseconds(700))
        #expect(slot.shown.state == .loading(previous: nil))
        clock.advance(by: .milliseconds(500))
        #expect(await changes.next()?.state == .empty)
    }

    @Test func showsAThumbnailMeanwhile() async {
        let attempts = Attempts<String>()
        let slot = ContentSlot(clock: ManualClock(), load: attempts.load)
        slot.bind(to: "cat")
        await attempts.waiting(1)
        let attempt = attempts.take()
        attempt?.show("thumbnail")
        #expect(slot.shown.state == .content("thumbnail", refresh: .none))
        attempt?.end.resume(returning: .value("original"))
        for await shown in slot.changes where shown.state == .content("original", refresh: .none) { break }
        attempt?.show("too late")
        #expect(slot.shown.state == .content("original", refresh: .none))
    }

    @Test func takesThePictureAwayWhenItIsBoundToAnotherItem() async {
        let attempts = Attempts<String>()
        let slot = ContentSlot(clock: ManualClock(), load: attempts.load)
        slot.bind(to: "cat")
        await attempts.waiting(1)
        attempts.take()?.end.resume(returning: .value("the cat"))
        for await shown in slot.changes where shown.state.content != nil { break }
        slot.bind(to: "dog")
        #expect(slot.shown.item == "dog" && slot.shown.state == .idle)
        slot.bind(to: nil)
        #expect(slot.shown.item == nil && slot.shown.state == .idle)
        slot.reload()
        #expect(slot.shown.state == .idle)
    }

    @Test func keepsThePictureInSightIfItIsTold() async {
        let attempts = Attempts<String>()
        let slot = ContentSlot(clock: ManualClock(), load: attempts.load)
        slot.bind(to: "cat")
        await attempts.waiting(1)
        attempts.take()?.end.resume(returning: .value("the cat"))
        for await shown in slot.changes where shown.state.content != nil { break }
        slot.bind(to: "dog", keepingPrevious: true)
        #expect(slot.shown.state == .loading(previous: "the cat"))
    }

    @Test func loadsOnceForTheSameItem() async {
        let attempts = Attempts<String>()
        let slot = ContentSlot(clock: ManualClock(), load: attempts.load)
        for _ in 0..<10 {
            slot.bind(to: "cat")
            slot.reload()
        }
        await attempts.waiting(1)
        #expect(attempts.counts.begun == 1)
    }

    @Test func triesAgainWhenTheConnectionReturns() async {
        let attempts = Attempts<String>()
        let slot = ContentSlot(clock: ManualClock(), load: attempts.load)
        slot.bind(to: "cat")
        await attempts.waiting(1)
        attempts.take()?.end.resume(returning: .failed(.offline))
        for await shown in slot.changes
        where shown.state == .offline(previous: nil, suspected: false, retry: .automatic) { break }
        slot.connectionReturned()
        slot.connectionReturned()
        await attempts.waiting(1)
        #expect(attempts.counts.begun == 2)
        attempts.open()
        for await shown in slot.changes where shown.state.content != nil { break }
    }

    @Test func cancelsTheTaskOfAnEarlierItem() async {
        let (cancelled, continuation) = AsyncStream.makeStream(of: String.self)
        let slot = ContentSlot<String, String>(clock: ManualClock()) { item, _ in
            await withTaskCancellationHandler {
                if item == "dog" { return .value("the dog") }
                while !Task.isCancelled { await Task.yield() }
                return .value("the cat")
            } onCancel: {
                continuation.yield(item)
            }
        }
        slot.bind(to: "cat")
        slot.bind(to: "dog")
        for await item in cancelled {
            #expect(item == "cat")
            break
        }
        for await shown in slot.changes where shown.state.content != nil {
            #expect(shown.state.content == "the dog")
            break
        }
    }

    @Test func goesWhenNobodyHoldsIt() async {
        let attempts = Attempts<String>()
        weak var gone: ContentSlot<String, String>?
        do {
            let slot = ContentSlot(clock: ManualClock(), load: attempts.load)
            slot.bind(to: "cat")
            gone = slot
            await attempts.waiting(1)
        }
        #expect(gone == nil)
        attempts.open()
    }

    /// Bindings, completions and cancellations in any order, on many threads: at no moment another item's picture, at
    /// the end the last one's.
    @Test func endsWithWhatWasBoundLastInTenThousandInterleavings() async {
        var random = SeededGenerator(seed: 10_000)
        for interleaving in 0..<10_000 {
            let attempts = Attempts<Int>()
            let slot = ContentSlot(clock: ManualClock(), load: attempts.load)
            func look() {
                let shown = slot.shown
                if let value = shown.state.visible, value != shown.item.map({ Attempts<Int>.picture(of: $0) }) {
                    Issue.record("interleaving \(interleaving): item \(String(describing: shown.item)) shows \(value)")
                }
            }
            for _ in 0..<Int.random(in: 1...8, using: &random) {
                switch Int.random(in: 0..<7, using: &random) {
                case 0..<3: slot.bind(to: Int.random(in: 0..<3, using: &random))
                case 3, 4:
                    let attempt = attempts.takeRandom(using: &random)
                    if Bool.random(using: &random), let attempt {
                        attempt.show(Attempts<Int>.picture(of: attempt.item))
                    }
                    attempt?.end.resume(
                        returning: Bool.random(using: &random)
                            ? .value(Attempts<Int>.picture(of: attempt?.item ?? 0)) : .failed(.offline))
                case 5: slot.cancel()
                default:
                    if Bool.random(using: &random) { slot.bind(to: nil) } else { slot.connectionReturned() }
                }
                look()
                if Bool.random(using: &random) { await Task.yield() }
            }
            let last = Int.random(in: 0..<3, using: &random)
            slot.bind(to: last)
            // It may have been bound to it already, and its attempt cancelled.
            slot.reload()
            attempts.open()
            for await shown in slot.changes {
                look()
                if shown.item == last, shown.state.content == Attempts<Int>.picture(of: last) { break }
                // The last item's own attempt had been told to fail when the binding found it running.
                if case .offline = shown.state { slot.reload() }
            }
            while attempts.counts.ended < attempts.counts.begun { await Task.yield() }
            look()
            #expect(slot.shown.item == last)
            #expect(slot.shown.state.content == Attempts<Int>.picture(of: last))
        }
    }
}
