/// What makes someone ask for a resource.
public enum Trigger: Sendable, Hashable, Codable {
    /// Nobody looks at it yet.
    case prefetch
    /// It is on the screen.
    case visible
    /// The user tapped; with a rung named ("load the original") that rung is wanted whatever it costs. A rung above the
    /// ladder means the ladder's top.
    case user(naming: Quality?)

    /// A tap that names no rung ("reload").
    public static let user = Trigger.user(naming: nil)

    /// Whether the user tapped.
    public var isUser: Bool {
        if case .user = self { return true }
        return false
    }
}

/// What remains of the data budget.
public struct BudgetFacts: Sendable, Hashable, Codable {
    /// Bytes that may still be spent on charged paths in this billing period; below zero counts as zero.
    public var remaining: Int64
    /// Bytes that are assumed for a transfer of unknown size.
    public var reserve: Int64

    /// What remains, and what an unknown size is assumed to be.
    public init(remaining: Int64, reserve: Int64) {
        self.remaining = remaining
        self.reserve = reserve
    }
}

/// Everything a ``DownloadPolicy`` may look at.
public struct PolicyInput: Sendable, Hashable, Codable {
    /// The path's facts.
    public var path: PathFacts
    /// What the user wants.
    public var preferences: DownloadPreferences
    /// Why this is asked.
    public var trigger: Trigger
    /// What the cache has of each rung, and their sizes.
    public var ladder: Ladder
    /// What remains of the data budget; `nil` when there is none.
    public var budget: BudgetFacts?
    /// Measured throughput of this path in bytes a second; `nil` when nothing has been measured.
    public var throughput: Int64?
    /// The moment before which earlier failures advise against another attempt, on the caller's time line; `nil` when
    /// there is none *or it has passed*. The function has no clock: who asks compares with the present moment.
    public var notBefore: Duration?

    /// An input; what is left out is unknown or unlimited.
    public init(
        path: PathFacts, preferences: DownloadPreferences = DownloadPreferences(), trigger: Trigger = .visible,
        ladder: Ladder, budget: BudgetFacts? = nil, throughput: Int64? = nil, notBefore: Duration? = nil
    ) {
        self.path = path
        self.preferences = preferences
        self.trigger = trigger
        self.ladder = ladder
        self.budget = budget
        self.throughput = throughput
        self.notBefore = notBefore
    }

    /// The bytes a transfer of a rung is taken to cost: its size, or the budget's reserve where that is unknown; `nil`
    /// when neither is known. A revalidation counts in full, since the answer may be the whole body.
    public func assumedBytes(of quality: Quality) -> Int64? {
        ladder[quality].knownSize ?? budget.map { max(0, $0.reserve) }
    }

    /// The sum of ``assumedBytes(of:)``, `nil` if one of them is unknown. Saturates instead of overflowing.
    public func assumedBytes(of fetches: [Fetch]) -> Int64? {
        var sum: Int64 = 0
        for fetch in fetches {
            guard let bytes = assumedBytes(of: fetch.quality) else { return nil }
            sum = sum.addingSaturated(bytes)
        }
        return sum
    }
}

extension Int64 {
    /// A sum that stops at the largest number.
    func addingSaturated(_ other: Int64) -> Int64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? (other < 0 ? .min : .max) : sum
    }
}
