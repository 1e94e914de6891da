extension ReachabilityMonitor {
    /// What a program can choose about a monitor.
    public struct Configuration: Sendable {
        /// Overrides the detected type or cost of some interfaces.
        public var rules: [InterfaceRule]

        /// The addresses that stand for "the Internet" in route lookups. No packet is ever sent to them.
        ///
        /// A family without a probe counts as one without a way out, so a list of IPv4 addresses alone makes a machine with nothing
        /// but IPv6 offline. An empty list stands for ``defaultProbes``.
        public var probes: [IPAddress] { didSet { if probes.isEmpty { probes = Self.defaultProbes } } }

        /// How often to ask where the kernel sends no notifications (``NetworkPath/Updates/polling(because:)``), and how often to
        /// try again where it can't be asked. A millisecond at least: shorter ones, and negative ones, are made one.
        public var pollInterval: Duration {
            didSet { pollInterval = Swift.max(pollInterval, Self.shortestPollInterval) }
        }

        /// 8.8.8.8, 198.41.0.4 (a.root-servers.net), and the IPv6 addresses of a. and b.root-servers.net.
        ///
        /// Two a family, in different halves of the address space, so that one prefix that somebody blackholes does not read as
        /// offline.
        public static let defaultProbes: [IPAddress] = [
            "8.8.8.8", "198.41.0.4", "2001:503:ba3e::2:30", "2801:1b8:10::b",
        ]
        .compactMap(IPAddress.init)

        private static let shortestPollInterval = Duration.milliseconds(1)

        /// - Parameters: see the properties.
        public init(
            rules: [InterfaceRule] = [], probes: [IPAddress] = defaultProbes, pollInterval: Duration = .seconds(2)
        ) {
            self.rules = rules
            self.probes = probes.isEmpty ? Self.defaultProbes : probes
            self.pollInterval = Swift.max(pollInterval, Self.shortestPollInterval)
        }
    }

    /// Counts of what went by without becoming a path. All of them since the monitor was made.
    public struct Statistics: Sendable, Hashable {
        /// Times that the receive buffer overflowed, each followed by a new snapshot.
        public internal(set) var overruns = 0
        /// Dumps that the kernel called interrupted to the end, each followed by another look.
        public internal(set) var interruptedDumps = 0
        /// Messages of other senders than the kernel, dropped.
        public internal(set) var forgedMessages = 0
        /// Messages shorter than they say, dropped.
        public internal(set) var malformedMessages = 0
        /// Messages that are no news of a link (bridge settings, wireless events with stale flags) or of an unknown type.
        public internal(set) var irrelevantMessages = 0
        /// Resumes from suspend, each followed by a new snapshot.
        public internal(set) var resumes = 0
        /// Times that the conversation with the kernel broke off and was taken up again.
        public internal(set) var reopenings = 0
        /// Snapshots taken: all links and addresses asked for.
        public internal(set) var snapshots = 0
        /// Rounds of route lookups.
        public internal(set) var evaluations = 0
        /// Changes of path published.
        public internal(set) var changes = 0

        /// Adds the counts of another session.
        static func += (total: inout Statistics, session: Statistics) {
            total.overruns += session.overruns
            total.interruptedDumps += session.interruptedDumps
            total.forgedMessages += session.forgedMessages
            total.malformedMessages += session.malformedMessages
            total.irrelevantMessages += session.irrelevantMessages
            total.resumes += session.resumes
            total.reopenings += session.reopenings
            total.snapshots += session.snapshots
            total.evaluations += session.evaluations
            total.changes += session.changes
        }
    }
}
