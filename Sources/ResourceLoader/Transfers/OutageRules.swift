/// After an outage one request goes first, then 1, 2, 4, 6 at once: a step up each time as many answers have come as the step allows.
package struct OutageRamp: Sendable, Hashable {
    private static let steps = [1, 2, 4]
    private let slots: Int
    private var step: Int?
    private var answers = 0

    package init(slots: Int) {
        self.slots = slots
    }

    /// How many requests may be out at once.
    package var limit: Int { step.map { min(slots, Self.steps[$0]) } ?? slots }

    package mutating func outage() {
        step = 0
        answers = 0
    }

    package mutating func answered() {
        guard let step else { return }
        answers += 1
        guard answers >= Self.steps[step] else { return }
        answers = 0
        self.step = step + 1 < Self.steps.count ? step + 1 : nil
    }
}

/// Connections that fail to two hosts within 10 s, with none succeeding, speak of an outage that the path does not know of.
package struct OutageSuspicion: Sendable, Hashable {
    private static let window: Duration = .seconds(10)
    private var failures: [String: Duration] = [:]

    package init() {}

    /// Whether hosts other than this one failed in the window.
    package func othersFail(than host: String, at now: Duration) -> Bool {
        failures.contains { $0.key != host && now - $0.value <= Self.window }
    }

    package mutating func failed(_ host: String, at now: Duration) {
        failures = failures.filter { now - $0.value <= Self.window }
        failures[host] = now
    }

    /// A host answered: whatever failed before, the way is open.
    package mutating func succeeded() { failures.removeAll() }
}
