import CCurl

/// The engine's thread: all state that changes lives here, and only this thread touches it. Callers' code never runs on it.
final class EngineCore: AttemptObserver {
    private let mailbox: Mailbox
    private let clock: any TransferClock
    private let chance: @Sendable () -> Double
    private let slots: Int
    private let multi: UnsafeMutableRawPointer
    private let sockets = SocketRegistry()

    private var flights: [UInt64: Flight] = [:]
    private var byIdentity: [RequestIdentity: UInt64] = [:]
    private var byWaiter: [UInt64: UInt64] = [:]
    /// Those that hold a slot, and those whose handle is with libcurl.
    private var out: [UInt64: Flight] = [:]
    private var byHandle: [UnsafeMutableRawPointer: Flight] = [:]
    /// Lanes whose transfer has ended and whose sink still has work. Their part must be closed before an equal request opens it.
    private var endingLanes: [RequestIdentity: Int] = [:]
    private var ready = ReadyQueue()
    private var timers = TimerQueue()

    private var path: TransferPath
    private var preferences: TransferPreferences
    private var ramp: OutageRamp
    private var suspicion = OutageSuspicion()
    private var upgradeDelay = UpgradeDelay()
    private var budgets: [String: RetryBudget] = [:]
    /// Until when a resource is known to be missing.
    private var missing: [RequestIdentity: Duration] = [:]
    private var routeChangedAt: Duration?
    /// When the change of path that is being acted on was told.
    private var pathToldAt: Duration?
    private var subscribers: [UInt64: AsyncStream<TransferOutcome>.Continuation] = [:]
    private var isEnding = false
    private var endings: [AsyncStream<Never>.Continuation] = []

    private static let lingering: Duration = .seconds(1)
    private static let offlineConnectTimeout: Duration = .seconds(3)

    init?(_ mailbox: Mailbox, _ configuration: TransferConfiguration) {
        guard let multi = curl_multi_init() else { return nil }
        self.multi = multi
        self.mailbox = mailbox
        clock = configuration.clock
        chance = configuration.chance
        slots = configuration.slots
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

    func now() -> Duration { clock.now() }

    var isWanted: Bool { mailbox.hasUrgentCommand }

    /// Milliseconds, rounded up, so that the poll does not end just before its time again and again.
    private func untilNextTimer() -> Int32 {
        let longest: Duration = .seconds(60)
        guard let next = timers.next() else { return 60_000 }
        let wait = min(max(.zero, next - clock.now()), longest)
        return Int32((wait / .milliseconds(1)).rounded(.up))
    }

    private func count(_ change: (inout TransferStatistics) -> Void) {
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

    private func beginEnding() {
        isEnding = true
        for flight in Array(flights.values) { end(flight, .cancelled) }
    }

    // MARK: - Coming and going of waiters

    private func join(_ waiter: Waiter, _ sink: any TransferSink) {
        let request = waiter.request
        if isEnding { return Self.refuse(waiter, .cancelled) }
        if let id = byIdentity[request.identity], let flight = flights[id] {
            count { $0.joins += 1 }
            byWaiter[waiter.id] = id
            timers.cancel(.linger(id))
            flight.join(waiter)
            return regate(flight)
        }
        if let until = missing[request.identity], request.priority < .user {
            if until > clock.now() {
                return Self.refuse(waiter, .failed(TransferFailure(.missing, detail: "remembered for five minutes")))
            }
            missing[request.identity] = nil
        }
        // Requests check their URL when they are made.
        guard let address = WebAddress(request.url) else {
            return Self.refuse(waiter, .failed(TransferFailure(.rejected)))
        }
        count { $0.flights += 1 }
        let id = waiter.id
        let identity = request.identity
        let lane = SinkLane(
            sink, reply: { [mailbox] in mailbox.post(.sink($0, flight: id, attempt: $1)) },
            drained: { [mailbox] in mailbox.post(.drained(flight: id)) },
            ended: { [mailbox] in mailbox.post(.laneEnded(identity)) })
        let flight = Flight(id: id, first: waiter, address: address, lane: lane)
        flights[id] = flight
        byIdentity[identity] = id
        byWaiter[id] = id
        waiter.states.yield(.queued)
        regate(flight)
    }

    private static func refuse(_ waiter: Waiter, _ state: TransferState) {
        waiter.states.yield(state)
        waiter.states.finish()
    }

    private func leave(_ waiter: UInt64) {
        guard let id = byWaiter.removeValue(forKey: waiter), let flight = flights[id],
            let left = flight.waiters.removeValue(forKey: waiter)
        else { return }
        count { $0.cancelled += 1 }
        if flight.waiters.isEmpty { react(flight, to: .abandoned, isRerouted: false) }
        Self.refuse(left, .cancelled)
    }

    /// A waiter came: its priority, kind and consent may set free what waits, and move up what is queued.
    private func regate(_ flight: Flight) {
        switch flight.phase {
        case .queued, .waiting: enqueue(flight)
        case .delayed, .preparing, .running, .backingOff, .settling: break
        }
    }

    private func end(_ flight: Flight, _ state: TransferState) {
        abort(flight)
        for key in [TimerKey.wake(flight.id), .linger(flight.id)] { timers.cancel(key) }
        for waiter in flight.waiters.keys { byWaiter[waiter] = nil }
        let waiters = flight.waiters.count
        switch state {
        case .finished: count { $0.finished += 1 }
        case .failed: count { $0.failed += 1 }
        default: count { $0.cancelled += waiters }
        }
        flights[flight.id] = nil
        out[flight.id] = nil
        byIdentity[flight.request.identity] = nil
        endingLanes[flight.request.identity, default: 0] += 1
        flight.lane.end()
        flight.end(state)
    }

    private func laneEnded(_ identity: RequestIdentity) {
        let left = (endingLanes[identity] ?? 1) - 1
        endingLanes[identity] = left > 0 ? left : nil
        if let id = byIdentity[identity], let flight = flights[id], flight.phase == .queued { enqueue(flight) }
    }

    // MARK: - The queue

    /// Puts a transfer in line, or lets it wait for what it needs first.
    private func enqueue(_ flight: Flight, isFirst: Bool = false) {
        if let condition = obstacle(to: flight) { return wait(flight, for: condition) }
        if let until = flight.notBefore, until > clock.now() { return backOff(flight, until: until, after: .server) }
        flight.notBefore = nil
        let wasQueued = flight.phase == .queued && flight.ticket != nil
        move(flight, to: .queued)
        flight.ticket = ready.add(flight.id, flight.priority, isFirst: isFirst)
        if !wasQueued { flight.publish(.queued) }
    }

    private func wait(_ flight: Flight, for condition: WaitCondition) {
        flight.ticket = nil
        timers.cancel(.wake(flight.id))
        guard flight.phase != .waiting(condition) else { return }
        move(flight, to: .waiting(condition))
        flight.publish(.waiting(for: condition))
    }

    private func obstacle(to flight: Flight) -> WaitCondition? {
        if !path.isOnline {
            return flight.priority == .user && !flight.hasTriedOffline ? nil : .online
        }
        return reactionInput(flight, .allowanceChanged, isRerouted: false).mayRun ? nil : .unmetered
    }

    private func dispatch() {
        guard !isEnding else { return }
        while true {
            let limit = ramp.limit
            guard out.count < limit else { return }
            let prefetches = out.values.count { $0.priority == .prefetch }
            let lowest: TransferPriority = prefetches < limit - limit / 2 ? .prefetch : .visible
            guard let ticket = ready.next(from: lowest, isValid: { flights[$0.flight]?.ticket == $0 }),
                let flight = flights[ticket.flight]
            else { return }
            flight.ticket = nil
            begin(flight)
        }
    }

    private func begin(_ flight: Flight) {
        // Nobody waits: the second of grace is for what runs, not for starting.
        guard !flight.waiters.isEmpty else { return }
        // The lane's end puts it back in line.
        guard endingLanes[flight.request.identity] == nil else { return }
        if !path.isOnline { flight.hasTriedOffline = true }
        move(flight, to: .preparing)
        let together = out.count
        count { $0.mostAtOnce = max($0.mostAtOnce, together) }
        flight.attempts += 1
        flight.lane.send(.stored(attempt: flight.attempts))
    }

    // MARK: - Attempts

    private func sinkReplied(_ reply: SinkReply, _ flight: Flight) {
        switch (reply, flight.phase) {
        case (.stored(let part), .preparing):
            let canResume = flight.request.method.body == nil && part?.validator != nil
            flight.part = canResume ? part : nil
            flight.position = flight.part?.offset ?? 0
            flight.total = flight.part?.total
            flight.startedAt = clock.now()
            count { $0.attempts += 1 }
            if let overall = flight.request.timeouts.overall {
                timers.schedule(.overall(flight.id), at: clock.now() + overall - flight.ranFor)
            }
            send(
                flight,
                RedirectRule.Hop(
                    address: flight.address, headers: flight.request.headers, body: flight.request.method.body))
        case (.failed(.unaffordable), .preparing), (.failed(.unaffordable), .running),
            (.failed(.unaffordable), .settling):
            abort(flight)
            wait(flight, for: .unmetered)
        case (.failed(let failure), .preparing), (.failed(let failure), .running), (.failed(let failure), .settling):
            abort(flight)
            refused(flight, failure)
        case (.completed(.success(let body)), .settling): finish(flight, body)
        case (.completed(.failure(let failure)), .settling): refused(flight, failure)
        case (.madeRoom(let hasRoom), .settling):
            if hasRoom {
                enqueue(flight, isFirst: true)
            } else {
                fail(flight, .storage, status: nil, "no room could be made")
            }
        default: break
        }
    }

    private func send(_ flight: Flight, _ hop: RedirectRule.Hop) {
        // A name may mean another address on another network.
        let sinceRoute = routeChangedAt.map { Int((clock.now() - $0) / .seconds(1)) } ?? 60
        let attempt = Attempt(
            flight.request, hop: hop, part: flight.part, number: flight.attempts, flight: flight.id, lane: flight.lane,
            observer: self, dnsCacheSeconds: min(60, sinceRoute))
        guard let attempt, let easy = attempt.easy else {
            return fail(flight, .storage, status: nil, "libcurl is out of memory")
        }
        sockets.attach(to: easy)
        guard curl_multi_add_handle(multi, easy) == CURLM_OK else {
            return fail(flight, .storage, status: nil, "libcurl took no more transfers")
        }
        flight.attempt = attempt
        byHandle[easy] = flight
        move(flight, to: .running)
        let limit = flight.request.timeouts.connect
        let connect = path.isOnline ? limit : min(limit, Self.offlineConnectTimeout)
        timers.schedule(.connect(flight.id), at: clock.now() + connect)
        flight.publish(.running(TransferProgress(received: flight.position, total: flight.total)))
    }

    func attemptConnected(_ attempt: Attempt) {
        timers.cancel(.connect(attempt.flight))
        timers.schedule(.stall(attempt.flight), at: clock.now() + attempt.request.timeouts.stall)
    }

    func attemptAnswered(_ attempt: Attempt) {
        guard let flight = flights[attempt.flight], attempt.conclusion != .portal else { return }
        ramp.answered()
        suspicion.succeeded()
        let host = attempt.hop.address.host
        if attempt.conclusion != .status {
            budgets[host]?.succeeded()
            report(
                TransferOutcome(host: host, status: attempt.head.status, failure: nil, path: path, time: clock.now()))
        }
        if attempt.conclusion == .body {
            flight.total = attempt.total
            let resumed = attempt.resumedFrom
            flight.resumed = resumed
            count { $0.resumed += resumed }
        }
        // The outage that was suspected is over for everyone.
        for other in flights.values where other.phase == .backingOff(after: .offlineSuspected) {
            timers.schedule(.wake(other.id), at: clock.now())
        }
    }

    func attemptProgressed(_ attempt: Attempt, by bytes: Int) {
        guard let flight = flights[attempt.flight] else { return }
        suspicion.succeeded()
        flight.received += Int64(bytes)
        flight.position = attempt.position
        count { $0.received += Int64(bytes) }
        flight.publish(.running(TransferProgress(received: attempt.position, total: attempt.total)))
    }

    /// Ends the attempt that runs, if one does: closes its connection, keeps its bytes.
    private func abort(_ flight: Flight) {
        let hadConnection = flight.attempt != nil
        flight.attempt?.bodyEnded()
        release(flight)
        if let pathToldAt, hadConnection {
            let took = clock.now() - pathToldAt
            count { statistics in
                statistics.pauses += 1
                statistics.slowestPause = max(statistics.slowestPause, took)
            }
        }
        flight.lane.send(.pause)
    }

    private func release(_ flight: Flight) {
        if let attempt = flight.attempt, let easy = attempt.easy {
            curl_multi_remove_handle(multi, easy)
            byHandle[easy] = nil
            attempt.close()
        }
        flight.attempt = nil
        if let started = flight.startedAt { flight.ranFor += clock.now() - started }
        flight.startedAt = nil
        for key in [TimerKey.connect(flight.id), .stall(flight.id), .overall(flight.id)] { timers.cancel(key) }
    }

    /// - Returns: whether any attempt had ended.
    private func collectEnded() -> Bool {
        var left: Int32 = 0
        var hasEnded = false
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE else { continue }
            hasEnded = true
            let code = ccurl_message_result(message)
            if let easy = message.pointee.easy_handle, let flight = byHandle[easy] { attemptEnded(flight, code) }
        }
        return hasEnded
    }

    private func attemptEnded(_ flight: Flight, _ code: CURLcode) {
        guard let attempt = flight.attempt else { return }
        attempt.bodyEnded()
        let transport = attempt.transportError(code)
        let detail = attempt.errorDescription
        var evidence = FailureEvidence(
            status: attempt.head.status > 0 ? attempt.head.status : nil, isHTML: attempt.head.isHTML,
            expects: flight.request.expects, leftHost: attempt.hop.hasLeftHost, isPathOnline: path.isOnline)
        release(flight)
        switch attempt.conclusion {
        case .redirect(let location): return follow(flight, attempt, to: location)
        case .startOver: return startOver(flight, attempt)
        case .alreadyComplete: return complete(flight, attempt, length: attempt.position)
        case .status: break
        case .portal: evidence.isHTML = true
        case .unfit(let verdict): evidence.verdict = verdict
        case .none:
            evidence.transport = transport ?? (code == CURLE_OK ? .connectionLost : nil)
            evidence.verdict = attempt.verdict(code)
        case .body:
            evidence.transport = transport
            evidence.verdict = attempt.verdict(code)
            evidence.receivedBytes = attempt.position
            evidence.expectedBytes = attempt.total
        }
        if attempt.conclusion == .body {
            flight.position = attempt.isResumable ? attempt.position : 0
            if evidence.transport == nil, evidence.verdict == nil, attempt.position == attempt.total ?? attempt.position
            {
                return complete(flight, attempt, length: attempt.total)
            }
        }
        attemptFailed(flight, evidence, detail, of: attempt)
    }

    private func follow(_ flight: Flight, _ attempt: Attempt, to location: String) {
        do throws(RedirectRule.Refusal) {
            let hop = try RedirectRule.follow(attempt.hop, status: attempt.head.status, location: location)
            count { $0.redirects += 1 }
            flight.startedAt = clock.now()
            if let overall = flight.request.timeouts.overall {
                timers.schedule(.overall(flight.id), at: clock.now() + overall - flight.ranFor)
            }
            send(flight, hop)
        } catch {
            let verdict: FailureEvidence.Verdict = error == .insecure ? .insecureRedirect : .unusableRedirect
            attemptFailed(
                flight, FailureEvidence(verdict: verdict, status: attempt.head.status, isPathOnline: path.isOnline),
                "redirect refused: \(error)", of: attempt)
        }
    }

    private func startOver(_ flight: Flight, _ attempt: Attempt) {
        guard flight.ledger.startsOver() else {
            return attemptFailed(
                flight,
                FailureEvidence(verdict: .unusableRange, status: attempt.head.status, isPathOnline: path.isOnline),
                "the server answers ranges wrongly", of: attempt)
        }
        flight.lane.send(.discard)
        enqueue(flight, isFirst: true)
    }

    private func complete(_ flight: Flight, _ attempt: Attempt, length: Int64?) {
        move(flight, to: .settling)
        flight.head = attempt.head
        let checks = BodyChecks(
            length: length, digest: flight.request.digest, expects: flight.request.expects,
            limits: flight.request.limits)
        flight.lane.send(.complete(checks, attempt.head, attempt: flight.attempts))
    }

    // MARK: - Endings of attempts

    /// The sink did not take or keep the body.
    private func refused(_ flight: Flight, _ failure: SinkFailure) {
        var evidence = FailureEvidence(
            status: flight.head.status, expects: flight.request.expects, isPathOnline: path.isOnline)
        switch failure {
        case .storage: evidence.verdict = .notStored
        case .unfit(let verdict): evidence.verdict = verdict
        case .isHTML: (evidence.isHTML, evidence.status) = (true, 200)
        case .unaffordable: return wait(flight, for: .unmetered)
        }
        if evidence.verdict != .notStored {
            flight.lane.send(.discard)
            flight.position = 0
        }
        attemptFailed(flight, evidence, failure.description, of: nil)
    }

    private func attemptFailed(_ flight: Flight, _ evidence: FailureEvidence, _ detail: String, of attempt: Attempt?) {
        let now = clock.now()
        let host = attempt?.hop.address.host ?? flight.address.host
        var evidence = evidence
        evidence.othersFail = suspicion.othersFail(than: host, at: now)
        // An answer that is neither a success nor in the table is one that cannot be used.
        let failure = FailureClass(evidence) ?? .rejected
        switch evidence.transport {
        case .nameNotFound, .noConnection, .timedOut: if path.isOnline { suspicion.failed(host, at: now) }
        case .connectionLost, .tls, nil: break
        }
        if failure == .offlineSuspected { ramp.outage() }
        if failure != .storage {
            report(TransferOutcome(host: host, status: evidence.status, failure: failure, path: path, time: now))
        }
        switch failure {
        case .tooLarge, .corrupt, .missing: flight.lane.send(.discard)
        default: flight.lane.send(.pause)
        }
        // Nobody waits: the second of grace is over with the attempt.
        guard !flight.waiters.isEmpty else { return end(flight, .cancelled) }
        let floor = attempt?.head["retry-after"].flatMap { RetryAfter.delay($0, now: clock.secondsSince1970()) }
        var budget = budgets[host] ?? RetryBudget(at: now)
        let decision = flight.ledger.decide(
            failure, position: flight.position, floor: failure == .server ? floor ?? .zero : .zero, chance: chance(),
            mayRepeat: flight.request.isRepeatable || !(attempt?.isRequestSent ?? true), budget: &budget, at: now)
        budgets[host] = budget
        switch decision {
        case .giveUp: fail(flight, failure, status: evidence.status, detail)
        case .whenOnline: wait(flight, for: .online)
        case .startOver: enqueue(flight, isFirst: true)
        case .retry(let delay):
            if failure == .server { flight.notBefore = now + delay }
            if delay == .zero { enqueue(flight) } else { backOff(flight, until: now + delay, after: failure) }
        case .makeRoom:
            move(flight, to: .settling)
            flight.lane.send(.makeRoom(flight.total.map { $0 - flight.position }, attempt: flight.attempts))
        }
    }

    private func backOff(_ flight: Flight, until: Duration, after failure: FailureClass) {
        flight.ticket = nil
        move(flight, to: .backingOff(after: failure))
        timers.schedule(.wake(flight.id), at: until)
        flight.publish(.backingOff(until: until, after: failure))
    }

    private func fail(_ flight: Flight, _ failure: FailureClass, status: Int?, _ detail: String) {
        if let remembered = failure.remembered {
            let now = clock.now()
            missing = missing.filter { $0.value > now }
            missing[flight.request.identity] = now + remembered
        }
        end(flight, .failed(TransferFailure(failure, status: status, detail: detail, attempts: flight.attempts)))
    }

    private func finish(_ flight: Flight, _ body: DeliveredBody) {
        let length =
            switch body {
            case .committed(let length): length
            case .bytes(let bytes): Int64(bytes.count)
            }
        end(
            flight,
            .finished(
                TransferResult(
                    body: body, length: length, head: flight.head, attempts: flight.attempts, received: flight.received,
                    resumed: flight.resumed)))
    }

    private func move(_ flight: Flight, to phase: Flight.Phase) {
        flight.phase = phase
        out[flight.id] = flight.holdsSlot ? flight : nil
    }

    private func report(_ outcome: TransferOutcome) {
        for subscriber in subscribers.values {
            if case .dropped = subscriber.yield(outcome) { count { $0.droppedOutcomes += 1 } }
        }
    }

    // MARK: - Time

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
        case .stable: react(to: .unmeteredIsStable, isRerouted: false)
        }
    }

    private func stalled(_ flight: Flight) {
        guard let attempt = flight.attempt else { return }
        let now = clock.now()
        // While the sink holds the transfer back, silence is not the network's.
        let silentSince = attempt.isPaused ? now : attempt.lastActivity
        let deadline = silentSince + flight.request.timeouts.stall
        guard deadline <= now else { return timers.schedule(.stall(flight.id), at: deadline) }
        timedOut(flight, "no byte came for too long")
    }

    private func timedOut(_ flight: Flight, _ detail: String) {
        guard let attempt = flight.attempt else { return }
        attempt.bodyEnded()
        if attempt.conclusion == .body { flight.position = attempt.isResumable ? attempt.position : 0 }
        release(flight)
        let status = attempt.head.status > 0 ? attempt.head.status : nil
        attemptFailed(
            flight, FailureEvidence(transport: .timedOut, status: status, isPathOnline: path.isOnline), detail,
            of: attempt)
    }

    // MARK: - The network

    private func pathChanged(to new: TransferPath, toldAt: Duration) {
        let old = path
        path = new
        guard let event = NetworkEvent(from: old, to: new) else { return }
        let now = clock.now()
        let isRerouted = old.route != new.route
        if event == .wentOffline { ramp.outage() }
        if event != .rerouted { upgradeDelay.changed(at: now) }
        pathToldAt = toldAt
        react(to: event, isRerouted: isRerouted)
        pathToldAt = nil
        if isRerouted { leaveOldRoute(now) }
        if new.isOnline, !new.isCostly {
            if event != .rerouted { timers.schedule(.stable, at: now + upgradeDelay.delay) }
        } else {
            timers.cancel(.stable)
        }
    }

    /// Idle connections and failures of the old route say nothing about the new one.
    private func leaveOldRoute(_ now: Duration) {
        sockets.shutAll()
        routeChangedAt = now
        suspicion = OutageSuspicion()
        for flight in flights.values {
            if case .backingOff(let failure) = flight.phase, failure.isTransport {
                timers.schedule(.wake(flight.id), at: now)
            }
        }
    }

    private func react(to event: NetworkEvent, isRerouted: Bool) {
        let inOrder = flights.values.sorted { ($1.priority, $0.id) < ($0.priority, $1.id) }
        var isFirst = true
        for flight in inOrder where react(flight, to: event, isRerouted: isRerouted, isFirst: isFirst) {
            isFirst = false
        }
    }

    /// - Returns: whether the transfer goes back into the queue after an outage; the first of them does so at once.
    @discardableResult
    private func react(_ flight: Flight, to event: NetworkEvent, isRerouted: Bool, isFirst: Bool = true) -> Bool {
        guard flight.phase != .settling || event == .abandoned else { return false }
        switch reactionInput(flight, event, isRerouted: isRerouted).reaction {
        case .proceed: return false
        case .wait(let condition):
            if flight.holdsSlot { abort(flight) }
            wait(flight, for: condition)
        case .restart(let isFree):
            abort(flight)
            flight.ledger.hasFreeAttempt = isFree
            enqueue(flight, isFirst: true)
        case .requeue:
            abort(flight)
            enqueue(flight)
        case .resume: enqueue(flight)
        case .resumeWithJitter:
            if isFirst {
                enqueue(flight)
            } else {
                let jitter = Duration.milliseconds(500) * chance()
                move(flight, to: .delayed)
                flight.publish(.queued)
                let wake = clock.now() + jitter + (flight.priority == .prefetch ? .milliseconds(500) : .zero)
                timers.schedule(.wake(flight.id), at: wake)
            }
            return true
        case .linger: timers.schedule(.linger(flight.id), at: clock.now() + Self.lingering)
        }
        return false
    }

    private func reactionInput(_ flight: Flight, _ event: NetworkEvent, isRerouted: Bool) -> ReactionInput {
        let activity: ReactionInput.Activity =
            switch flight.phase {
            case .preparing, .running: .running
            case .queued, .delayed, .backingOff, .settling: .queued
            case .waiting(.online): .waitingForOnline
            case .waiting(.unmetered): .waitingForUnmetered
            }
        let remaining = flight.total.map { $0 - flight.position }
        let isAccepted = flight.isCostAccepted
        return ReactionInput(
            event: event, kind: flight.kind, activity: activity, isCostly: path.isCostly, isRerouted: isRerouted,
            alwaysOriginal: isAccepted || preferences.wantsOriginals(on: path),
            budgetAllows: isAccepted || preferences.budgetAllows(remaining), remaining: remaining, total: flight.total)
    }
}
