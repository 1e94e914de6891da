/// What was decided when, for people: the last decisions, and how many older ones were dropped.
public struct DecisionLog: Sendable, CustomStringConvertible {
    /// A decision that was handed out.
    public struct Entry: Sendable, Hashable, Codable, CustomStringConvertible {
        /// When, since the advisor began.
        public var time: Duration
        /// For which resource.
        public var resource: ResourceID
        /// What was asked.
        public var input: PolicyInput
        /// What was decided.
        public var decision: PolicyDecision

        /// The entry in one line: time, resource, decision, reasons.
        public var description: String {
            let reasons = decision.reasons.map { $0.words(for: input.ladder) }.joined(separator: "; ")
            return "\(time.words) \(resource): \(decision.words(for: input.ladder)). Because \(reasons)."
        }
    }

    /// The most entries that are kept.
    public let capacity: Int
    /// The entries, the oldest first.
    public private(set) var entries: [Entry] = []
    /// How many older ones were dropped.
    public private(set) var dropped = 0

    init(capacity: Int) {
        self.capacity = max(1, capacity)
    }

    mutating func add(_ entry: Entry) {
        if entries.count == capacity {
            entries.removeFirst()
            dropped += 1
        }
        entries.append(entry)
    }

    /// A line for each entry, and one for those that were dropped.
    public var description: String {
        ((dropped > 0 ? ["(\(dropped) earlier ones dropped)"] : []) + entries.map(\.description)).joined(
            separator: "\n")
    }
}
