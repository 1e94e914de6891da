/// How much of a body is at hand.
public struct TransferProgress: Sendable, Hashable {
    /// Bytes from the body's start, those of earlier attempts included.
    public let received: Int64
    /// The whole body's length, when the server told it.
    public let total: Int64?
}

/// A transfer as it is seen from outside. Exactly one of the last three ends it; nothing follows them.
public enum TransferState: Sendable {
    case queued
    case running(TransferProgress)
    /// No attempt is under way. Never shown as running.
    case waiting(for: WaitCondition)
    /// The next attempt begins at `until` on the engine's clock; `after` says what went wrong.
    case backingOff(until: Duration, after: FailureClass)
    case finished(TransferResult)
    case failed(TransferFailure)
    case cancelled

    /// Whether the transfer has ended.
    public var isTerminal: Bool {
        switch self {
        case .finished, .failed, .cancelled: true
        case .queued, .running, .waiting, .backingOff: false
        }
    }
}

/// A success.
public struct TransferResult: Sendable {
    /// Where the body went.
    public let body: DeliveredBody
    /// The body's length in bytes.
    public let length: Int64
    /// The last answer's status and headers.
    public let head: ResponseHead
    /// How many attempts it took, pauses included.
    public let attempts: Int
    /// Bytes that came over the network in all attempts together.
    public let received: Int64
    /// Bytes that the last attempt did not have to fetch, because earlier ones had left them.
    public let resumed: Int64
}

/// A failure, with what is needed to understand it and nothing that is secret.
public struct TransferFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// What kind of failure it is.
    public let failure: FailureClass
    /// The status of the last answer, when there was one.
    public let status: Int?
    /// What the transport or the sink said, in words.
    public let detail: String
    /// How many attempts were made.
    public let attempts: Int
    /// How long the server asked to be left alone, counted from this failure; at most two minutes. `nil` when it did not ask.
    public let retryAfter: Duration?

    /// A failure of that class.
    public init(
        _ failure: FailureClass, status: Int? = nil, detail: String = "", attempts: Int = 0,
        retryAfter: Duration? = nil
    ) {
        self.failure = failure
        self.status = status
        self.detail = detail
        self.attempts = attempts
        self.retryAfter = retryAfter
    }

    public var description: String {
        let answer = status.map { ", status \($0)" } ?? ""
        return "\(failure) after \(attempts) attempts\(answer)\(detail.isEmpty ? "" : ": \(detail)")"
    }
}

/// What an attempt says about the network; evidence for whoever watches it.
public struct TransferOutcome: Sendable, Hashable {
    /// The host that was asked, without its port; the last one where a redirect led to another.
    public let host: String
    /// The status of the answer; `nil` when none came.
    public let status: Int?
    /// `nil` for a success, which is reported when its answer begins, not when its body ends.
    public let failure: FailureClass?
    /// What the path said at that moment.
    public let path: TransferPath
    /// When, on the engine's clock.
    public let time: Duration

    /// Whether the host itself answered, be it with an error.
    public var reached: Bool { status != nil && failure != .captivePortal }
    /// A host answered although the path says offline: the path is wrong.
    public var contradictsPath: Bool { reached && !path.isOnline }
}

/// Counts since the engine began.
public struct TransferStatistics: Sendable, Hashable {
    /// Transfers that began.
    public internal(set) var flights = 0
    /// Requests that joined a transfer under way.
    public internal(set) var joins = 0
    /// Attempts that were sent.
    public internal(set) var attempts = 0
    /// Redirects that were followed.
    public internal(set) var redirects = 0
    /// Transfers that ended in a success.
    public internal(set) var finished = 0
    /// Transfers that ended in a failure.
    public internal(set) var failed = 0
    /// Shares that were given up, or ended with the engine.
    public internal(set) var cancelled = 0
    /// Body bytes taken from the network.
    public internal(set) var received: Int64 = 0
    /// Body bytes that did not have to be taken, because an earlier attempt had left them.
    public internal(set) var resumed: Int64 = 0
    /// Connections closed because of a change of path.
    public internal(set) var pauses = 0
    /// The longest time from a change of path being told to a connection being closed for it.
    public internal(set) var slowestPause: Duration = .zero
    /// The most requests that were out at once.
    public internal(set) var mostAtOnce = 0
    /// Outcomes that slow readers missed.
    public internal(set) var droppedOutcomes = 0
}

/// One caller's share in a transfer.
public struct Transfer: Sendable {
    let id: UInt64
    let mailbox: Mailbox
    /// The states: the present one first, then every change, progress thinned out to about a hundred steps. A reader that falls
    /// behind by more than 64 misses the oldest, never the last. For one reader; it ends after the terminal state. A task that is
    /// cancelled while it reads, and a stream that is dropped, cancel this share.
    public let states: AsyncStream<TransferState>

    /// Gives up this share. Its stream ends with `cancelled`, unless it has ended already. The transfer itself goes on while others
    /// wait for it, and for one more second, so that whoever asks again at once finds it running.
    public func cancel() { mailbox.post(.leave(id)) }

    /// The terminal state. Cancelling the task cancels this share.
    public func outcome() async -> TransferState {
        for await state in states where state.isTerminal { return state }
        return .cancelled
    }
}
