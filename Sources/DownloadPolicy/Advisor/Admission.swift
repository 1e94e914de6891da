/// How many transfers may run at once.
///
/// After an outage everybody wants something at the same moment over a network that may not carry yet: one request goes
/// first; once it has succeeded, 1, 2, 4 and then 6 may run at once, each step after as many successes as it admits.
/// Failures change nothing; another outage starts over.
public struct Admission: Sendable, Hashable, Codable {
    /// The steps after an outage. The last one is also the limit where there has been none.
    public static let steps = [1, 1, 2, 4, 6]

    /// How many may run at once; 0 while the path is offline. (The one attempt of a tap while offline is not counted.)
    public var limit: Int { isOut ? 0 : Self.steps[step] }

    /// Whether this is the first request after an outage: whoever fails tells nothing about the others yet.
    public var isProbing: Bool { !isOut && step == 0 }

    private var isOut = false
    private var step = Admission.steps.count - 1
    private var successes = 0

    /// No outage so far.
    public init() {}

    /// There is no way out.
    mutating func outageBegan() {
        isOut = true
        step = 0
        successes = 0
    }

    /// There is a way out, or there may be.
    mutating func outageEnded() {
        isOut = false
    }

    /// A transfer has succeeded.
    mutating func transferSucceeded() {
        guard !isOut, step < Self.steps.count - 1 else { return }
        successes += 1
        if successes >= Self.steps[step] {
            step += 1
            successes = 0
        }
    }
}
