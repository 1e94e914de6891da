import CCurl

/// Attempts, from the sink's word on what it has to the end of their bytes.
extension EngineCore {
    private static let offlineConnectTimeout: Duration = .seconds(3)

    func sinkReplied(_ reply: SinkReply, _ flight: Flight) {
        switch (reply, flight.phase) {
        case (.stored(let part), .preparing):
            let canResume = flight.request.method.body == nil && part?.validator != nil
            flight.part = canResume ? part : nil
            flight.position = flight.part?.offset ?? 0
            flight.total = flight.part?.total
            // Only now is it certain how much is missing, and with it what the attempt would cost.
            if let condition = obstacle(to: flight) {
                flight.lane.send(.pause)
                return wait(flight, for: condition)
            }
            if !path.isOnline { flight.hasTriedOffline = true }
            count { $0.attempts += 1 }
            send(
                flight,
                RedirectRule.Hop(
                    address: flight.address, headers: flight.request.headers, body: flight.request.method.body))
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
        let now = clock.now()
        flight.startedAt = now
        if let overall = flight.request.timeouts.overall {
            timers.schedule(.overall(flight.id), at: now + overall - flight.ranFor)
        }
        // A name may mean another address on another network.
        let sinceRoute = routeChangedAt.map { Int((now - $0) / .seconds(1)) } ?? 60
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
        timers.schedule(.connect(flight.id), at: now + connect)
        flight.publish(.running(TransferProgress(received: flight.position, total: flight.total)))
    }

    func follow(_ flight: Flight, _ attempt: Attempt, to location: String) {
        do throws(RedirectRule.Refusal) {
            let hop = try RedirectRule.follow(attempt.hop, status: attempt.head.status, location: location)
            count { $0.redirects += 1 }
            send(flight, hop)
        } catch {
            let verdict: FailureEvidence.Verdict = error == .insecure ? .insecureRedirect : .unusableRedirect
            attemptFailed(
                flight, FailureEvidence(verdict: verdict, status: attempt.head.status, isPathOnline: path.isOnline),
                "redirect refused: \(error)", of: attempt)
        }
    }

    func startOver(_ flight: Flight, _ attempt: Attempt) {
        guard flight.mayBeSent, flight.ledger.startsOver() else {
            return attemptFailed(
                flight,
                FailureEvidence(verdict: .unusableRange, status: attempt.head.status, isPathOnline: path.isOnline),
                "the server answers ranges wrongly", of: attempt)
        }
        discard(flight)
        enqueue(flight, isFirst: true)
    }

    func complete(_ flight: Flight, _ attempt: Attempt, length: Int64?) {
        move(flight, to: .settling)
        let checks = BodyChecks(
            length: length, digest: flight.request.digest, expects: flight.request.expects,
            limits: flight.request.limits)
        flight.lane.send(.complete(checks, attempt.head, attempt: flight.attempts))
    }

    /// Ends the attempt that runs, if one does: closes its connection, keeps its bytes.
    func abort(_ flight: Flight) {
        let hadConnection = flight.attempt != nil
        endBody(flight)
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

    /// No more bytes come in this attempt; those that a next one cannot go on from count for nothing.
    func endBody(_ flight: Flight) {
        guard let attempt = flight.attempt else { return }
        attempt.bodyEnded()
        if attempt.conclusion == .body { flight.position = attempt.isResumable ? attempt.position : 0 }
    }

    func discard(_ flight: Flight) {
        flight.lane.send(.discard)
        flight.position = 0
    }

    func release(_ flight: Flight) {
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
}

extension EngineCore: AttemptObserver {
    func now() -> Duration { clock.now() }

    var isWanted: Bool { mailbox.hasUrgentCommand }

    func attemptConnected(_ attempt: Attempt) {
        flights[attempt.flight]?.isSent = true
        timers.cancel(.connect(attempt.flight))
        timers.schedule(.stall(attempt.flight), at: clock.now() + attempt.request.timeouts.stall)
    }

    func attemptAnswered(_ attempt: Attempt) {
        guard let flight = flights[attempt.flight] else { return }
        flight.head = attempt.head
        guard attempt.conclusion != .portal else { return }
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
}
