/// What every download policy has to observe, whatever else it does.
public enum PolicyLaw: String, Sendable, Hashable, Codable, CaseIterable {
    /// Nothing is fetched unless there is a way out. The one attempt of a tap while offline is no fetch, and only that.
    case fetchesOnlyOnline
    /// What is shown is in the cache, and it is the best the cache has.
    case showsTheBestCached
    /// What is fresh is not fetched.
    case neverFetchesFresh
    /// A cached original is shown whatever the network, and while it is fresh nothing is fetched.
    case cachedOriginalWins
    /// Nothing lesser is fetched than what the cache has: no thumbnail when there is an original.
    case neverFetchesLesser
    /// There is always a reason.
    case givesReasons
    /// Prefetch and visible fetches on a charged path stay within the budget.
    case staysWithinBudget
    /// Making one cost fact worse never raises what is fetched or reached.
    case isMonotone
    /// Prefetch never spends more than visible, in bytes or in rungs.
    case prefetchIsThrifty
    /// Once what was decided has arrived, the same input asks for nothing.
    case comesToRest
    /// No arrival lowers what is shown.
    case arrivalNeverLowers
    /// The two-rung ladder follows the seed's table.
    case followsTheSeed
    /// The fetches are rungs of the ladder in ascending order, each once, revalidations of what is stale and downloads
    /// of what is absent; the expected bytes are their sum.
    case isWellFormed
    /// The same input gives the same decision. Asked at every 64th input.
    case isDeterministic
}

/// A law that does not hold, and where.
public struct LawViolation: Sendable, Hashable, CustomStringConvertible {
    /// The law.
    public var law: PolicyLaw
    /// The input.
    public var input: PolicyInput
    /// What the policy decided.
    public var decision: PolicyDecision
    /// The input it was compared with, for laws that compare.
    public var otherInput: PolicyInput?
    /// What the policy decided there.
    public var otherDecision: PolicyDecision?
    /// What is wrong, in words.
    public var explanation: String

    public var description: String {
        var lines = ["\(law.rawValue): \(explanation)", "  input: \(input)", "  decision: \(decision)"]
        if let otherInput, let otherDecision {
            lines += ["  compared with: \(otherInput)", "  decision: \(otherDecision)"]
        }
        return lines.joined(separator: "\n")
    }
}

/// What a check of the laws found.
public struct LawReport: Sendable, CustomStringConvertible {
    /// How many inputs the policy was asked about.
    public internal(set) var inputs = 0
    /// The first violations of each law, at most ``PolicyLaws/violationsKept`` of each.
    public internal(set) var violations: [LawViolation] = []
    /// How often each law was broken, those that are not listed included.
    public internal(set) var counts: [PolicyLaw: Int] = [:]

    /// Whether every law holds.
    public var holds: Bool { counts.isEmpty }

    /// The laws that do not hold.
    public var broken: Set<PolicyLaw> { Set(counts.keys) }

    public var description: String {
        if holds { return "all \(PolicyLaw.allCases.count) laws hold over \(inputs) inputs" }
        let totals = PolicyLaw.allCases.compactMap { law in counts[law].map { "\(law.rawValue) x \($0)" } }
        return (["broken over \(inputs) inputs: \(totals.joined(separator: ", "))"] + violations.map(\.description))
            .joined(separator: "\n")
    }

    mutating func add(_ violation: @autoclosure () -> LawViolation, of law: PolicyLaw) {
        let count = counts[law, default: 0]
        counts[law] = count + 1
        if count < PolicyLaws.violationsKept { violations.append(violation()) }
    }

    mutating func add(_ other: LawReport) {
        inputs += other.inputs
        for violation in other.violations
        where violations.count(where: { $0.law == violation.law }) < PolicyLaws.violationsKept {
            violations.append(violation)
        }
        counts.merge(other.counts, uniquingKeysWith: +)
    }
}
