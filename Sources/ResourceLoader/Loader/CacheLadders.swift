import DownloadPolicy
import Synchronization

/// Says what the cache has of the resources that somebody loads, in the words of the policy.
final class CacheLadders: LadderSource {
    private struct Entry {
        var resource: Resource
        var loads = 0
        var begun: WallTime
        /// Sizes that servers have told.
        var sizes: [CacheVariant: Int64] = [:]
        /// Rungs above the lowest that are not to be had, and until when; `nil` stands for as long as somebody loads it.
        var unobtainable: [CacheVariant: Duration?] = [:]
        /// What the server forbids to store; it goes with the last load.
        var unkept: Set<CacheVariant> = []
    }

    private let cache: any ResourceCache
    private let wallTime: @Sendable () -> WallTime
    private let timeline: LoaderTimeline
    private let entries = Mutex<[ResourceID: Entry]>([:])
    private let hub = ChangeHub<ResourceID>()
    private let failedQuestions = Atomic<Int>(0)

    /// How long to wait before a cache that could not be asked is asked again.
    private static let patience: Duration = .seconds(1)

    init(_ cache: any ResourceCache, timeline: LoaderTimeline, wallTime: @escaping @Sendable () -> WallTime) {
        self.cache = cache
        self.timeline = timeline
        self.wallTime = wallTime
    }

    /// How many times the cache could not be asked; it then counts as empty.
    var failures: Int { failedQuestions.load(ordering: .relaxed) }

    // MARK: Who loads what

    func enter(_ resource: Resource) {
        let isRenewed = entries.withLock { entries in
            var entry = entries[resource.identity] ?? Entry(resource: resource, begun: wallTime())
            let isRenewed = entry.resource.renditions != resource.renditions
            // What was not to be had may be had from where it is now.
            if isRenewed { entry.unobtainable = [:] }
            entry.resource = resource
            entry.loads += 1
            entries[resource.identity] = entry
            return isRenewed
        }
        if isRenewed { hub.tick([resource.identity]) }
    }

    func leave(_ resource: Resource) {
        let unkept = entries.withLock { entries -> Set<CacheVariant> in
            entries[resource.identity]?.loads -= 1
            guard let entry = entries[resource.identity], entry.loads == 0 else { return [] }
            entries[resource.identity] = nil
            return entry.unkept
        }
        // Should the cache not be asked now, it is stale at once and goes by age.
        for variant in unkept { try? cache.remove(resource.cacheKey, variant: variant) }
    }

    /// A body that the server forbids to store has come (`no-store`): it is kept for as long as somebody shows it.
    func keepForNow(_ variant: CacheVariant, of resource: Resource) {
        entries.withLock { _ = $0[resource.identity]?.unkept.insert(variant) }
    }

    func learn(size: Int64, of variant: CacheVariant, in resource: Resource) {
        let isNews = entries.withLock { entries in
            guard let known = entries[resource.identity], known.sizes[variant] != size else { return false }
            entries[resource.identity]?.sizes[variant] = size
            return true
        }
        if isNews { hub.tick([resource.identity]) }
    }

    /// Leaves out a rung above the lowest, and those above it, so that the policy chooses a lesser one.
    func leaveOut(_ variant: CacheVariant, of resource: Resource, for time: Duration?) {
        let until = time.map { timeline.now() + $0 }
        entries.withLock { _ = $0[resource.identity]?.unobtainable.updateValue(until, forKey: variant) }
        hub.tick([resource.identity])
    }

    // MARK: Ladders

    func ladder(of id: ResourceID) -> Ladder? { look(at: id)?.ladder }

    func ladders(of id: ResourceID) -> AsyncStream<Ladder> {
        let (stream, continuation) = AsyncStream.makeStream(of: Ladder.self, bufferingPolicy: .bufferingNewest(1))
        guard let resource = entries.withLock({ $0[id]?.resource }), let first = look(at: id) else {
            continuation.finish()
            return stream
        }
        continuation.yield(first.ladder)
        let task = Task { [self] in
            let ticks = hub.ticks(for: id)
            async let changes: Void = followCache(resource)
            var timer: Task<Void, Never>?
            // What changed before the ticks began is in this look.
            var last = first.ladder
            hub.tick([id])
            for await _ in ticks {
                guard let look = look(at: id) else { break }
                if look.ladder != last {
                    last = look.ladder
                    continuation.yield(last)
                }
                timer?.cancel()
                timer = look.nextChange.map { delay in
                    Task { [timeline, hub] in
                        if (try? await timeline.sleep(delay)) != nil { hub.tick([id]) }
                    }
                }
            }
            timer?.cancel()
            await changes
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }

    private func followCache(_ resource: Resource) async {
        while !Task.isCancelled {
            do {
                for try await _ in cache.changes(of: resource.cacheKey, variants: resource.variants) {
                    hub.tick([resource.identity])
                }
                return
            } catch {
                hub.tick([resource.identity])
                guard (try? await timeline.sleep(Self.patience)) != nil else { return }
            }
        }
    }

    /// The ladder now, and after what time it will be another without anything being told.
    private func look(at id: ResourceID) -> (ladder: Ladder, nextChange: Duration?)? {
        guard let entry = entries.withLock({ $0[id] }) else { return nil }
        let resource = entry.resource
        let (now, moment) = (wallTime(), timeline.now())
        var holdings: CacheHoldings?
        do throws(CacheError) {
            holdings = try cache.holdings(of: resource.cacheKey, variants: resource.variants)
        } catch {
            failedQuestions.add(1, ordering: .relaxed)
        }
        var rungs = resource.renditions.map { rendition in
            let cached = holdings?.rungs.first { $0.variant == rendition.variant }
            return Rung(
                cached.map { Self.state($0, since: entry.begun) } ?? .absent,
                size: cached?.entry?.size ?? rendition.size ?? entry.sizes[rendition.variant])
        }
        let missing = resource.renditions.indices.dropFirst().first { index in
            guard let until = entry.unobtainable[resource.renditions[index].variant] else { return false }
            return until.map { $0 > moment } ?? true
        }
        if let missing {
            let bestCached = rungs.lastIndex { $0.cache != .absent } ?? 0
            rungs.removeLast(rungs.count - max(missing, bestCached + 1))
        }
        var delays = entry.unobtainable.values.compactMap { $0 }.filter { $0 > moment }.map { $0 - moment }
        if let expiry = holdings?.nextExpiry(after: now) {
            // Wall clocks are set; whoever sleeps for long looks again.
            let milliseconds = min(expiry.milliseconds - now.milliseconds, 3_600_000)
            delays.append(.milliseconds(milliseconds))
        }
        // A resource has between one rendition and 256.
        guard let ladder = try? Ladder(rungs: rungs) else { return nil }
        return (ladder, delays.min())
    }

    /// A body that is stale at once, by its server's word, was good when it came: those who waited for it then show it,
    /// instead of asking about it again and again.
    private static func state(_ rung: CacheHoldings.Rung, since begun: WallTime) -> CacheState {
        switch rung.freshness {
        case .absent: return .absent
        case .fresh: return .fresh
        case .stale:
            guard let entry = rung.entry, entry.freshUntil <= entry.validated, entry.validated >= begun else {
                return .stale
            }
            return .fresh
        }
    }
}

/// A clock whose moments are durations, so that what uses it need not be generic over clocks.
struct LoaderTimeline: Sendable {
    let now: @Sendable () -> Duration
    let sleep: @Sendable (_ time: Duration) async throws -> Void

    init<C: Clock>(_ clock: C) where C.Duration == Duration {
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { time in try await clock.sleep(until: clock.now.advanced(by: time), tolerance: nil) }
    }
}
