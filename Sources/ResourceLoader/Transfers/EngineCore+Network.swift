import DownloadPolicy

/// Changes of the path and of what may be spent on it.
extension EngineCore {
    private static let lingering: Duration = .seconds(1)

    func pathChanged(to new: TransferPath, toldAt: Duration) {
        let old = path
        path = new
        // Until the engine is told of one, the path was only assumed.
        let isChange = hasHeardOfPath
        hasHeardOfPath = true
        guard let event = NetworkEvent(from: old, to: new) else { return }
        let now = clock.now()
        let isRerouted = new.isRerouted(from: old)
        if event == .wentOffline {
            ramp.outage()
            for flight in flights.values { flight.hasTriedOffline = false }
        }
        if new.isOnline, new.isCostly { costInForce = new }
        pathToldAt = toldAt
        react(to: event, isRerouted: isRerouted)
        pathToldAt = nil
        if isRerouted { leaveOldRoute(now) }
        guard event != .rerouted || old.link != new.link else { return }
        let hold = isChange ? stability.changed(at: now) : PathStability.stability
        if new.isOnline, !new.isCostly {
            timers.schedule(.stable, at: now + hold)
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

    func react(to event: NetworkEvent, isRerouted: Bool) {
        let inOrder = flights.values.sorted { ($1.priority, $0.id) < ($0.priority, $1.id) }
        var isFirst = true
        for flight in inOrder where react(flight, to: event, isRerouted: isRerouted, isFirst: isFirst) {
            isFirst = false
        }
    }

    /// - Returns: whether the transfer goes back into the queue after an outage; the first of them does so at once.
    @discardableResult
    func react(_ flight: Flight, to event: NetworkEvent, isRerouted: Bool, isFirst: Bool = true) -> Bool {
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

    func reactionInput(_ flight: Flight, _ event: NetworkEvent, isRerouted: Bool) -> ReactionInput {
        let activity: ReactionInput.Activity =
            switch flight.phase {
            case .preparing, .running: .running
            case .queued, .delayed, .backingOff, .settling: .queued
            case .waiting(.online): .waitingForOnline
            case .waiting(.unmetered): .waitingForUnmetered
            }
        let remaining = flight.total.map { $0 - flight.position }
        let isAccepted = flight.isCostAccepted
        let costs = costs(to: flight, at: event)
        return ReactionInput(
            event: event, kind: flight.kind, activity: activity, mayBeSent: flight.mayBeSent,
            isCostly: costs.isOnline && costs.isCostly,
            isRerouted: isRerouted, alwaysOriginal: isAccepted || preferences.wantsOriginals(on: costs),
            budgetAllows: isAccepted || preferences.budgetAllows(remaining), remaining: remaining, total: flight.total)
    }

    /// The path by whose costs a transfer goes. On the return from an outage, a free path has not held yet, and a costly one before
    /// the outage still counts; but what a tap asks for never waits for a path to hold.
    private func costs(to flight: Flight, at event: NetworkEvent) -> TransferPath {
        guard event == .cameOnline, !path.isCostly, flight.priority < .user, let costInForce else { return path }
        return costInForce
    }
}
