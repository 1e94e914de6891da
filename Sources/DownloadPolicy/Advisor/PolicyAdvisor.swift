import Synchronization

/// Says what a cache has of resources.
public protocol LadderSource: Sendable {
    /// What the cache has of a resource: the present ladder first, without delay, and a new one whenever it changes.
    /// Called once for each stream of decisions; the stream is dropped with that one.
    func ladders(of resource: ResourceID) -> AsyncStream<Ladder>
}

/// Follows the path, the preferences, the cache and the budget, and says for each resource what to show and what to
/// fetch.
///
/// ```swift
/// let advisor = PolicyAdvisor(
///     monitor: ReachabilityMonitor(), preferences: try PreferencesStore(application: "gallery"),
///     ladders: ladders)    // what your cache has: your own LadderSource
/// for await decision in advisor.decisions(for: "photo 1", trigger: .visible) {
///     show(decision.display)
///     fetch(decision.fetches)
/// }
/// ```
///
/// Programs that use `ResourceLoader` need none of their own: its `advisor` knows its cache.
///
/// A ``DownloadPolicy`` knows no time; the advisor adds it. What costs less or is safer takes effect at once: a path
/// that became costlier or is gone stops fetching in that moment. What costs more waits until the path has held:
///
/// - a path of which nothing is known holds everything up for at most 500 ms, and is then taken for one of unknown cost
/// - after a change to a cheaper path, upgrades wait for 3 s of stability; while the path flaps (3 changes in 30 s) for
///   5 s, doubling to 60 s
/// - a path that is gone is shown as such after 2 s, if it is not back by then
/// - after an outage, ``admission`` says how many transfers may run at once
///
/// The advisor works until it and all its streams are gone. If the sequence of paths ends, the path counts as unknown.
/// Safe to use from any thread. The policy is called under a lock: it must not call back.
public final class PolicyAdvisor: Sendable {
    private let core: AdvisorCore
    private let ladders: any LadderSource
    private let tasks: [Task<Void, Never>]

    /// An advisor that begins to follow at once.
    ///
    /// - Parameters:
    ///   - paths: the path's facts, the present ones first.
    ///   - preferences: the user's preferences.
    ///   - ladders: what the cache has.
    ///   - budget: the data budget, if there is one.
    ///   - policy: who decides.
    ///   - clock: the time that delays are measured by.
    ///   - logCapacity: how many decisions ``log`` keeps.
    public init<Paths: AsyncSequence & Sendable, C: Clock>(
        paths: Paths, preferences: PreferencesStore, ladders: some LadderSource, budget: DataBudget? = nil,
        policy: some DownloadPolicy = .standard, clock: C = ContinuousClock(), logCapacity: Int = 256
    ) where Paths.Element == PathFacts, Paths.Failure == Never, C.Duration == Duration {
        let timeline = Timeline(clock)
        let core = AdvisorCore(timeline: timeline) { now in
            AdvisorModel(
                policy: policy, preferences: preferences.current, budget: budget?.snapshot, logCapacity: logCapacity,
                at: now)
        }
        self.core = core
        self.ladders = ladders
        var tasks = [
            Task {
                for await path in paths { core.take { $0.observe(path, at: $1) } }
                // A monitor that was stopped says nothing of the path any more. A task that was cancelled has nobody to
                // tell.
                if !Task.isCancelled { core.take { $0.observe(PathFacts(.unknown), at: $1) } }
            },
            Task {
                for await value in preferences.changes() { core.take { model, _ in model.preferences = value } }
            },
        ]
        if let budget {
            tasks.append(
                Task {
                    for await snapshot in budget.snapshots() { core.take { model, _ in model.budget = snapshot } }
                })
            tasks.append(
                Task {
                    while !Task.isCancelled {
                        do { try await timeline.sleep(timeline.now() + budget.untilRefresh) } catch { return }
                        // If the file cannot be written now, whoever spends next begins the period in it.
                        try? budget.refresh()
                        core.take { model, _ in model.budget = budget.snapshot }
                    }
                })
        }
        self.tasks = tasks
    }

    deinit {
        for task in tasks { task.cancel() }
        core.stop()
    }

    /// What to do about a resource: the present decision first, then a new one whenever the path, the preferences, the
    /// cache or the budget change it. A slow consumer gets the newest.
    ///
    /// Each call makes a stream of its own, which keeps the advisor alive; it ends when it is dropped or its task is
    /// cancelled. A stream ends by itself only if the ``LadderSource`` ends without having said anything.
    public func decisions(for resource: ResourceID, trigger: Trigger) -> AsyncStream<PolicyDecision> {
        let (stream, continuation) = AsyncStream<PolicyDecision>.makeStream(bufferingPolicy: .bufferingNewest(1))
        let id = core.subscribe(continuation, to: resource, trigger: trigger)
        let task = Task { [core, ladders] in
            var hasLadder = false
            for await ladder in ladders.ladders(of: resource) {
                hasLadder = true
                core.setLadder(ladder, for: id)
            }
            if !hasLadder { continuation.finish() }
        }
        continuation.onTermination = { [self] _ in
            task.cancel()
            core.unsubscribe(id)
        }
        return stream
    }

    /// The path as it was last seen, without delays.
    public var path: PathFacts { core.read { $0.timing.observed } }

    /// The present moment on the time line of ``Condition/notBefore(_:)`` and ``Condition/stable(until:)``: the time
    /// since the advisor began.
    public var now: Duration { core.timeline.now() }

    /// How many transfers may run at once.
    public var admission: Admission { core.admissions.value }

    /// How many transfers may run at once: now, and after every change.
    public func admissions() -> AsyncStream<Admission> {
        core.admissions.stream(keeping: self)
    }

    /// Takes notice of how a transfer ended: for the throughput of its network, the memory of failures, and
    /// ``admission``.
    public func report(_ outcome: TransferOutcome, of resource: ResourceID) {
        core.take { model, now in
            var generator = SystemRandomNumberGenerator()
            model.take(outcome, of: resource, at: now, using: &generator)
        }
    }

    /// The last decisions.
    public var log: DecisionLog { core.read(\.log) }

    /// What has been measured.
    public var throughput: ThroughputEstimate { core.read(\.throughput) }

    /// Why the present decision about a resource is what it is, and what would have to be otherwise, for people. `nil`
    /// if nobody follows that resource with that trigger, or the cache has said nothing about it yet.
    ///
    /// The counterfactuals ask the policy as it is, without delays.
    public func explain(_ resource: ResourceID, trigger: Trigger) -> PolicyExplanation? {
        core.explain(resource, trigger: trigger)
    }
}
