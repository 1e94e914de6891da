import Glibc
import Netlink
import Reachability

extension KernelState {
    mutating func add(_ rule: RoutingRule, _ family: IPAddress.Family, priority: UInt32?) throws(SimulatedKernel
        .Refusal)
    {
        var rule = rule
        let present = rules[family, default: []]
        // Without a priority, a rule goes before all but the first.
        rule.priority = priority ?? (present.count > 1 && present[1].priority > 0 ? present[1].priority - 1 : 0)
        guard !present.contains(where: { isTaken($0, by: rule) }) else { throw .exists("that very rule") }
        let position = present.firstIndex { $0.priority > rule.priority } ?? present.endIndex
        rules[family, default: []].insert(rule, at: position)
        hasCustomRules = hasCustomRules || family == .ipv4
        say(.routing(.rule))
    }

    /// A new rule that does not name a source or destination is one too many even beside one that does.
    private func isTaken(_ present: RoutingRule, by rule: RoutingRule) -> Bool {
        present.priority == rule.priority && present.action == rule.action && present.mark == rule.mark
            && present.outputLink == rule.outputLink && present.suppressedLength == rule.suppressedLength
            && (rule.from == nil || present.from == rule.from) && (rule.to == nil || present.to == rule.to)
    }

    /// Removes the first rule that has all that is given.
    mutating func removeRule(
        like pattern: RoutingRule, _ family: IPAddress.Family, priority: UInt32?
    ) throws(SimulatedKernel.Refusal) {
        guard
            let position = rules[family]?.firstIndex(where: { present in
                present.action == pattern.action && (priority == nil || present.priority == priority)
                    && (pattern.mark == 0 || present.mark == pattern.mark)
                    && (pattern.outputLink == nil || present.outputLink == pattern.outputLink)
                    && (pattern.suppressedLength == nil || present.suppressedLength == pattern.suppressedLength)
                    && (pattern.from == nil || present.from == pattern.from)
                    && (pattern.to == nil || present.to == pattern.to)
            })
        else {
            throw SimulatedKernel.Refusal(ENOENT, "there is no such rule")
        }
        rules[family]?.remove(at: position)
        hasCustomRules = hasCustomRules || family == .ipv4
        say(.routing(.rule))
    }
}
