import DownloadPolicy
import Reachability

extension Invocation {
    /// The decision on the present path and, if asked for, on each path that follows.
    func policy(_ question: PolicyQuestion, json: Bool, isWatching: Bool) throws {
        let monitor = monitor()
        let signals = EndingSignals()
        try monitor.start()
        if !isWatching { return Standard.print(Self.answer(question, on: monitor.currentPath, json: json)) }
        Task {
            let output = Output()
            var last: PolicyInput?
            for await path in monitor {
                // A path can change in ways that no policy looks at, such as its gateway.
                let input = question.input(on: path)
                if input == last { continue }
                last = input
                await output.write(Self.answer(question, on: path, json: json))
            }
        }
        signals.wait()
        monitor.stop()
    }

    private static func answer(_ question: PolicyQuestion, on path: NetworkPath, json: Bool) -> String {
        let explanation = StandardPolicy.standard.explain(question.input(on: path))
        guard json else { return "\(path)\n\(explanation)\n" }
        let decision = explanation.decision
        let ladder = explanation.input.ladder
        var object = JSONObject()
        object.add("time", .text(rfc3339(.now)))
        object.add("status", .text(path.status.rawValue))
        object.add("expensive", .flag(path.isExpensive))
        switch decision.display {
        case .rung(let quality): object.add("display", .text(ladder.name(of: quality)))
        case .placeholder(let placeholder): object.add("display", .text(placeholder.rawValue))
        }
        object.add("fetch", .list(decision.fetches.map { .text(ladder.name(of: $0.quality)) }))
        object.add("expected_bytes", decision.expectedBytes.map { .number($0) } ?? .null)
        if case .comeBack(let quality, let conditions) = decision.plan {
            object.add("come_back_for", .text(ladder.name(of: quality)))
            object.add("when", .list(conditions.map { .text($0.words) }))
        } else {
            object.add("come_back_for", .null)
            object.add("when", .list([]))
        }
        object.add("rules", .list(decision.reasons.map { .text($0.rule.rawValue) }))
        object.add("reasons", .list(explanation.reasons.map { .text($0) }))
        object.add("alternatives", .list(explanation.alternatives.map { .text($0) }))
        return object.text + "\n"
    }
}
