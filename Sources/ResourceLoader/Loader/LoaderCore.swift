import DownloadPolicy

/// Who loads what, which transfers run for them, and what each of them shows. Decisions and states of transfers come in,
/// displays go out; the network's changes go straight to the transfers, without passing through here.
actor LoaderCore {
    struct Load {
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
    struct DownloadKey: Hashable {
        var resource: ResourceID
        var variant: CacheVariant
        var revalidated: CacheEntry.ID?
    }

    struct Download {
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

    struct WeakMeter {
        weak var meter: BudgetMeter?
    }

    let engine: TransferEngine
    let cache: MemoryCache
    let ladders: CacheLadders
    let advisor: PolicyAdvisor
    let preferences: PreferencesStore
    let budget: LoaderBudget?
    let network: NetworkState
    let clock: any TransferClock

    var loads: [Int: Load] = [:]
    var downloads: [DownloadKey: Download] = [:]
    var meters: [RequestIdentity: WeakMeter] = [:]
    var numbers = 0
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
