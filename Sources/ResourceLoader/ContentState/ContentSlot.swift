import Synchronization

/// One place on a screen that shows one item after the other: a cell of a list, a picture in a detail view.
///
/// Binding it to another item takes the earlier one's picture away at once, and nothing that is still on its way for
/// the earlier one is ever shown. All calls return at once and may be made from any thread.
public final class ContentSlot<Item: Hashable & Sendable, Value: Sendable>: Sendable {
    /// What the slot shows, and of which item, in one piece: a renderer that compares the item cannot show it in the
    /// wrong place.
    public struct Shown: Sendable {
        /// What it is bound to; `nil` if nothing.
        public let item: Item?
        /// What to show of it.
        public let state: ContentState<Value>
        let revision: Int
    }

    /// How an attempt ended.
    public enum Outcome: Sendable {
        /// With this.
        case value(Value)
        /// There is no such data.
        case empty
        /// Without success.
        case failed(FailureClass)
    }

    /// Loads an item. What it passes to the closure is shown meanwhile. It should heed the cancellation of its task; if
    /// it does not, what it brings is ignored.
    public typealias Load = @Sendable (Item, @escaping @Sendable (Value) -> Void) async -> Outcome

    private struct Bound {
        var item: Item?
        var machine = ContentMachine<Value>()
        var attempt: (generation: Int, task: Task<Void, Never>)?
        var wake: Task<Void, Never>?
        var bindings = 0
    }

    private let bound = Mutex(Bound())
    private let hub = ChangeHub<Int>()
    private let load: Load
    private let now: @Sendable () -> Duration
    private let sleep: @Sendable (Duration) async throws -> Void

    /// An empty slot. `load` is called once for each attempt, never twice at a time for what is shown.
    public init<SlotClock: Clock>(clock: SlotClock, load: @escaping Load) where SlotClock.Duration == Duration {
        let origin = clock.now
        self.load = load
        now = { origin.duration(to: clock.now) }
        sleep = { try await clock.sleep(until: origin.advanced(by: $0), tolerance: nil) }
    }

    /// An empty slot on the system's clock.
    public convenience init(load: @escaping Load) {
        self.init(clock: ContinuousClock(), load: load)
    }

    deinit {
        let (attempt, wake) = bound.withLock { ($0.attempt?.task, $0.wake) }
        attempt?.cancel()
        wake?.cancel()
    }

    /// What is to be shown at this moment.
    public var shown: Shown {
        bound.withLock { Shown(item: $0.item, state: $0.machine.state, revision: $0.machine.revision + $0.bindings) }
    }

    /// Shows another item from now on, and loads it; or nothing, for `nil`. Binding the item it shows already does
    /// nothing. `keepingPrevious` leaves what is on the screen in sight as `previous` until there is something of the
    /// new item.
    public func bind(to item: Item?, keepingPrevious: Bool = false) {
        change { bound in
            guard bound.item != item else { return [] }
            let previous = keepingPrevious ? bound.machine.state.visible : nil
            bound.item = item
            bound.bindings += 1
            let effects = bound.machine.receive(.bind(previous: previous), at: now())
            return item == nil ? effects : effects + bound.machine.receive(.load, at: now())
        }
    }

    /// Loads it again, refreshes it, or tries again, unless that is going on already. Nothing happens while it is bound
    /// to nothing.
    public func reload() {
        change { bound in bound.item == nil ? [] : bound.machine.receive(.load, at: now()) }
    }

    /// Stops the attempt; what is shown stays.
    public func cancel() {
        change { bound in bound.machine.receive(.cancel, at: now()) }
    }

    /// Tells it that the network is back, or shown to work: what failed for want of it is tried again.
    public func connectionReturned() {
        change { bound in bound.machine.receive(.connectionReturned, at: now()) }
    }

    /// What is shown: the present first, then after every change. A slow consumer misses some, never the last.
    public var changes: ContentChanges<Item, Value> { ContentChanges(slot: self, hub: hub) }

    /// Reports of earlier attempts that were ignored.
    public var staleReports: Int { bound.withLock { $0.machine.staleReports } }

    private func report(_ event: ContentEvent<Value>) {
        change { bound in bound.machine.receive(event, at: now()) }
    }

    private func change(_ body: (inout Bound) -> [ContentEffect]) {
        // Tasks are made under the lock, so that a start cannot be overtaken by its cancellation; they are cancelled
        // after it, because a cancellation runs code of the caller's.
        let (obsolete, hasChanged) = bound.withLock { bound in
            let before = bound.machine.revision + bound.bindings
            let effects = body(&bound)
            let obsolete = effects.compactMap { carryOut($0, &bound) }
            return (obsolete, bound.machine.revision + bound.bindings != before)
        }
        for task in obsolete { task.cancel() }
        if hasChanged { hub.tick([Self.topic]) }
    }

    /// The task that is to be cancelled, if any.
    private func carryOut(_ effect: ContentEffect, _ bound: inout Bound) -> Task<Void, Never>? {
        switch effect {
        case .start(let generation):
            guard let item = bound.item else { return nil }
            let load = load
            let task = Task { [weak self] in
                let outcome = await load(item) { [weak self] in
                    self?.report(.arrived(generation: generation, $0))
                }
                switch outcome {
                case .value(let value): self?.report(.succeeded(generation: generation, value))
                case .empty: self?.report(.succeeded(generation: generation, nil))
                case .failed(let failure): self?.report(.failed(generation: generation, failure))
                }
            }
            bound.attempt = (generation, task)
            return nil
        case .cancel(let generation):
            guard let attempt = bound.attempt, attempt.generation == generation else { return nil }
            bound.attempt = nil
            return attempt.task
        case .wake(let moment):
            let obsolete = bound.wake
            let sleep = sleep
            bound.wake = Task { [weak self] in
                // It only throws when it is cancelled, and then nobody wants to be woken.
                if (try? await sleep(moment)) != nil { self?.report(.tick) }
            }
            return obsolete
        }
    }

    static var topic: Int { 0 }
}

/// What a slot shows, as a sequence.
public struct ContentChanges<Item: Hashable & Sendable, Value: Sendable>: AsyncSequence, Sendable {
    /// One state.
    public typealias Element = ContentSlot<Item, Value>.Shown
    /// It does not fail.
    public typealias Failure = Never

    fileprivate let slot: ContentSlot<Item, Value>
    fileprivate let hub: ChangeHub<Int>

    /// Walks through the states.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let slot: ContentSlot<Item, Value>
        fileprivate var ticks: AsyncStream<Void>.Iterator
        fileprivate var last: Int?

        /// The next state, at first the present one; `nil` once the task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Element? {
            while true {
                if last != nil, await ticks.next(isolation: actor) == nil { return nil }
                let shown = slot.shown
                if shown.revision != last {
                    last = shown.revision
                    return shown
                }
            }
        }

        /// The next state, at first the present one; `nil` once the task is cancelled.
        public mutating func next() async -> Element? {
            await next(isolation: nil)
        }
    }

    /// A new iteration, from the present state on.
    public func makeAsyncIterator() -> Iterator {
        Iterator(slot: slot, ticks: hub.ticks(for: ContentSlot<Item, Value>.topic).makeAsyncIterator(), last: nil)
    }
}
