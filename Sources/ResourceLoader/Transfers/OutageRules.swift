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

/// How long a path without cost must hold before paused originals resume: 3 s, and 5 s doubling to 60 s while it flaps.
package struct UpgradeDelay: Sendable, Hashable {
    private static let window: Duration = .seconds(30)
    private var changes: [Duration] = []
    private var penalty: Duration = .zero

    package init() {}

    /// Notes a change of the path's cost or presence.
    package mutating func changed(at now: Duration) {
        changes = changes.filter { now - $0 <= Self.window } + [now]
        if changes.count >= 3 {
            penalty = penalty == .zero ? .seconds(5) : min(penalty * 2, .seconds(60))
        } else {
            penalty = .zero
        }
    }

    package var delay: Duration { max(.seconds(3), penalty) }
}
