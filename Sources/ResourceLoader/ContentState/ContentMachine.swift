/// The laws of `ContentState`, as a value: an event and the time go in, a state and effects come out. It reads no clock
/// and starts nothing.
///
/// Times are durations since any fixed moment, and never go back.
public struct ContentMachine<Value: Sendable>: Sendable {
    /// When loading becomes visible, counted from the start of an attempt.
    public static var loadingDelay: Duration { .milliseconds(200) }

    /// How long loading lasts once it is visible.
    public static var loadingMinimum: Duration { .milliseconds(500) }

    /// What is shown when loading is not.
    private enum Resting {
        case idle
        case content(Stamped, trouble: FailureClass?)
        case empty
        case trouble(FailureClass)

        var trouble: FailureClass? {
            switch self {
            case .idle, .empty: nil
            case .content(_, let trouble): trouble
            case .trouble(let trouble): trouble
            }
        }
    }

    private enum Indicator {
        case hidden
        case due(Duration)
        case shown(until: Duration)
    }

    private struct Flight {
        let generation: Int
        let returnsBefore: Int
    }

    /// A number in place of a value, to tell whether another is shown without asking values whether they are equal.
    private struct Stamped {
        let value: Value
        let stamp: Int
    }

    private var resting = Resting.idle
    /// What will be shown once loading has been visible for long enough.
    private var pending: Resting?
    private var previous: Stamped?
    private var flight: Flight?
    private var indicator = Indicator.hidden
    private var returns = 0
    private var generations = 0
    private var stamps = 0

    /// Goes up with each visible change.
    public private(set) var revision = 0

    /// Reports of attempts that were cancelled or had ended, and were ignored.
    public private(set) var staleReports = 0

    /// Idle.
    public init() {}

    /// Whether an attempt is running, visible or not.
    public var isRunning: Bool { flight != nil }

    /// What to show.
    public var state: ContentState<Value> { describe(\.value) }

    /// Takes note of an event. The effects are to be carried out in their order.
    public mutating func receive(_ event: ContentEvent<Value>, at now: Duration) -> [ContentEffect] {
        let before = describe(\.stamp)
        let effects = handle(event, at: now)
        if describe(\.stamp) != before { revision += 1 }
        return effects
    }

    private mutating func handle(_ event: ContentEvent<Value>, at now: Duration) -> [ContentEffect] {
        switch event {
        case .bind(let value):
            let effects = stop()
            (resting, pending, indicator) = (.idle, nil, .hidden)
            previous = value.map { stamped($0) }
            return effects
        case .load:
            return flight == nil ? start(at: now) : []
        case .cancel:
            let effects = stop()
            settle()
            return effects
        case .connectionReturned:
            returns += 1
            guard flight == nil, (pending ?? resting).trouble?.isRetriedOnReturn == true else { return [] }
            return start(at: now)
        case .arrived(let generation, let value):
            guard isCurrent(generation) else { return [] }
            return show(.content(stamped(value), trouble: nil), at: now)
        case .succeeded(let generation, let value):
            guard isCurrent(generation) else { return [] }
            flight = nil
            return show(value.map { .content(stamped($0), trouble: nil) } ?? .empty, at: now)
        case .failed(let generation, let failure):
            guard isCurrent(generation), let flight else { return [] }
            self.flight = nil
            return fail(failure, after: flight, at: now)
        case .tick:
            tick(at: now)
            return []
        }
    }

    // MARK: Attempts

    private mutating func start(at now: Duration) -> [ContentEffect] {
        generations += 1
        flight = Flight(generation: generations, returnsBefore: returns)
        // Already visible from the attempt before: it stays, rather than to flash. What that attempt brought need not
        // wait for its end any longer.
        if case .shown = indicator {
            settle(keepingIndicator: true)
            return [.start(generation: generations)]
        }
        indicator = .due(now + Self.loadingDelay)
        return [.start(generation: generations), .wake(at: now + Self.loadingDelay)]
    }

    private mutating func stop() -> [ContentEffect] {
        guard let running = flight else { return [] }
        flight = nil
        return [.cancel(generation: running.generation)]
    }

    private mutating func isCurrent(_ generation: Int) -> Bool {
        if flight?.generation == generation { return true }
        staleReports += 1
        return false
    }

    private mutating func fail(_ failure: FailureClass, after ended: Flight, at now: Duration) -> [ContentEffect] {
        let base = pending ?? resting
        // Nobody's fault and nothing to show.
        if failure == .cancelled { return show(base, at: now) }
        let next: Resting =
            if case .content(let value, _) = base { .content(value, trouble: failure) } else { .trouble(failure) }
        // The network came back while the attempt was failing for want of it: waiting for the next return could be for
        // ever.
        let mustRepeat = failure.isRetriedOnReturn && returns > ended.returnsBefore
        return (mustRepeat ? start(at: now) : []) + show(next, at: now)
    }

    // MARK: Showing

    /// Shows it now, or when loading has been visible for long enough.
    private mutating func show(_ next: Resting, at now: Duration) -> [ContentEffect] {
        guard case .shown(let until) = indicator, now < until else {
            pending = next
            settle(keepingIndicator: flight != nil)
            return []
        }
        // Loading rides along with content, so that newer content need not wait for it.
        if case .content = resting, case .content = next {
            (resting, pending) = (next, nil)
        } else {
            pending = next
        }
        return [.wake(at: until)]
    }

    private mutating func tick(at now: Duration) {
        switch indicator {
        case .due(let moment) where now >= moment:
            indicator = .shown(until: now + Self.loadingMinimum)
        case .shown(let until) where now >= until:
            settle(keepingIndicator: flight != nil)
        case .hidden, .due, .shown: break
        }
    }

    private mutating func settle(keepingIndicator: Bool = false) {
        if let pending { resting = pending }
        pending = nil
        if !keepingIndicator { indicator = .hidden }
        switch resting {
        case .content, .empty: previous = nil
        case .idle, .trouble: break
        }
    }

    private mutating func stamped(_ value: Value) -> Stamped {
        stamps += 1
        return Stamped(value: value, stamp: stamps)
    }

    private func describe<Shown: Sendable>(_ shown: (Stamped) -> Shown) -> ContentState<Shown> {
        let isLoading = if case .shown = indicator { true } else { false }
        let carried = previous.map(shown)
        switch resting {
        case .content(let value, let trouble):
            return .content(shown(value), refresh: isLoading ? .loading : refresh(trouble))
        case _ where isLoading:
            return .loading(previous: carried)
        case .idle where flight != nil && carried != nil:
            return .loading(previous: carried)
        case .idle: return .idle
        case .empty: return .empty
        case .trouble(let trouble):
            let retry = retry(trouble)
            switch trouble {
            case .offline: return .offline(previous: carried, suspected: false, retry: retry)
            case .offlineSuspected: return .offline(previous: carried, suspected: true, retry: retry)
            default: return .failed(trouble, previous: carried, retry: retry)
            }
        }
    }

    private func refresh(_ trouble: FailureClass?) -> ContentRefresh {
        switch trouble {
        case nil: .none
        case .offline?: .offline(suspected: false, retry: retry(.offline))
        case .offlineSuspected?: .offline(suspected: true, retry: retry(.offlineSuspected))
        case let trouble?: .failed(trouble, retry: retry(trouble))
        }
    }

    private func retry(_ trouble: FailureClass) -> ContentRetry {
        if flight != nil { return .underway }
        return trouble.isRetriedOnReturn ? .automatic : .offered
    }
}
