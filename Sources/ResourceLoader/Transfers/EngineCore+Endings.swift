import CCurl

/// What the end of an attempt means for its transfer.
extension EngineCore {
    /// - Returns: whether any attempt had ended.
    func collectEnded() -> Bool {
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
        endBody(flight)
        let transport = attempt.transportError(code)
        let verdict = attempt.verdict(code)
        let detail = attempt.errorDescription
        var evidence = FailureEvidence(
            status: attempt.head.status > 0 ? attempt.head.status : nil, isHTML: attempt.head.isHTML,
            expects: flight.request.expects, leftHost: attempt.hop.hasLeftHost, isPathOnline: path.isOnline)
        release(flight)
        switch attempt.conclusion {
        case .redirect(let location): return follow(flight, attempt, to: location)
        case .startOver: return startOver(flight, attempt)
        case .alreadyComplete: return complete(flight, attempt, length: attempt.position)
        case .notModified:
            // What there is of another body is of no use any more.
            discard(flight)
            return finish(flight, .notModified)
        case .status: break
        case .portal: evidence.isHTML = true
        case .unfit(let verdict): evidence.verdict = verdict
        case .none:
            evidence.transport = transport ?? (code == CURLE_OK ? .connectionLost : nil)
            evidence.verdict = verdict
        case .body:
            evidence.transport = transport
            evidence.verdict = verdict
            evidence.receivedBytes = attempt.position
            evidence.expectedBytes = attempt.total
        }
        if attempt.conclusion == .body, evidence.transport == nil, evidence.verdict == nil,
            attempt.position == attempt.total ?? attempt.position
        {
            return complete(flight, attempt, length: attempt.total)
        }
        attemptFailed(flight, evidence, detail, of: attempt)
    }

    func timedOut(_ flight: Flight, _ detail: String) {
        guard let attempt = flight.attempt else { return }
        endBody(flight)
        release(flight)
        let status = attempt.head.status > 0 ? attempt.head.status : nil
        attemptFailed(
            flight, FailureEvidence(transport: .timedOut, status: status, isPathOnline: path.isOnline), detail,
            of: attempt)
    }

    func stalled(_ flight: Flight) {
        guard let attempt = flight.attempt else { return }
        let now = clock.now()
        // While the sink holds the transfer back, silence is not the network's.
        let silentSince = attempt.isPaused ? now : attempt.lastActivity
        let deadline = silentSince + flight.request.timeouts.stall
        guard deadline <= now else { return timers.schedule(.stall(flight.id), at: deadline) }
        timedOut(flight, "no byte came for too long")
    }

    /// The sink did not take or keep the body.
    func refused(_ flight: Flight, _ failure: SinkFailure) {
        var evidence = FailureEvidence(
            status: flight.head.status > 0 ? flight.head.status : nil, expects: flight.request.expects,
            isPathOnline: path.isOnline)
        switch failure {
        case .storage(_, let isFull): evidence.verdict = isFull ? .diskFull : .notStored
        case .unfit(let verdict):
            evidence.verdict = verdict
            discard(flight)
        case .isHTML:
            (evidence.isHTML, evidence.status) = (true, 200)
            discard(flight)
        case .unaffordable where flight.mayBeSent: return wait(flight, for: .unmetered)
        // Waiting would mean sending it again.
        case .unaffordable: return fail(flight, .interrupted, status: nil, failure.description)
        }
        attemptFailed(flight, evidence, failure.description, of: nil)
    }

    func attemptFailed(_ flight: Flight, _ evidence: FailureEvidence, _ detail: String, of attempt: Attempt?) {
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
        case .tooLarge, .corrupt, .missing: discard(flight)
        default: flight.lane.send(.pause)
        }
        // Nobody waits: the second of grace is over with the attempt.
        guard !flight.waiters.isEmpty else { return end(flight, .cancelled) }
        let wish = failure == .server ? attempt?.head["retry-after"] : nil
        let floor = wish.flatMap { RetryAfter.delay($0, now: clock.secondsSince1970()) }
        var budget = budgets[host] ?? RetryBudget(at: now)
        let decision = flight.ledger.decide(
            failure, position: flight.position, floor: floor ?? .zero, chance: chance(),
            mayRepeat: flight.mayBeSent, roomWouldHelp: evidence.verdict == .diskFull, budget: &budget, at: now)
        budgets[host] = budget
        switch decision {
        case .giveUp: fail(flight, failure, status: evidence.status, detail, retryAfter: floor)
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

    func backOff(_ flight: Flight, until: Duration, after failure: FailureClass) {
        flight.ticket = nil
        move(flight, to: .backingOff(after: failure))
        timers.schedule(.wake(flight.id), at: until)
        flight.publish(.backingOff(until: until, after: failure))
    }

    func fail(
        _ flight: Flight, _ failure: FailureClass, status: Int?, _ detail: String, retryAfter: Duration? = nil
    ) {
        if let remembered = failure.remembered {
            let now = clock.now()
            missing = missing.filter { $0.value > now }
            missing[flight.request.identity] = now + remembered
        }
        end(
            flight,
            .failed(
                TransferFailure(
                    failure, status: status, detail: detail, attempts: flight.attempts, retryAfter: retryAfter)))
    }

    func finish(_ flight: Flight, _ body: DeliveredBody) {
        missing[flight.request.identity] = nil
        let length: Int64 =
            switch body {
            case .committed(let length): length
            case .bytes(let bytes): Int64(bytes.count)
            case .notModified: 0
            }
        end(
            flight,
            .finished(
                TransferResult(
                    body: body, length: length, head: flight.head, attempts: flight.attempts, received: flight.received,
                    resumed: flight.resumed)))
    }

    func end(_ flight: Flight, _ state: TransferState) {
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
}
