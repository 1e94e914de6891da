/// What the rules have made of an input so far. Only rules write to it.
package struct Allowance: Sendable {
    /// The highest rung a rule may still grant; `nil`: none.
    package var ceiling: Quality?
    /// The rung that may be fetched; `nil`: none.
    package var granted: Quality?
    /// The rules that fired.
    package var reasons: [Reason] = []
    /// What stood in the way of the top rung.
    package var conditions: [Condition] = []

    package init(top: Quality) {
        ceiling = top
    }

    /// Notes that a rule fired.
    package mutating func fired(_ rule: RuleID, _ facts: [Fact]) {
        reasons.append(Reason(rule, facts))
    }

    /// Lowers the ceiling and notes on what condition it can rise again.
    package mutating func lower(to quality: Quality?, until condition: Condition) {
        conditions.append(condition)
        guard let quality else {
            ceiling = nil
            return
        }
        ceiling = ceiling.map { min($0, quality) }
    }
}

/// One line of the allowance table.
///
/// The lines are walked in order. A line that names a final answer (B1 to B5) ends the walk; the others lower what may
/// still be granted, B9 and B10 grant it, and B11 takes back what the budget has no room for. That every later line
/// still speaks after a line that says "at most" is what makes the policy monotone, and keeps "lowest" from spending
/// more than "automatic" does.
package struct AllowanceRule: Sendable {
    package enum Walk {
        case goesOn
        case ends
    }

    /// The line of the table: "B1" to "B11".
    package let line: String
    package let apply: @Sendable (PolicyInput, inout Allowance) -> Walk

    package init(_ line: String, _ apply: @escaping @Sendable (PolicyInput, inout Allowance) -> Walk) {
        self.line = line
        self.apply = apply
    }
}

extension AllowanceRule {
    /// B1 to B11.
    package static let all: [AllowanceRule] = [
        statusUnknown, offline, cachedOnly, backoff, userOverride, preferLowest, constrained, roaming, expensive,
        unmetered, budget,
    ]

    package static let statusUnknown = AllowanceRule("B1") { input, allowance in
        guard input.path.status == .unknown else { return .goesOn }
        allowance.fired(.statusUnknown, [.status(.unknown)])
        allowance.lower(to: nil, until: .statusKnown)
        return .ends
    }

    package static let offline = AllowanceRule("B2") { input, allowance in
        guard input.path.status == .offline else { return .goesOn }
        allowance.fired(.offline, [.status(.offline)])
        allowance.lower(to: nil, until: .online)
        return .ends
    }

    package static let cachedOnly = AllowanceRule("B3") { input, allowance in
        guard input.preferences.mode == .cachedOnly else { return .goesOn }
        allowance.fired(.cachedOnly, [.mode(.cachedOnly)])
        allowance.lower(to: nil, until: .preferencesAllow)
        return .ends
    }

    package static let backoff = AllowanceRule("B4") { input, allowance in
        guard let moment = input.notBefore, !input.trigger.isUser else { return .goesOn }
        allowance.fired(.backoff, [.notBefore(moment), .trigger(input.trigger)])
        allowance.lower(to: nil, until: .notBefore(moment))
        return .ends
    }

    package static let userOverride = AllowanceRule("B5") { input, allowance in
        guard case .user(naming: let named?) = input.trigger else { return .goesOn }
        allowance.fired(.userOverride, [.trigger(input.trigger)])
        allowance.granted = min(named, input.ladder.top)
        return .ends
    }

    package static let preferLowest = AllowanceRule("B6") { input, allowance in
        guard input.preferences.mode == .lowest else { return .goesOn }
        allowance.fired(.preferLowest, [.mode(.lowest)])
        allowance.lower(to: .lowest, until: .preferencesAllow)
        return .goesOn
    }

    package static let constrained = AllowanceRule("B7") { input, allowance in
        guard input.path.constrained == .yes else { return .goesOn }
        allowance.fired(.constrained, [.constrained(.yes), .trigger(input.trigger)])
        allowance.lower(to: input.trigger == .prefetch ? nil : .lowest, until: .unconstrained)
        return .goesOn
    }

    package static let roaming = AllowanceRule("B8") { input, allowance in
        guard input.path.roaming == .yes else { return .goesOn }
        // Leave to roam lifts the limit on quality only: fetching what nobody looks at yet can always wait for home.
        guard input.trigger == .prefetch || !input.preferences.allowsRoaming else { return .goesOn }
        allowance.fired(
            .roaming,
            [.roaming(.yes), .allowsRoaming(input.preferences.allowsRoaming), .trigger(input.trigger)])
        allowance.lower(to: input.trigger == .prefetch ? nil : .lowest, until: .notRoaming)
        return .goesOn
    }

    package static let expensive = AllowanceRule("B9") { input, allowance in
        guard input.path.isExpensive else { return .goesOn }
        let keepsTop = input.preferences.mode == .alwaysOriginal && input.trigger != .prefetch
        allowance.fired(
            keepsTop ? .expensiveAllowed : .expensive,
            [
                .status(input.path.status), .metered(input.path.metered), .mode(input.preferences.mode),
                .trigger(input.trigger),
            ])
        if !keepsTop {
            allowance.lower(to: input.trigger == .prefetch ? nil : .lowest, until: .unmetered)
        }
        allowance.granted = allowance.ceiling
        return .goesOn
    }

    package static let unmetered = AllowanceRule("B10") { input, allowance in
        guard !input.path.isExpensive else { return .goesOn }
        allowance.fired(.unmetered, [.status(input.path.status), .metered(input.path.metered)])
        allowance.granted = allowance.ceiling
        return .goesOn
    }

    package static let budget = AllowanceRule("B11") { input, allowance in
        guard input.path.isCharged, let budget = input.budget, let granted = allowance.granted else { return .goesOn }
        let remaining = max(0, budget.remaining)
        allowance.fired(.budget, [.budgetRemaining(remaining), .bytes(granted, input.assumedBytes(of: granted))])
        var rung = Int(granted.rung)
        while rung >= 0 {
            let quality = Quality(rung: UInt8(truncatingIfNeeded: rung))
            // With a budget every rung has assumed bytes: its size or the reserve.
            if let bytes = input.assumedBytes(of: quality), bytes <= remaining {
                if quality != granted { allowance.conditions.append(.budget) }
                allowance.granted = quality
                return .goesOn
            }
            rung -= 1
        }
        allowance.conditions.append(.budget)
        allowance.granted = nil
        return .goesOn
    }
}
