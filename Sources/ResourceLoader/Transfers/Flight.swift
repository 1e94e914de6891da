/// One transfer with everybody who waits for it. Lives on the engine's thread.
final class Flight {
    enum Phase: Equatable {
        case queued
        /// Ready, but held back for a moment.
        case delayed
        /// The sink looks up what it has; holds a slot already.
        case preparing
        case running
        case waiting(WaitCondition)
        case backingOff(after: FailureClass)
        /// The sink checks and hands over, or makes room. Holds no slot.
        case settling
    }

    let id: UInt64
    let request: TransferRequest
    let address: WebAddress
    let lane: SinkLane
    var phase = Phase.queued
    var waiters: [UInt64: Waiter]
    var ledger = RetryLedger()
    var ticket: ReadyQueue.Ticket?
    var attempt: Attempt?
    /// The head of the last answer; its status is zero while there was none.
    var head = ResponseHead()
    var attempts = 0
    /// Whether the server may have got the request.
    var isSent = false
    /// What the next attempt builds on.
    var part: PartialBody?
    /// The bytes at hand that a next attempt can build on, and the length of the body.
    var position: Int64 = 0
    var total: Int64?
    var received: Int64 = 0
    var resumed: Int64 = 0
    /// Time spent in attempts that have ended, for the overall time-out; and when the present one began.
    var ranFor: Duration = .zero
    var startedAt: Duration?
    /// No attempt before this, by a server's word.
    var notBefore: Duration?
    /// The one attempt that a person's tap may make while the path is offline has been made, in this outage and since the last tap.
    var hasTriedOffline = false
    private var state = TransferState.queued
    private var published: Int64 = -1

    init(id: UInt64, first: Waiter, address: WebAddress, lane: SinkLane) {
        self.id = id
        request = first.request
        self.address = address
        self.lane = lane
        waiters = [first.id: first]
    }

    /// The highest among those who wait; the last one's while nobody does.
    var priority: TransferPriority { waiters.values.map(\.request.priority).max() ?? request.priority }

    /// What the body is to those who wait: a prefetch only while nobody wants more than that.
    var kind: TransferKind {
        let kinds = waiters.values.map(\.request.kind)
        return kinds.first { $0 == .thumbnail } ?? kinds.first { $0 == .original } ?? request.kind
    }

    var isCostAccepted: Bool { waiters.values.contains { $0.request.isCostAccepted } }

    /// Whether the request may be sent, be it again.
    var mayBeSent: Bool { request.isRepeatable || !isSent }

    var holdsSlot: Bool { phase == .preparing || phase == .running }

    func publish(_ new: TransferState) {
        if case .running(let progress) = new {
            let step = max(65_536, (progress.total ?? 0) / 100)
            let isNews: Bool
            if case .running(let old) = state {
                isNews =
                    progress.total != old.total || progress.received < published
                    || progress.received - published >= step || progress.received == progress.total
            } else {
                isNews = true
            }
            state = new
            guard isNews else { return }
            published = progress.received
        } else {
            state = new
        }
        for waiter in waiters.values { waiter.states.yield(new) }
    }

    func join(_ waiter: Waiter) {
        waiters[waiter.id] = waiter
        waiter.states.yield(state)
    }

    /// The one terminal event.
    func end(_ terminal: TransferState) {
        for waiter in waiters.values {
            waiter.states.yield(terminal)
            waiter.states.finish()
        }
        waiters = [:]
    }
}
