/// A decision for people: what, why, and what would have to be otherwise.
public struct PolicyExplanation: Sendable, Hashable, Codable, CustomStringConvertible {
    /// What was asked.
    public var input: PolicyInput
    /// What was decided.
    public var decision: PolicyDecision
    /// What would have to be otherwise for a better rung.
    public var counterfactuals: [Counterfactual]

    /// What is shown, fetched and planned, in a line.
    public var summary: String { decision.words(for: input.ladder) }

    /// The reasons, a line each.
    public var reasons: [String] { decision.reasons.map { $0.words(for: input.ladder) } }

    /// What would have to be otherwise, a line each: "original if unmetered".
    public var alternatives: [String] {
        counterfactuals.map { counterfactual in
            let changes = counterfactual.changes.map(\.words).joined(separator: " and ")
            return "\(input.ladder.name(of: counterfactual.reached)) if \(changes)"
        }
    }

    /// All of it, in lines.
    public var description: String {
        ([summary] + reasons.map { "  because \($0)" } + alternatives.map { "  \($0)" }).joined(separator: "\n")
    }
}

extension PolicyDecision {
    /// What is shown, fetched and planned, in a line.
    public func words(for ladder: Ladder) -> String {
        var words: [String] = []
        switch display {
        case .rung(let quality): words.append("show the \(ladder.name(of: quality))")
        case .placeholder(let placeholder): words.append("show the placeholder \"\(placeholder.rawValue)\"")
        }
        if fetches.isEmpty {
            words.append("fetch nothing")
        } else {
            let list = fetches.map { fetch in
                (fetch.kind == .revalidate ? "revalidate" : "fetch") + " the \(ladder.name(of: fetch.quality))"
            }
            let cost = expectedBytes.map { "\($0) bytes" } ?? "unknown size"
            words.append(list.joined(separator: ", then ") + " (\(cost))")
        }
        if let offlineAttempt {
            words.append("try the \(ladder.name(of: offlineAttempt.quality)) once, since the user asked")
        }
        if case .comeBack(let quality, let conditions) = plan {
            let list = conditions.map(\.words).joined(separator: " and ")
            words.append("come back for the \(ladder.name(of: quality)) when \(list)")
        }
        return words.joined(separator: "; ")
    }
}

extension Condition {
    /// The condition, to follow "when".
    public var words: String {
        switch self {
        case .statusKnown: "the path is known"
        case .online: "there is a network"
        case .preferencesAllow: "the preferences allow it"
        case .notBefore(let moment): "the clock says \(moment.words)"
        case .unconstrained: "data saver is off"
        case .notRoaming: "at home"
        case .unmetered: "unmetered"
        case .budget: "the budget has room"
        case .stable(let moment): "the path has held until \(moment.words)"
        }
    }
}

extension Change {
    /// The change, to follow "if".
    public var words: String {
        switch self {
        case .online: "online"
        case .unmetered: "unmetered"
        case .unconstrained: "data saver were off"
        case .notRoaming: "at home"
        case .retryDue: "the next attempt were due"
        case .unbudgeted: "there were no data budget"
        case .automatic: "the preference were automatic"
        case .alwaysOriginal: "\"always download the original\" were on"
        case .roamingAllowed: "roaming were allowed"
        case .visible: "somebody looked at it"
        }
    }
}

extension Reason {
    /// The reason and the facts it read, in words.
    public func words(for ladder: Ladder) -> String {
        let list = facts.map { $0.words(for: ladder) }.joined(separator: ", ")
        return list.isEmpty ? rule.words : "\(rule.words) (\(list))"
    }
}

extension RuleID {
    /// What the rule says when it fires.
    public var words: String {
        switch self {
        case .statusUnknown: "nothing is known of the network yet"
        case .offline: "there is no network"
        case .cachedOnly: "the user wants nothing from the network"
        case .backoff: "earlier attempts failed and the next one is not due"
        case .userOverride: "the user asked for this"
        case .preferLowest: "the user prefers the lowest quality"
        case .constrained: "data is to be saved"
        case .roaming: "a foreign operator carries the bytes"
        case .expensive: "the network is expensive"
        case .expensiveAllowed: "the network is expensive, and the user accepts that"
        case .unmetered: "the network is not expensive"
        case .budget: "the data budget counts here"
        case .alreadyFresh: "what is wanted is in the cache"
        case .betterCached: "the cache has something better than what may be fetched"
        case .revalidate: "the copy in the cache may be out of date"
        case .lowestFirst: "it would take more than 10 s, so the lowest comes first"
        case .settling: "the better network has not held long enough yet"
        }
    }
}

extension Fact {
    /// The fact, in words.
    public func words(for ladder: Ladder) -> String {
        switch self {
        case .status(let status): "status \(status)"
        case .metered(let certainty): "metered: \(certainty)"
        case .constrained(let certainty): "constrained: \(certainty)"
        case .roaming(let certainty): "roaming: \(certainty)"
        case .mode(let mode): "preference \(mode.rawValue)"
        case .allowsRoaming(let allowed): "roaming \(allowed ? "allowed" : "not allowed")"
        case .trigger(let trigger): trigger.words(for: ladder)
        case .cache(let quality, let state): "the \(ladder.name(of: quality)) is \(state)"
        case .bytes(let quality, let bytes?): "the \(ladder.name(of: quality)) takes \(bytes) bytes"
        case .bytes(let quality, nil): "the size of the \(ladder.name(of: quality)) is unknown"
        case .budgetRemaining(let bytes): "\(bytes) bytes remain"
        case .throughput(let bytes): "\(bytes) bytes a second"
        case .notBefore(let moment): "not before \(moment.words)"
        case .stableAt(let moment): "stable at \(moment.words)"
        }
    }
}

extension Trigger {
    /// Who asks.
    func words(for ladder: Ladder) -> String {
        switch self {
        case .prefetch: "prefetch"
        case .visible: "visible"
        case .user(naming: nil): "a tap"
        case .user(naming: let named?): "a tap for the \(ladder.name(of: named))"
        }
    }
}
