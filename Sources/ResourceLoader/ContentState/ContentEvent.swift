/// Something that happened to a `ContentMachine`.
///
/// A generation is the number that `ContentEffect.start` gave to one attempt.
public enum ContentEvent<Value: Sendable>: Sendable {
    /// The place stands for another resource from now on, and nothing of the earlier one is shown, unless it is to be
    /// kept in sight as `previous` until there is something of the new one.
    case bind(previous: Value?)

    /// Load it, refresh it, or try again: one attempt at a time, so that nothing happens while one is running.
    case load

    /// Stop the attempt. What is shown stays.
    case cancel

    /// The network is back, or shown to work: a path came online, a probe or another request succeeded.
    case connectionReturned

    /// Something to show in the meantime, such as a thumbnail; the attempt goes on.
    case arrived(generation: Int, Value)

    /// The attempt has ended well; with `nil`, there is no such data.
    case succeeded(generation: Int, Value?)

    /// The attempt has ended otherwise.
    case failed(generation: Int, FailureClass)

    /// The moment of a `ContentEffect.wake` has come. One too many does no harm.
    case tick
}

/// What is to be done after an event.
public enum ContentEffect: Hashable, Sendable {
    /// Begin an attempt, and report with this number.
    case start(generation: Int)

    /// Stop that attempt. Reports that still come from it are ignored.
    case cancel(generation: Int)

    /// Send `tick` at this time, instead of any time named before.
    case wake(at: Duration)
}

extension FailureClass {
    /// Whether it is tried again by itself when the network is back.
    var isRetriedOnReturn: Bool {
        switch self {
        case .offline, .offlineSuspected, .interrupted: true
        default: false
        }
    }
}
