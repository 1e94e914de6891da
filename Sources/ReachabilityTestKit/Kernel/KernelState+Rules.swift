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
        guard !present.contains(rule) else { throw .exists("that very rule") }
        let position = present.firstIndex { $0.priority > rule.priority } ?? present.endIndex
        rules[family, default: []].insert(rule, at: position)
        hasCustomRules = hasCustomRules || family == .ipv4
        say(.routing(.rule))
    }

    mutating func removeRule(
        _ family: IPAddress.Family, where matches: (RoutingRule) -> Bool
    ) throws(SimulatedKernel.Refusal) {
        guard let position = rules[family]?.firstIndex(where: matches) else {
            throw SimulatedKernel.Refusal(ENOENT, "there is no such rule")
        }
        rules[family]?.remove(at: position)
        hasCustomRules = hasCustomRules || family == .ipv4
        say(.routing(.rule))
    }
}
