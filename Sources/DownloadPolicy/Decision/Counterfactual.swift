/// One thing that could be otherwise.
public enum Change: Sendable, Hashable, Codable, CaseIterable {
    /// There is a way out, over Wi-Fi of unknown cost.
    case online
    /// Nobody counts the bytes.
    case unmetered
    /// Nobody asks to save data.
    case unconstrained
    /// No foreign operator carries the bytes.
    case notRoaming
    /// Earlier failures no longer count.
    case retryDue
    /// There is no data budget.
    case unbudgeted
    /// The user lets the policy choose, instead of asking for less.
    case automatic
    /// "Always download the original" is on.
    case alwaysOriginal
    /// The user accepts roaming.
    case roamingAllowed
    /// Somebody looks at it.
    case visible

    /// The input as it would be then; `nil` when that is how it is.
    func applied(to input: PolicyInput) -> PolicyInput? {
        var other = input
        switch self {
        case .online:
            guard !input.path.status.isOnline else { return nil }
            other.path.status = .wifi
        case .unmetered:
            other.path.metered = .no
        case .unconstrained:
            other.path.constrained = .no
        case .notRoaming:
            other.path.roaming = .no
        case .retryDue:
            other.notBefore = nil
        case .unbudgeted:
            other.budget = nil
        case .automatic:
            guard input.preferences.mode != .alwaysOriginal else { return nil }
            other.preferences.mode = .automatic
        case .alwaysOriginal:
            other.preferences.mode = .alwaysOriginal
        case .roamingAllowed:
            other.preferences.allowsRoaming = true
        case .visible:
            guard input.trigger == .prefetch else { return nil }
            other.trigger = .visible
        }
        return other == input ? nil : other
    }
}

/// What the policy would do if some things were otherwise.
public struct Counterfactual: Sendable, Hashable, Codable {
    /// The smallest set of changes that leads there.
    public var changes: [Change]
    /// What would be decided then.
    public var decision: PolicyDecision
    /// The rung that would be reached.
    public var reached: Quality
}

extension DownloadPolicy {
    /// What would have to be otherwise for a better rung to be reached, found by asking the policy again.
    ///
    /// Every set of one, two or three changes is tried, smaller sets first; a set is left out when a part of it alone
    /// leads as far. The best and smallest come first. Costs at most some 175 calls of ``decide(_:)``.
    public func counterfactuals(for input: PolicyInput) -> [Counterfactual] {
        let now = decide(input).reached(from: input.ladder)
        guard now != input.ladder.top else { return [] }
        let changes = Change.allCases.filter { $0.applied(to: input) != nil }
        var found: [Counterfactual] = []
        for size in 1...3 {
            for set in changes.combinations(of: size) {
                var other = input
                for change in set { other = change.applied(to: other) ?? other }
                let decision = decide(other)
                guard let reached = decision.reached(from: input.ladder), now.map({ reached > $0 }) ?? true else {
                    continue
                }
                let explained = found.contains { earlier in
                    earlier.reached >= reached && earlier.changes.allSatisfy(set.contains)
                }
                if !explained { found.append(Counterfactual(changes: set, decision: decision, reached: reached)) }
            }
        }
        return found.enumerated().sorted { left, right in
            if left.element.reached != right.element.reached { return left.element.reached > right.element.reached }
            return left.offset < right.offset
        }.map(\.element)
    }

    /// The decision, why it was made, and what would have to be otherwise, in a form for people.
    public func explain(_ input: PolicyInput) -> PolicyExplanation {
        PolicyExplanation(input: input, decision: decide(input), counterfactuals: counterfactuals(for: input))
    }
}

extension Array {
    /// All subsets of a size, in order.
    fileprivate func combinations(of size: Int) -> [[Element]] {
        guard size > 0 else { return [[]] }
        return indices.flatMap { index in
            Array(self[(index + 1)...]).combinations(of: size - 1).map { [self[index]] + $0 }
        }
    }
}
