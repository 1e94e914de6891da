import DownloadPolicy
import Reachability

/// A made-up picture in two sizes, and who wants it: what a download policy is asked about.
struct PolicyQuestion: Sendable {
    var ladder = Ladder()
    var trigger = Trigger.visible
    var preferences = DownloadPreferences()
    /// What remains of a data budget, in bytes.
    var budget: Int64?

    /// What an unknown size is reckoned at where there is a budget.
    private static let reserve: Int64 = 1_000_000

    func input(on path: NetworkPath) -> PolicyInput {
        PolicyInput(
            path: PathFacts(path), preferences: preferences, trigger: trigger, ladder: ladder,
            budget: budget.map { BudgetFacts(remaining: $0, reserve: Self.reserve) })
    }
}

/// How a decision is printed.
enum PolicyFormat: Sendable {
    case json
    case text(TableStyle)

    func text(for question: PolicyQuestion, on path: NetworkPath) -> String {
        let explanation = StandardPolicy.standard.explain(question.input(on: path))
        switch self {
        case .json:
            var json = JSONObject()
            let now = Timestamp.now
            let decision = explanation.decision
            json.add("time", .text(rfc3339(now)))
            json.add("monotonic_ns", .number(now.monotonicNanoseconds))
            json.add("status", .text(path.status.rawValue))
            json.add("interface", path.interface.map { .text($0.name) } ?? .null)
            json.add("display", .text(words(decision.display, question.ladder)))
            json.add("fetch", .list(decision.fetches.map { .text(question.ladder.name(of: $0.quality)) }))
            json.add("attempt", decision.offlineAttempt.map { .text(question.ladder.name(of: $0.quality)) } ?? .null)
            json.add("expected_bytes", decision.expectedBytes.map { .number($0) } ?? .null)
            json.add("later", later(decision.plan, question.ladder))
            json.add("rules", .list(decision.reasons.map { .text($0.rule.rawValue) }))
            json.add("reasons", .list(explanation.reasons.map { .text($0) }))
            json.add("alternatives", .list(explanation.alternatives.map { .text($0) }))
            return json.text + "\n"
        case .text(let style):
            let status = style.hasColour ? style.colour(of: path.status) + "\(path)\u{1B}[0m" : "\(path)"
            let lines =
                ["\(wallTime())  \(status)", "  \(explanation.summary)"]
                + explanation.reasons.map { "    because \($0)" } + explanation.alternatives.map { "    \($0)" }
            return lines.joined(separator: "\n") + "\n"
        }
    }

    private func words(_ display: Display, _ ladder: Ladder) -> String {
        switch display {
        case .rung(let quality): ladder.name(of: quality)
        case .placeholder(let placeholder): "placeholder \(placeholder.rawValue)"
        }
    }

    private func later(_ plan: Plan, _ ladder: Ladder) -> JSONValue {
        guard case .comeBack(let quality, let conditions) = plan else { return .null }
        var json = JSONObject()
        json.add("rendition", .text(ladder.name(of: quality)))
        json.add("when", .list(conditions.map { .text($0.words) }))
        return .object(json)
    }
}
