/// What waits for its turn, and what it needs before that.
extension EngineCore {
    /// Puts a transfer in line, or lets it wait for what it needs first.
    func enqueue(_ flight: Flight, isFirst: Bool = false) {
        if let condition = obstacle(to: flight) { return wait(flight, for: condition) }
        if let until = flight.notBefore, until > clock.now() { return backOff(flight, until: until, after: .server) }
        flight.notBefore = nil
        let wasQueued = flight.phase == .queued && flight.ticket != nil
        move(flight, to: .queued)
        flight.ticket = ready.add(flight.id, flight.priority, isFirst: isFirst)
        if !wasQueued { flight.publish(.queued) }
    }

    func wait(_ flight: Flight, for condition: WaitCondition) {
        flight.ticket = nil
        timers.cancel(.wake(flight.id))
        guard flight.phase != .waiting(condition) else { return }
        move(flight, to: .waiting(condition))
        flight.publish(.waiting(for: condition))
    }

    func obstacle(to flight: Flight) -> WaitCondition? {
        if !path.isOnline {
            return flight.priority == .user && !flight.hasTriedOffline ? nil : .online
        }
        return reactionInput(flight, .allowanceChanged, isRerouted: false).mayRun ? nil : .unmetered
    }

    func dispatch() {
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
        move(flight, to: .preparing)
        let together = out.count
        count { $0.mostAtOnce = max($0.mostAtOnce, together) }
        flight.attempts += 1
        flight.lane.send(.stored(attempt: flight.attempts))
    }

    func laneEnded(_ identity: RequestIdentity) {
        let left = (endingLanes[identity] ?? 1) - 1
        endingLanes[identity] = left > 0 ? left : nil
        if let id = byIdentity[identity], let flight = flights[id], flight.phase == .queued { enqueue(flight) }
    }
}
