/// Everything a ``PolicyAdvisor`` knows, and what follows from it. A pure value: it is told what happens and at which
/// moment, and says which decisions are new and when it wants to be told of a moment.
struct AdvisorModel: Sendable {
    /// Somebody who wants to hear of decisions.
    struct Subscription: Sendable {
        var resource: ResourceID
        var trigger: Trigger
        /// `nil` until the cache has said what it has.
        var ladder: Ladder?
        /// What was decided last.
        var decision: PolicyDecision?
    }

    /// A decision somebody has to hear of.
    struct News: Sendable, Equatable {
        var subscription: UInt64
        var decision: PolicyDecision
    }

    private let policy: any DownloadPolicy
    private(set) var timing: PathTiming
    private(set) var admission = Admission()
    private(set) var throughput = ThroughputEstimate()
    private(set) var failures = FailureMemory()
    private(set) var log: DecisionLog
    var preferences: DownloadPreferences
    var budget: BudgetSnapshot?
    private(set) var subscriptions: [UInt64: Subscription] = [:]
    private var lastID: UInt64 = 0

    init(
        policy: any DownloadPolicy, preferences: DownloadPreferences, budget: BudgetSnapshot?, logCapacity: Int,
        at now: Duration
    ) {
        self.policy = policy
        self.preferences = preferences
        self.budget = budget
        log = DecisionLog(capacity: logCapacity)
        timing = PathTiming(at: now)
    }

    // MARK: What happens

    mutating func observe(_ path: PathFacts, at now: Duration) {
        timing.observe(path, at: now)
        if timing.isOut {
            admission.outageBegan()
        } else {
            admission.outageEnded()
        }
    }

    mutating func subscribe(to resource: ResourceID, trigger: Trigger) -> UInt64 {
        lastID += 1
        subscriptions[lastID] = Subscription(resource: resource, trigger: trigger)
        return lastID
    }

    mutating func unsubscribe(_ id: UInt64) {
        subscriptions[id] = nil
    }

    mutating func setLadder(_ ladder: Ladder, for id: UInt64) {
        subscriptions[id]?.ladder = ladder
    }

    mutating func take(
        _ outcome: TransferOutcome, of resource: ResourceID, at now: Duration,
        using generator: inout some RandomNumberGenerator
    ) {
        switch outcome {
        case .succeeded(let bytes, let duration, let network):
            throughput.record(bytes: bytes, in: duration, on: network)
            failures.succeeded(resource)
            admission.transferSucceeded()
        case .failed(let retryAfter):
            failures.failed(resource, at: now, retryAfter: retryAfter, using: &generator)
        case .unavailable(let time):
            failures.leaveAlone(resource, until: now + time, at: now)
        }
    }

    // MARK: What follows

    /// The next moment at which something changes by itself.
    func nextDeadline(after now: Duration) -> Duration? {
        let retries = subscriptions.values.compactMap { failures.notBefore($0.resource, at: now) }
        return (retries + [timing.nextDeadline].compactMap(\.self)).min()
    }

    /// The decisions that differ from those before, in order of subscription.
    mutating func news(at now: Duration) -> [News] {
        timing.advance(to: now)
        return subscriptions.keys.sorted().compactMap { decideAnew($0, at: now) }
    }

    /// The decision of one subscription, if it differs from the one before. If a moment has come at which something
    /// changes for all, it is left to the timer, which rings for that.
    mutating func news(for id: UInt64, at now: Duration) -> News? {
        if let moment = timing.nextDeadline, moment <= now { return nil }
        return decideAnew(id, at: now)
    }

    private mutating func decideAnew(_ id: UInt64, at now: Duration) -> News? {
        guard let subscription = subscriptions[id], let input = input(for: subscription, at: now) else { return nil }
        let decision = decide(input)
        guard decision != subscription.decision else { return nil }
        subscriptions[id]?.decision = decision
        log.add(DecisionLog.Entry(time: now, resource: subscription.resource, input: input, decision: decision))
        return News(subscription: id, decision: decision)
    }

    /// What the policy is asked for a subscription: with the path that fetching goes by.
    func input(for subscription: Subscription, at now: Duration) -> PolicyInput? {
        guard let ladder = subscription.ladder else { return nil }
        return PolicyInput(
            path: timing.fetching, preferences: preferences, trigger: subscription.trigger, ladder: ladder,
            budget: budget?.facts(for: subscription.resource),
            throughput: throughput.bytesPerSecond(on: timing.fetching.network),
            notBefore: failures.notBefore(subscription.resource, at: now))
    }

    /// The policy's decision, as the time table lets it through.
    func decide(_ input: PolicyInput) -> PolicyDecision {
        // Whoever taps looks at the network as it is and does not want to wait for it to hold.
        if timing.hold != nil, input.trigger.isUser { return policy.decide(input.on(timing.observed)) }
        var decision = policy.decide(input)
        if let hold = timing.hold { decision = held(decision, for: input, by: hold) }
        if timing.displaying != timing.fetching {
            decision.display = policy.decide(input.on(timing.displaying)).display
        }
        return decision
    }

    /// The decision for people. Counterfactuals are what the policy says of the path as it is.
    func explain(_ subscription: Subscription, at now: Duration) -> PolicyExplanation? {
        guard let input = input(for: subscription, at: now) else { return nil }
        return PolicyExplanation(
            input: input, decision: decide(input),
            counterfactuals: policy.counterfactuals(for: input.on(timing.observed)))
    }

    /// What is left of a decision while the path has to hold before more is spent.
    private func held(_ decision: PolicyDecision, for input: PolicyInput, by hold: PathTiming.Hold) -> PolicyDecision {
        let free = policy.decide(input.on(timing.observed))
        var held = decision
        if hold.isForFlapping, let best = input.ladder.bestCached {
            held.fetches.removeAll { $0.quality > best }
            held.expectedBytes = input.assumedBytes(of: held.fetches)
        }
        guard held.fetches != free.fetches, let goal = free.fetches.map(\.quality).max() else { return free }
        held.plan = .comeBack(for: goal, when: [.stable(until: hold.until)])
        held.reasons.append(Reason(.settling, [.status(timing.observed.status), .stableAt(hold.until)]))
        return held
    }
}

extension PolicyInput {
    /// The same on another path.
    fileprivate func on(_ path: PathFacts) -> PolicyInput {
        var other = self
        other.path = path
        return other
    }
}
