import CCurl
import DownloadPolicy

/// The engine's thread: all state that changes lives here, and only this thread touches it. Callers' code never runs on it.
final class EngineCore {
    let mailbox: Mailbox
    let clock: any TransferClock
    let chance: @Sendable () -> Double
    let multi: UnsafeMutableRawPointer
    let sockets = SocketRegistry()

    var flights: [UInt64: Flight] = [:]
    var byIdentity: [RequestIdentity: UInt64] = [:]
    var byWaiter: [UInt64: UInt64] = [:]
    /// Those that hold a slot, and those whose handle is with libcurl.
    var out: [UInt64: Flight] = [:]
    var byHandle: [UnsafeMutableRawPointer: Flight] = [:]
    /// Lanes whose transfer has ended and whose sink still has work. Their part must be closed before an equal request opens it.
    var endingLanes: [RequestIdentity: Int] = [:]
    var ready = ReadyQueue()
    var timers = TimerQueue()

    var path: TransferPath
    var preferences: TransferPreferences
    var ramp: OutageRamp
    var suspicion = OutageSuspicion()
    var stability = PathStability()
    var hasHeardOfPath = false
    /// The last costly path, until a free one has held for long enough. Outages do not end it.
    var costInForce: TransferPath?
    var budgets: [String: RetryBudget] = [:]
    /// Until when a resource is known to be missing.
    var missing: [RequestIdentity: Duration] = [:]
    var routeChangedAt: Duration?
    /// When the change of path that is being acted on was told.
    var pathToldAt: Duration?
    private var subscribers: [UInt64: AsyncStream<TransferOutcome>.Continuation] = [:]
    var isEnding = false
    private var endings: [AsyncStream<Never>.Continuation] = []

    init?(_ mailbox: Mailbox, _ configuration: TransferConfiguration) {
        guard let multi = curl_multi_init() else { return nil }
        self.multi = multi
        self.mailbox = mailbox
        clock = configuration.clock
        chance = configuration.chance
        path = configuration.path
        preferences = configuration.preferences
        ramp = OutageRamp(slots: configuration.slots)
        if !path.isOnline { ramp.outage() }
        mailbox.open(UInt(bitPattern: multi))
    }

    func run() {
        while true {
            let commands = mailbox.take()
            // What came due before a command was given happens before it.
            let now = clock.now()
            while let key = timers.popDue(now) { timeCame(key) }
            for command in commands { handle(command) }
            for flight in byHandle.values where flight.attempt?.hasYielded == true { flight.attempt?.unpause() }
            if isEnding, endingLanes.isEmpty { break }
            dispatch()
            var running: Int32 = 0
            curl_multi_perform(multi, &running)
            for flight in byHandle.values { flight.attempt?.handOn() }
            let hasEnded = collectEnded()
            if hasEnded { continue }
            curl_multi_poll(multi, nil, 0, untilNextTimer(), nil)
        }
        mailbox.close()
        curl_multi_cleanup(multi)
        for outcomes in subscribers.values { outcomes.finish() }
        for ending in endings { ending.finish() }
    }

    /// Milliseconds, rounded up, so that the poll does not end just before its time again and again.
    private func untilNextTimer() -> Int32 {
        let longest: Duration = .seconds(60)
        guard let next = timers.next() else { return 60_000 }
        let wait = min(max(.zero, next - clock.now()), longest)
        return Int32((wait / .milliseconds(1)).rounded(.up))
    }

    func count(_ change: (inout TransferStatistics) -> Void) {
        mailbox.statistics.withLock { change(&$0) }
    }

    private func handle(_ command: Command) {
        switch command {
        case .join(let waiter, let sink): join(waiter, sink)
        case .leave(let waiter): leave(waiter)
        case .path(let path, let toldAt): pathChanged(to: path, toldAt: toldAt)
        case .preferences(let preferences):
            self.preferences = preferences
            react(to: .allowanceChanged, isRerouted: false)
        case .subscribe(let id, let outcomes): subscribers[id] = outcomes
        case .unsubscribe(let id): subscribers[id] = nil
        case .sink(let reply, let flight, let attempt):
            if let flight = flights[flight], flight.attempts == attempt { sinkReplied(reply, flight) }
        case .drained(let flight): flights[flight]?.attempt?.unpause()
        case .laneEnded(let identity): laneEnded(identity)
        case .whenEnded(let ending): endings.append(ending)
        case .shutDown: beginEnding()
        }
    }

    private func timeCame(_ key: TimerKey) {
        switch key {
        case .connect(let id): flights[id].map { timedOut($0, "connecting took too long") }
        case .stall(let id): flights[id].map(stalled)
        case .overall(let id):
            guard let flight = flights[id] else { return }
            abort(flight)
            fail(flight, path.isOnline ? .timeout : .offline, status: nil, "the transfer took too long in all")
        case .wake(let id): flights[id].map { enqueue($0) }
        case .linger(let id): flights[id].map { end($0, .cancelled) }
        case .stable:
            costInForce = nil
            react(to: .unmeteredIsStable, isRerouted: false)
        }
    }

    private func beginEnding() {
        isEnding = true
        for flight in Array(flights.values) { end(flight, .cancelled) }
    }

    func move(_ flight: Flight, to phase: Flight.Phase) {
        flight.phase = phase
        out[flight.id] = flight.holdsSlot ? flight : nil
    }

    func report(_ outcome: TransferOutcome) {
        for subscriber in subscribers.values {
            if case .dropped = subscriber.yield(outcome) { count { $0.droppedOutcomes += 1 } }
        }
    }
}
