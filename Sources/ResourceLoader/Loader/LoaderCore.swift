import DownloadPolicy

/// Who loads what, which transfers run for them, and what each of them shows. Decisions and states of transfers come in,
/// displays go out; the network's changes go straight to the transfers, without passing through here.
actor LoaderCore {
    private struct Load {
        var resource: Resource
        let trigger: Trigger
        let displays: AsyncStream<ResourceDisplay>.Continuation
        var decision: PolicyDecision?
        /// What is shown.
        var entry: CacheEntry?
        /// The same, open. Nobody looks at a prefetch, so that it holds nothing open and keeps eviction off nothing.
        var body: CachedBody?
        /// What a prefetch has seen arrive. Should it be evicted for want of room, fetching it again would evict the next.
        var prefetched: Set<CacheVariant> = []
        var failure: FailureClass?
        /// Renditions that failed in a way that trying again would not change.
        var givenUp: Set<CacheVariant> = []
        /// Renditions that failed in passing since the last decision, which the next one may ask for again.
        var tried: Set<CacheVariant> = []
        /// Renditions that the server says do not exist.
        var empty: Set<CacheVariant> = []
        var joined: Set<DownloadKey> = []
        var shown: ResourceDisplay.Fingerprint?

        /// What is decided, a tap's one attempt without a network included.
        var fetches: [Fetch] {
            guard let decision else { return [] }
            return decision.fetches.isEmpty ? [decision.offlineAttempt].compactMap(\.self) : decision.fetches
        }
    }

    /// What is fetched: a rendition, or the answer to whether a stored body still holds.
    private struct DownloadKey: Hashable {
        var resource: ResourceID
        var variant: CacheVariant
        var revalidated: CacheEntry.ID?
    }

    private struct Download {
        let resource: Resource
        let quality: Quality
        let revalidated: CacheEntry?
        let sink: CacheSink
        let meter: BudgetMeter
        var demands: [Int: Demand]
        var demand: Demand
        var share: Transfer
        var shareNumber: Int
        var state = TransferState.queued
        /// Whether the engine has looked again at what waits, since the last decision or the last running.
        var hasAskedAgain = false
        var position: Int64 = 0
        var total: Int64?
    }

    private struct WeakMeter {
        weak var meter: BudgetMeter?
    }

    private let engine: TransferEngine
    private let cache: MemoryCache
    private let ladders: CacheLadders
    private let advisor: PolicyAdvisor
    private let preferences: PreferencesStore
    private let budget: LoaderBudget?
    private let network: NetworkState
    private let clock: any TransferClock

    private var loads: [Int: Load] = [:]
    private var downloads: [DownloadKey: Download] = [:]
    private var meters: [RequestIdentity: WeakMeter] = [:]
    private var numbers = 0
    private var wasCharged = false
    private var lastNetwork: String?
    private var hasEnded = false

    init(
        engine: TransferEngine, cache: MemoryCache, ladders: CacheLadders, advisor: PolicyAdvisor,
        preferences: PreferencesStore, budget: LoaderBudget?, network: NetworkState, clock: any TransferClock
    ) {
        self.engine = engine
        self.cache = cache
        self.ladders = ladders
        self.advisor = advisor
        self.preferences = preferences
        self.budget = budget
        self.network = network
        self.clock = clock
    }

    // MARK: - Loads

    /// - Returns: the load's number; `nil` once the loader has been shut down.
    func begin(
        _ resource: Resource, _ trigger: Trigger, _ displays: AsyncStream<ResourceDisplay>.Continuation
    ) -> Int? {
        guard !hasEnded else {
            displays.finish()
            return nil
        }
        renew(resource)
        numbers += 1
        loads[numbers] = Load(resource: resource, trigger: trigger, displays: displays)
        return numbers
    }

    /// The URLs that came last count, for those who load the same resource already as well. What runs goes on.
    private func renew(_ resource: Resource) {
        for (id, load) in loads where load.resource == resource && load.resource.renditions != resource.renditions {
            loads[id]?.resource = resource
            loads[id]?.givenUp = []
            loads[id]?.tried = []
            loads[id]?.empty = []
            reconcile(id)
            emit(id)
        }
    }

    func end(_ id: Int) {
        guard let load = loads[id] else { return }
        for key in load.joined { leave(key, id) }
        loads[id] = nil
        load.displays.finish()
    }

    /// Ends all loads, and every later one at its beginning.
    func shutDown() {
        hasEnded = true
        for id in Array(loads.keys) { end(id) }
    }

    /// - Returns: whether the load goes on.
    func decided(_ id: Int, _ decision: PolicyDecision) -> Bool {
        guard let load = loads[id] else { return false }
        loads[id]?.decision = decision
        loads[id]?.tried = []
        for key in load.joined { downloads[key]?.hasAskedAgain = false }
        reconcile(id)
        lookIntoCache(id)
        emit(id)
        return true
    }

    /// Starts what is decided and does not run, and gives up what runs and is not wanted any more.
    private func reconcile(_ id: Int) {
        guard let load = loads[id], let decision = load.decision else { return }
        let wanted = Set(load.fetches.map { load.resource.rendition($0.quality).variant })
        let ladder = ladders.ladder(of: load.resource.identity)
        var comesFirst = false
        for key in load.joined where !wanted.contains(key.variant) {
            guard let download = downloads[key], let demand = download.demands[id],
                // What has just been stored is about to end, and its end tells the advisor how fast it was.
                ladder?[download.quality].cache != .fresh
            else { continue }
            if isStopgap(download, for: load) {
                comesFirst = true
                continue
            }
            let retention = Retention(kind: demand.kind, plan: decision.plan, mode: preferences.current.mode)
            if !retention.isKept { leave(key, id) }
        }
        guard !comesFirst, let ladder, let next = next(load, ladder),
            // A rung that the ladder has lost since is not to be had.
            next.quality <= ladder.top, !isNearlyThere(id, beyond: next.quality)
        else { return }
        join(id, next)
    }

    /// The first thing that is decided and neither here nor given up. What has arrived since the decision was made counts.
    private func next(_ load: Load, _ ladder: Ladder) -> Fetch? {
        load.fetches.first { fetch in
            let variant = load.resource.rendition(fetch.quality).variant
            let isDone = ladder[fetch.quality].cache == .fresh || ladder.bestCached.map { $0 > fetch.quality } ?? false
            let isOver = fetch.kind == .download && load.prefetched.contains(variant)
            return !isDone && !isOver && !load.givenUp.contains(variant) && !load.tried.contains(variant)
                && !(load.empty.contains(variant) && fetch.quality <= ladder.top)
        }
    }

    /// Whether it runs already and gives something to show sooner than what is wanted in its place, while nothing is shown.
    private func isStopgap(_ download: Download, for load: Load) -> Bool {
        guard load.entry == nil, case .running = download.state else { return false }
        return load.fetches.contains { $0.quality > download.quality }
    }

    /// Whether a better rung is under way and lacks so little that a lesser one would cost more.
    private func isNearlyThere(_ id: Int, beyond quality: Quality) -> Bool {
        loads[id]?.joined.contains { key in
            guard let download = downloads[key], download.quality > quality, let total = download.total else {
                return false
            }
            switch download.state {
            // Queued: it moves to another path.
            case .queued, .running: return total - download.position <= max(65_536, total / 10)
            case .waiting, .backingOff, .finished, .failed, .cancelled: return false
            }
        } ?? false
    }

    private func lookIntoCache(_ id: Int) {
        guard let load = loads[id] else { return }
        let variants = Array(load.resource.variants.reversed())
        let key = load.resource.cacheKey
        // A cache that cannot be asked has nothing better.
        guard let holdings = try? cache.holdings(of: key, variants: variants) else { return }
        // What is shown stays until there is something else to show, whatever becomes of its entry.
        guard let best = holdings.rungs.first(where: { $0.freshness != .absent })?.entry, best.id != load.entry?.id
        else { return }
        if load.trigger == .prefetch {
            loads[id]?.entry = best
            loads[id]?.prefetched.insert(best.variant)
        } else if let body = try? cache.best(of: key, among: variants) {
            loads[id]?.entry = body.entry
            loads[id]?.body = body
        }
    }

    private func emit(_ id: Int) {
        guard let load = loads[id], let decision = load.decision else { return }
        let activity = activity(of: load)
        let isAtRest = isAtRest(load, activity)
        var body = load.body
        if load.trigger == .prefetch, let entry = load.entry {
            body = (try? cache.disk.unleasedBody(of: entry.key, variant: entry.variant)) ?? nil
        }
        let content: ResourceDisplay.Content
        if let body {
            content = .body(body, load.resource.quality(of: body.entry.variant))
        } else if isAtRest, load.empty.contains(load.resource.renditions[0].variant) {
            content = .empty
        } else {
            content = .placeholder(placeholder(decision, isAtRest, load.failure))
        }
        let display = ResourceDisplay(
            resource: load.resource.id, content: content, activity: activity, isAtRest: isAtRest,
            failure: load.failure, decision: decision)
        guard display.fingerprint != load.shown else { return }
        loads[id]?.shown = display.fingerprint
        load.displays.yield(display)
    }

    /// Whether nothing runs, and nothing that is decided will.
    private func isAtRest(_ load: Load, _ activity: ResourceDisplay.Activity) -> Bool {
        guard !activity.isRunning else { return false }
        // A tap's one attempt without a network has been made, or waits with the transfers for a network.
        guard load.decision?.fetches.isEmpty == false else { return true }
        return ladders.ladder(of: load.resource.identity).map { next(load, $0) == nil } ?? true
    }

    private func placeholder(_ decision: PolicyDecision, _ isAtRest: Bool, _ failure: FailureClass?) -> Placeholder {
        guard case .placeholder(let placeholder) = decision.display else { return .loading }
        // What was decided has failed, and nothing is under way in its place.
        if placeholder == .loading, failure != nil, isAtRest { return .failed }
        return placeholder
    }

    /// What runs, the best of it first; else what waits.
    private func activity(of load: Load) -> ResourceDisplay.Activity {
        let mine = load.joined.compactMap { downloads[$0] }.sorted { $0.quality > $1.quality }
        let activities = mine.map { download -> ResourceDisplay.Activity in
            let variant = download.resource.rendition(download.quality).variant
            switch download.state {
            case .queued: return .queued(variant)
            case .running(let progress):
                return .fetching(variant, received: progress.received, total: progress.total)
            case .waiting(let condition): return .waiting(variant, for: condition)
            case .backingOff(_, let failure): return .backingOff(variant, after: failure)
            case .finished, .failed, .cancelled: return .none
            }
        }
        return activities.first(where: \.isRunning) ?? activities.first ?? .none
    }

    // MARK: - Downloads

    private func join(_ id: Int, _ fetch: Fetch) {
        guard let load = loads[id] else { return }
        let resource = load.resource
        let rendition = resource.rendition(fetch.quality)
        var entry: CacheEntry?
        if fetch.kind == .revalidate {
            entry = (try? cache.disk.entry(of: resource.cacheKey, variant: rendition.variant)) ?? nil
            // Nothing to ask with: the whole body is fetched.
            if let found = entry, !found.metadata.hasValidator || rendition.method.body != nil { entry = nil }
        }
        let key = DownloadKey(resource: resource.identity, variant: rendition.variant, revalidated: entry?.id)
        let demand = Demand(fetch.quality, load.trigger, top: resource.quality(of: rendition.variant))
        if downloads[key] != nil {
            let isNewcomer = downloads[key]?.demands.updateValue(demand, forKey: id) == nil
            let isTap = isNewcomer && load.trigger.isUser
            loads[id]?.joined.insert(key)
            // The advisor's word counts where the engine would wait for longer, since it has a stop-watch of its own, or heard
            // of the path a moment later: a new waiter makes it look again.
            if case .waiting = downloads[key]?.state, isTap || downloads[key]?.hasAskedAgain == false {
                downloads[key]?.hasAskedAgain = true
                share(key, anew: true, isTap: isTap)
            } else {
                share(key, isTap: isTap)
            }
            return
        }
        // Renditions are checked when a resource is made.
        guard let request = try? rendition.request(for: resource.identity, demand, revalidating: entry) else { return }
        let meter = meter(of: request, for: resource.identity)
        meter.isCostAccepted = demand.isCostAccepted
        let size = ladders.ladder(of: resource.identity).flatMap { $0[fetch.quality].size }.map { max(0, $0) }
        do throws(BudgetError) {
            try meter.cover(size, begunOn: network.facts)
        } catch {
            // Somebody else was faster: the advisor hears of it and decides anew. What cannot be counted is not spent.
            if case .store = error {
                loads[id]?.failure = .storage
                loads[id]?.tried.insert(rendition.variant)
            }
            return
        }
        let sink = CacheSink(
            cache.disk, resource, rendition.variant, size: size, identity: request.identity, meter: meter,
            ladders: ladders, network: network, now: { [clock] in clock.now() })
        numbers += 1
        downloads[key] = Download(
            resource: resource, quality: fetch.quality, revalidated: entry, sink: sink, meter: meter,
            demands: [id: demand], demand: demand, share: engine.start(request, into: sink), shareNumber: numbers)
        loads[id]?.joined.insert(key)
        follow(key)
    }

    /// The meter of the transfer that still lingers for an equal request, or else a new one: the transfer then goes on with the
    /// sink and the meter it has.
    private func meter(of request: TransferRequest, for resource: ResourceID) -> BudgetMeter {
        if let meter = meters[request.identity]?.meter { return meter }
        let meter = BudgetMeter(budget, for: resource, on: network)
        meters = meters.filter { $0.value.meter != nil }
        meters[request.identity] = WeakMeter(meter: meter)
        return meter
    }

    /// Brings the share in the transfer in line with what those who wait want together.
    private func share(_ key: DownloadKey, anew: Bool = false, isTap: Bool = false) {
        guard let download = downloads[key], let demand = Demand.joined(Array(download.demands.values)),
            anew || demand != download.demand
        else { return }
        let rendition = download.resource.rendition(download.quality)
        guard
            let request = try? rendition.request(
                for: download.resource.identity, demand, revalidating: download.revalidated)
        else { return }
        numbers += 1
        downloads[key]?.demand = demand
        download.meter.isCostAccepted = demand.isCostAccepted
        // Joined before the old share is given up, so that the transfer goes on.
        downloads[key]?.share = engine.start(request, into: download.sink, isRenewal: !isTap)
        downloads[key]?.shareNumber = numbers
        download.share.cancel()
        follow(key)
    }

    private func follow(_ key: DownloadKey) {
        guard let download = downloads[key] else { return }
        let (share, number) = (download.share, download.shareNumber)
        Task { [weak self] in
            for await state in share.states { await self?.took(state, of: key, share: number) }
        }
    }

    private func leave(_ key: DownloadKey, _ id: Int) {
        loads[id]?.joined.remove(key)
        guard let download = downloads[key] else { return }
        downloads[key]?.demands[id] = nil
        guard downloads[key]?.demands.isEmpty == true else { return share(key) }
        downloads[key] = nil
        // The engine gives a new waiter a second to turn up; the part is kept.
        download.share.cancel()
    }

    private func took(_ state: TransferState, of key: DownloadKey, share: Int) {
        guard let download = downloads[key], download.shareNumber == share else { return }
        let wasRunning = if case .running = download.state { true } else { false }
        downloads[key]?.state = state
        switch state {
        case .running(let progress):
            downloads[key]?.position = progress.received
            downloads[key]?.hasAskedAgain = false
            if let total = progress.total, total != download.total {
                downloads[key]?.total = total
                ladders.learn(size: total, of: key.variant, in: download.resource)
            }
            for id in download.demands.keys { emit(id) }
        case .queued, .waiting, .backingOff:
            let isWaiting = if case .waiting = state { true } else { false }
            for id in download.demands.keys {
                if wasRunning || isWaiting { reconcile(id) }
                emit(id)
            }
        case .finished(let result):
            if result.body == .notModified, let entry = download.revalidated {
                revalidated(key, download, entry, result.head)
            } else if result.length == 0 {
                cameEmpty(key, download)
            } else {
                succeeded(key, download)
            }
        case .failed(let failure): failed(key, download, failure)
        case .cancelled: retire(key, download)
        }
    }

    private func retire(_ key: DownloadKey, _ download: Download) {
        downloads[key] = nil
        for id in download.demands.keys { loads[id]?.joined.remove(key) }
    }

    private func revalidated(
        _ key: DownloadKey, _ download: Download, _ entry: CacheEntry, _ head: ResponseHead
    ) {
        do throws(CacheError) {
            _ = try cache.revalidate(entry, metadata: CacheMetadata(head))
        } catch {
            return failed(key, download, TransferFailure(.storage))
        }
        succeeded(key, download)
    }

    private func succeeded(_ key: DownloadKey, _ download: Download) {
        retire(key, download)
        let measured = download.sink.measurement
        advisor.report(
            .succeeded(bytes: measured.bytes, in: measured.to - measured.from, on: measured.network),
            of: download.resource.identity)
        for id in download.demands.keys {
            loads[id]?.failure = nil
            lookIntoCache(id)
            reconcile(id)
            emit(id)
        }
    }

    /// There is no such data: not of this rung, and if it is the lowest, of none.
    private func cameEmpty(_ key: DownloadKey, _ download: Download) {
        retire(key, download)
        advisor.report(.succeeded(bytes: 0, in: .zero, on: nil), of: download.resource.identity)
        if download.quality > .lowest { ladders.leaveOut(key.variant, of: download.resource, for: nil) }
        for id in download.demands.keys {
            loads[id]?.failure = nil
            loads[id]?.empty.insert(key.variant)
            reconcile(id)
            emit(id)
        }
    }

    private func failed(_ key: DownloadKey, _ download: Download, _ failed: TransferFailure) {
        retire(key, download)
        let failure = failed.failure
        let resource = download.resource
        let present = download.demands.keys.lazy.compactMap { self.loads[$0]?.resource }.first
        if let present, present.rendition(download.quality) != resource.rendition(download.quality) {
            // Asked for where it no longer is.
            for id in download.demands.keys {
                reconcile(id)
                emit(id)
            }
            return
        }
        for id in download.demands.keys { loads[id]?.failure = failure }
        switch failure {
        case .tooLarge, .missing:
            if download.quality > .lowest {
                ladders.leaveOut(key.variant, of: resource, for: failure.remembered)
                // Of which there is a copy is not left out, and no other decision follows.
                if let ladder = ladders.ladder(of: resource.identity), ladder.top >= download.quality {
                    giveUp(key.variant, for: download.demands.keys)
                }
            } else {
                giveUp(key.variant, for: download.demands.keys)
                if failure == .missing, !download.demands.keys.contains(where: { isBusy($0) }) {
                    advisor.report(.unavailable(for: failure.remembered ?? .zero), of: resource.identity)
                }
            }
        case .insecure, .unauthorized, .corrupt, .storage, .rejected:
            giveUp(key.variant, for: download.demands.keys)
        case .hostNotFound, .refused, .timeout, .interrupted, .server, .captivePortal, .offlineSuspected:
            for id in download.demands.keys { loads[id]?.tried.insert(key.variant) }
            advisor.report(.failed(retryAfter: failed.retryAfter), of: resource.identity)
        case .offline, .cancelled:
            for id in download.demands.keys { loads[id]?.tried.insert(key.variant) }
        }
        for id in download.demands.keys {
            // A tap knows no back-off: no other decision comes that would begin what is left.
            if loads[id]?.trigger.isUser == true { reconcile(id) }
            emit(id)
        }
    }

    private func giveUp(_ variant: CacheVariant, for ids: some Sequence<Int>) {
        for id in ids {
            loads[id]?.givenUp.insert(variant)
            reconcile(id)
        }
    }

    private func isBusy(_ id: Int) -> Bool { loads[id]?.joined.isEmpty == false }

    // MARK: - The network

    /// Gives back what is set aside when a path is no longer charged, and tries again on another network what failed for good
    /// on the one before.
    func networkChanged() {
        let facts = network.facts
        for (key, download) in downloads {
            guard case .waiting = download.state else { continue }
            // The advisor may have heard of the path first, and the engine have been asked before it knew.
            downloads[key]?.hasAskedAgain = false
            for id in download.demands.keys { reconcile(id) }
        }
        if facts.isCharged != wasCharged {
            wasCharged = facts.isCharged
            if !wasCharged { for download in downloads.values { download.meter.settle() } }
        }
        guard facts.status.isOnline, facts.network != lastNetwork else { return }
        lastNetwork = facts.network
        for id in loads.keys where loads[id]?.givenUp.isEmpty == false {
            loads[id]?.givenUp = []
            reconcile(id)
            emit(id)
        }
    }
}
