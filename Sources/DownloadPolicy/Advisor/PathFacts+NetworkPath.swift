public import Reachability

extension PathFacts {
    /// The facts of a monitored path.
    ///
    /// - A path that is expensive is metered. One that is not is free only if the program said so of the interface
    ///   beneath (an `InterfaceRule`); otherwise nobody knows.
    /// - Nobody but the program can say that an interface is constrained, so that one which is not is `unknown`.
    /// - The kernel knows nothing of roaming. Who knows (a modem manager, say) sets ``roaming`` before handing the
    ///   facts on.
    /// - ``network`` is the physical interface and the first gateway.
    public init(_ path: NetworkPath) {
        let physical = path.via ?? path.interface
        let metered: Certainty =
            if path.isExpensive {
                .yes
            } else if case .rule = physical?.costEvidence {
                .no
            } else {
                .unknown
            }
        self.init(
            path.status, metered: metered, constrained: path.isConstrained ? .yes : .unknown,
            network: physical.map { physical in
                path.gateways.first.map { "\(physical.name) via \($0)" } ?? physical.name
            })
    }
}

extension PolicyAdvisor {
    /// An advisor that follows a monitor, and keeps it running for as long as it works.
    ///
    /// If the monitor cannot be started or is stopped, the path counts as unknown.
    public convenience init<C: Clock>(
        monitor: ReachabilityMonitor, preferences: PreferencesStore, ladders: some LadderSource,
        budget: DataBudget? = nil, policy: some DownloadPolicy = .standard, clock: C = ContinuousClock(),
        logCapacity: Int = 256
    ) where C.Duration == Duration {
        self.init(
            paths: monitor.map { PathFacts($0) }, preferences: preferences, ladders: ladders, budget: budget,
            policy: policy, clock: clock, logCapacity: logCapacity)
    }
}
