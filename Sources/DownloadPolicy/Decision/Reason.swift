/// The rules that can fire. Raw values are stable: they travel in logs.
public enum RuleID: String, Sendable, Hashable, Codable, CaseIterable {
    /// B1: nothing is known of the path yet.
    case statusUnknown
    /// B2: there is no way out.
    case offline
    /// B3: the user wants nothing from the network.
    case cachedOnly
    /// B4: earlier attempts failed, and the next one is some time off.
    case backoff
    /// B5: the user asked for this rung.
    case userOverride
    /// B6: the user wants the lowest rung only.
    case preferLowest
    /// B7: data saver.
    case constrained
    /// B8: a foreign operator carries the bytes.
    case roaming
    /// B9: the path is expensive, and that held something back or would have.
    case expensive
    /// B9: the path is expensive, and the user accepts that.
    case expensiveAllowed
    /// B10: the path is not expensive.
    case unmetered
    /// B11: the path is charged and there is a budget.
    case budget
    /// C: what is allowed is in the cache and fresh.
    case alreadyFresh
    /// C: the cache has something better than what may be fetched.
    case betterCached
    /// C: the cached copy is stale and may be asked about.
    case revalidate
    /// C: the wanted rung would take more than 10 s, so the lowest comes first.
    case lowestFirst
    /// The advisor: a cheaper path has not held long enough yet.
    case settling
}

/// A fact a rule read, as it was.
public enum Fact: Sendable, Hashable, Codable {
    /// The path's status.
    case status(PathFacts.Status)
    /// Whether the path is metered.
    case metered(Certainty)
    /// Whether data is to be saved.
    case constrained(Certainty)
    /// Whether the path roams.
    case roaming(Certainty)
    /// The user's mode.
    case mode(DownloadPreferences.Mode)
    /// Whether the user accepts roaming.
    case allowsRoaming(Bool)
    /// What asked.
    case trigger(Trigger)
    /// What the cache has of a rung.
    case cache(Quality, CacheState)
    /// The bytes a rung is taken to cost; `nil` when unknown.
    case bytes(Quality, Int64?)
    /// What remains of the budget, in bytes.
    case budgetRemaining(Int64)
    /// Measured throughput in bytes a second.
    case throughput(Int64)
    /// No attempt before this moment, on the caller's time line.
    case notBefore(Duration)
    /// The moment until which the path has to hold, on the caller's time line.
    case stableAt(Duration)
}

/// A rule that fired, with the facts it read.
public struct Reason: Sendable, Hashable, Codable {
    /// The rule.
    public var rule: RuleID
    /// What it read, as it was.
    public var facts: [Fact]

    /// A reason.
    public init(_ rule: RuleID, _ facts: [Fact]) {
        self.rule = rule
        self.facts = facts
    }
}
