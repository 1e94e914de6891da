/// The coming and going of those who wait for a transfer.
extension EngineCore {
    func join(_ waiter: Waiter, _ sink: any TransferSink) {
        let request = waiter.request
        if isEnding { return Self.refuse(waiter, .cancelled) }
        if let id = byIdentity[request.identity], let flight = flights[id] {
            count { $0.joins += 1 }
            byWaiter[waiter.id] = id
            timers.cancel(.linger(id))
            flight.join(waiter)
            if waiter.isTap { flight.hasTriedOffline = false }
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

    func leave(_ waiter: UInt64) {
        guard let id = byWaiter.removeValue(forKey: waiter), let flight = flights[id],
            let left = flight.waiters.removeValue(forKey: waiter)
        else { return }
        count { $0.cancelled += 1 }
        // What the others want together may be less: who accepted the cost may be the one who left.
        react(flight, to: flight.waiters.isEmpty ? .abandoned : .allowanceChanged, isRerouted: false)
        Self.refuse(left, .cancelled)
    }

    /// A waiter came: its priority, kind and consent may set free what waits, and move up what is queued.
    private func regate(_ flight: Flight) {
        switch flight.phase {
        case .queued, .waiting: enqueue(flight)
        case .delayed, .preparing, .running, .backingOff, .settling: break
        }
    }

    private static func refuse(_ waiter: Waiter, _ state: TransferState) {
        waiter.states.yield(state)
        waiter.states.finish()
    }
}
