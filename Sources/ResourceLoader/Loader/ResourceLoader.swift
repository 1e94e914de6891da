import DownloadPolicy
import Reachability
import Synchronization

/// Counts of what went by without being shown to anybody. All of them since the loader was made.
public struct LoaderStatistics: Sendable, Hashable {
    /// Answers that came while the monitor said offline.
    public var contradictions = 0
    /// Times that the data budget's file could not be written when a transfer had ended; what was set aside for it stays
    /// counted as spent.
    public var unsettledBudgets = 0
    /// Times that the cache could not be asked, and counted as empty.
    public var failedCacheQuestions = 0
}

/// Shows resources as well as network, preferences, budget and cache allow, and keeps to it while they change.
///
/// ```swift
/// let loader = try ResourceLoader(
///     monitor: ReachabilityMonitor(), preferences: try PreferencesStore(application: "gallery"),
///     cache: try DiskCache(directory: folder))
/// for await display in loader.load(photo, trigger: .visible) {
///     show(display.content)    // a placeholder, the thumbnail, the original
/// }
/// ```
///
/// It follows a `PolicyAdvisor` for what to fetch, gives the monitor's changes to a ``TransferEngine`` at once, which
/// stops and resumes what runs, and commits what arrives to the cache. Safe to use from any thread.
public final class ResourceLoader: Sendable {
    /// Who decides; for explanations and the log of decisions.
    public let advisor: PolicyAdvisor
    /// What is stored, memory in front of the disk.
    public let cache: MemoryCache

    let engine: TransferEngine
    private let core: LoaderCore
    private let ladders: CacheLadders
    private let network: NetworkState
    private let budget: LoaderBudget?
    private let contradictions: Counter
    private let tasks: [Task<Void, Never>]

    private final class Counter: Sendable {
        let value = Atomic<Int>(0)
    }

    /// A loader that begins to follow the monitor at once, and keeps it running.
    ///
    /// - Parameters:
    ///   - monitor: whose paths count.
    ///   - preferences: the user's preferences.
    ///   - cache: where bodies are stored, and parts of them.
    ///   - memory: the most bytes of bodies kept in memory besides.
    ///   - budget: the data budget for charged paths, if there is one.
    ///   - policy: who decides.
    ///   - facts: what a policy may know of a path; whoever knows of roaming adds it here. It is called in a task, never on the
    ///     monitor's thread. Transfers learn of a path when it has answered, so that it should not wait for anything. Without it,
    ///     the facts are those of `PathFacts(_:)`, and transfers learn of them sooner by a change of threads.
    /// - Throws: ``TransferEngineError`` when the system has no thread or libcurl cannot be used.
    public convenience init(
        monitor: ReachabilityMonitor, preferences: PreferencesStore, cache: DiskCache, memory: Int = 32 << 20,
        budget: DataBudget? = nil, policy: some DownloadPolicy = .standard,
        facts: (@Sendable (NetworkPath) -> PathFacts)? = nil
    ) throws(TransferEngineError) {
        try self.init(
            monitor: monitor, preferences: preferences, cache: cache, memory: memory, budget: budget, policy: policy,
            facts: facts, clock: ContinuousClock(), transfers: TransferConfiguration())
    }

    /// The seam for tests: clocks that are moved by hand.
    package init<C: Clock>(
        monitor: ReachabilityMonitor, preferences: PreferencesStore, cache: DiskCache, memory: Int = 32 << 20,
        budget: DataBudget? = nil, policy: some DownloadPolicy = .standard,
        facts: (@Sendable (NetworkPath) -> PathFacts)? = nil, clock: C,
        transfers: TransferConfiguration, wallTime: @escaping @Sendable () -> WallTime = WallTime.now
    ) throws(TransferEngineError) where C.Duration == Duration {
        let budget = budget.map { LoaderBudget($0) }
        let network = NetworkState()
        let memory = MemoryCache(over: cache, byteBudget: memory)
        var transfers = transfers
        // Until the monitor has spoken, as if on a path of unknown cost.
        transfers.path = TransferPath(.unknown, PathFacts(.unknown))
        transfers.preferences = Self.allowances(preferences.current, budget)
        let engine = try TransferEngine(transfers)
        let ladders = CacheLadders(memory, timeline: LoaderTimeline(clock), wallTime: wallTime)
        let factsOf = facts ?? { PathFacts($0) }
        let advisor = PolicyAdvisor(
            paths: monitor.map { factsOf($0) }, preferences: preferences, ladders: ladders, budget: budget?.budget,
            policy: policy, clock: clock)
        let core = LoaderCore(
            engine: engine, cache: memory, ladders: ladders, advisor: advisor, preferences: preferences,
            budget: budget, network: network, clock: transfers.clock)
        let contradictions = Counter()
        self.engine = engine
        self.cache = memory
        self.ladders = ladders
        self.advisor = advisor
        self.core = core
        self.network = network
        self.budget = budget
        self.contradictions = contradictions

        var tasks = [
            // On the reader's own thread: between the kernel's event and the end of bytes lies no other thread's turn. Callers'
            // code never runs there.
            Task(executorPreference: facts == nil ? monitor.readerExecutor : nil) {
                for await path in monitor {
                    let facts = factsOf(path)
                    // First, since what the engine sends over the new path is counted by it.
                    network.set(facts)
                    engine.update(path: TransferPath(path, facts))
                    network.announce()
                }
            },
            Task { for await _ in network.ticks() { await core.networkChanged() } },
            Task {
                for await current in preferences.changes() {
                    engine.update(preferences: Self.allowances(current, budget))
                }
            },
            Task {
                for await outcome in engine.outcomes() where outcome.contradictsPath {
                    contradictions.value.add(1, ordering: .relaxed)
                    // Where the kernel cannot be asked, there is nothing to be told.
                    _ = try? await monitor.refresh()
                }
            },
        ]
        if let budget {
            tasks.append(
                Task {
                    for await _ in budget.budget.changes() {
                        engine.update(preferences: Self.allowances(preferences.current, budget))
                    }
                })
        }
        self.tasks = tasks
    }

    deinit { for task in tasks { task.cancel() } }

    private static func allowances(_ preferences: DownloadPreferences, _ budget: LoaderBudget?) -> TransferPreferences {
        TransferPreferences(preferences, remaining: budget?.remaining, reserve: budget?.budget.assumedSize)
    }

    /// What to show of a resource: the present first, then whenever it or what is done for it changes.
    ///
    /// Each call makes a stream of its own, for one reader; a slow one gets the newest. It goes on until it is dropped or
    /// its task is cancelled or the loader is shut down, and keeps the loader alive meanwhile. Equal loads share transfers; when
    /// the last one is gone, the transfer lingers for a second and then ends, keeping what can be resumed. A tap
    /// (`trigger: .user`) makes one attempt even while the path is offline.
    public func load(_ resource: Resource, trigger: Trigger = .visible) -> AsyncStream<ResourceDisplay> {
        let (stream, displays) = AsyncStream.makeStream(
            of: ResourceDisplay.self, bufferingPolicy: .bufferingNewest(1))
        ladders.enter(resource)
        let task = Task { [core, advisor, ladders] in
            if let id = await core.begin(resource, trigger, displays) {
                for await decision in advisor.decisions(for: resource.identity, trigger: trigger) {
                    guard await core.decided(id, decision) else { break }
                }
                await core.end(id)
            }
            ladders.leave(resource)
        }
        displays.onTermination = { [self] _ in
            task.cancel()
            withExtendedLifetime(self) {}
        }
        return stream
    }

    /// What attempts say about the network, from now on; those that contradict the monitor have made it look again. Each
    /// call gives a stream of its own. See ``TransferEngine/outcomes()``.
    public func evidence() -> AsyncStream<TransferOutcome> { engine.outcomes() }

    /// The path's facts as transfers see them.
    public var path: PathFacts { network.facts }

    /// What transfers have done so far.
    public var transfers: TransferStatistics { engine.statistics }

    /// What went by without being shown to anybody.
    public var statistics: LoaderStatistics {
        LoaderStatistics(
            contradictions: contradictions.value.load(ordering: .relaxed), unsettledBudgets: budget?.failures ?? 0,
            failedCacheQuestions: ladders.failures)
    }

    /// Ends all loads and their transfers, keeping what can be resumed, and returns when sockets and files are closed. What is
    /// loaded later ends at once, having shown nothing.
    public func shutDown() async {
        await core.shutDown()
        await engine.shutDown()
    }
}
