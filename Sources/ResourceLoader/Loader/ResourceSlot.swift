import DownloadPolicy
import Synchronization

/// A place on a screen that shows one resource after the other: a cell of a list. It shows what ``ResourceLoader/load(_:trigger:)``
/// says of the resource it is bound to, in the states of ``ContentState``, and never another resource's picture.
///
/// ```swift
/// let slot = ResourceSlot(of: loader)
/// slot.bind(to: lake)
/// for await shown in slot.content.changes {
///     if case .content(let picture, _) = shown.state { draw(picture) }
/// }
/// ```
///
/// A better picture that becomes possible later (the network got cheaper) replaces the one in sight by itself. All members may be
/// used from any thread.
public final class ResourceSlot: Sendable {
    /// What to show: `content.shown` now, and `content.changes` as a stream.
    public let content: ContentSlot<Resource, CachedBody>

    private let loader: ResourceLoader
    private let source: SlotSource
    private let follower = Mutex<Task<Void, Never>?>(nil)
    private let watcher: Task<Void, Never>

    /// An empty slot.
    public init<C: Clock>(of loader: ResourceLoader, clock: C = ContinuousClock()) where C.Duration == Duration {
        let source = SlotSource()
        let content = ContentSlot<Resource, CachedBody>(clock: clock) { resource, meanwhile in
            await source.attempt(resource, meanwhile)
        }
        self.loader = loader
        self.source = source
        self.content = content
        watcher = Task { [weak content] in
            guard let changes = content?.changes else { return }
            for await _ in changes where source.isBehind { content?.reload() }
        }
    }

    deinit {
        watcher.cancel()
        follower.withLock { $0 }?.cancel()
    }

    /// What ``ResourceLoader/load(_:trigger:)`` said last of the resource it is bound to.
    public var display: ResourceDisplay? { source.display }

    /// Shows another resource from now on, or nothing. The same resource with other URLs stays in sight, and what failed is
    /// tried again with these.
    public func bind(to resource: Resource?, trigger: Trigger = .visible) {
        follower.withLock { follower in
            let old = source.item
            guard old != resource || old?.renditions != resource?.renditions else { return }
            content.bind(to: resource)
            follow(resource, trigger, &follower)
        }
    }

    /// Tries again because the user asked: one attempt even while the network is said to be gone.
    public func retry() {
        follower.withLock { follower in follow(source.item, .user, &follower) }
        content.reload()
    }

    private func follow(_ resource: Resource?, _ trigger: Trigger, _ follower: inout Task<Void, Never>?) {
        let old = follower
        let number = source.bind(to: resource)
        follower = resource.map { resource in
            let displays = loader.load(resource, trigger: trigger)
            return Task { [source, weak content] in
                for await display in displays where source.take(display, number) { content?.reload() }
                source.end(number)
            }
        }
        old?.cancel()
    }
}

/// What is known of the resource a slot is bound to, and how far the slot has taken notice.
private final class SlotSource: Sendable {
    private struct State {
        var item: Resource?
        var number = 0
        var display: ResourceDisplay?
        /// Whether no more displays come.
        var hasEnded = false
        var revision = 0
        /// The revision that the attempt that ended last has seen.
        var seen = 0
    }

    private let state = Mutex(State())
    private let hub = ChangeHub<Int>()

    var item: Resource? { state.withLock { $0.item } }
    var display: ResourceDisplay? { state.withLock { $0.display } }
    /// Whether there is something that no attempt has seen.
    var isBehind: Bool { state.withLock { $0.seen < $0.revision } }

    func bind(to item: Resource?) -> Int {
        defer { hub.tickAll() }
        return state.withLock { state in
            state.number += 1
            state.item = item
            state.display = nil
            state.hasEnded = false
            return state.number
        }
    }

    /// Whether it counts: not once the slot has been bound anew.
    func take(_ display: ResourceDisplay, _ number: Int) -> Bool {
        defer { hub.tickAll() }
        return state.withLock { state in
            guard state.number == number else { return false }
            state.display = display
            state.revision += 1
            return true
        }
    }

    /// No more displays come: the loader has been shut down.
    func end(_ number: Int) {
        state.withLock { state in
            if state.number == number { state.hasEnded = true }
        }
        hub.tickAll()
    }

    /// Passes on what is shown until nothing more is under way.
    func attempt(
        _ item: Resource, _ meanwhile: @Sendable (CachedBody) -> Void
    ) async -> ContentSlot<Resource, CachedBody>.Outcome {
        let ticks = hub.ticks(for: 0)
        hub.tickAll()
        var shown: CacheEntry.ID?
        for await _ in ticks {
            let (display, revision, hasEnded) = state.withLock { state in
                (state.item == item ? state.display : nil, state.revision, state.hasEnded)
            }
            if hasEnded { break }
            guard let display else { continue }
            if case .body(let body, _) = display.content {
                if display.isAtRest {
                    return end(revision, display.failure.map { .failed($0) } ?? .value(body), body, meanwhile)
                }
                if body.entry.id != shown { meanwhile(body) }
                shown = body.entry.id
            } else if case .empty = display.content {
                return end(revision, .empty, nil, meanwhile)
            } else if let failure = display.resourceFailure {
                return end(revision, .failed(failure.contentClass), nil, meanwhile)
            }
        }
        return .failed(.cancelled)
    }

    private func end(
        _ revision: Int, _ outcome: ContentSlot<Resource, CachedBody>.Outcome, _ body: CachedBody?,
        _ meanwhile: @Sendable (CachedBody) -> Void
    ) -> ContentSlot<Resource, CachedBody>.Outcome {
        state.withLock { $0.seen = max($0.seen, revision) }
        // Content is shown even if what was to follow it failed.
        if case .failed = outcome, let body { meanwhile(body) }
        return outcome
    }
}

extension ResourceFailure {
    /// In the words of content states. What is only deferred is no failure: nothing is shown, and nothing is wrong.
    fileprivate var contentClass: FailureClass {
        switch self {
        case .offline: .offline
        case .transfer(let failure): failure
        case .badRequest: .rejected
        case .noData: .missing
        case .deferred, .cancelled: .cancelled
        }
    }
}
