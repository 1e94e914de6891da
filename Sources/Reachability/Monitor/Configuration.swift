extension ReachabilityMonitor {
    /// What a program can set about a monitor.
    public struct Configuration: Sendable {
        /// What the program knows better than the kernel about some interfaces.
        public var rules: [InterfaceRule]

        /// The addresses that stand for "the Internet" in route lookups. No packet is ever sent to them.
        ///
        /// Two a family by default, in different halves of the address space, so that one prefix that somebody blackholes does
        /// not read as offline: 8.8.8.8, 198.41.0.4 (a.root-servers.net), and the IPv6 addresses of a. and b.root-servers.net.
        public var probes: [IPAddress]

        /// How often to ask where the kernel does not ring (``NetworkPath/Updates/polling(because:)``), and how often to try again
        /// where it can't be asked.
        public var pollInterval: Duration

        /// - Parameter probes: `nil` for the default ones.
        public init(
            rules: [InterfaceRule] = [], probes: [IPAddress]? = nil, pollInterval: Duration = .seconds(2)
        ) {
            self.rules = rules
            self.probes = probes ?? Self.defaultProbes
            self.pollInterval = pollInterval
        }

        private static let defaultProbes = ["8.8.8.8", "198.41.0.4", "2001:503:ba3e::2:30", "2801:1b8:10::b"]
            .compactMap(IPAddress.init)
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
    }
}
