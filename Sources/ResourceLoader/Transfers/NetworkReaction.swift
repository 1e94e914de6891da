/// A change that running and waiting transfers react to.
package enum NetworkEvent: Sendable, Hashable, CaseIterable {
    /// To expensive, constrained or roaming.
    case becameCostly
    /// To no cost at all, just now. Nothing resumes yet, but what runs may move over.
    case becameUnmetered
    /// Without cost for long enough.
    case unmeteredIsStable
    case wentOffline
    case cameOnline
    /// Another gateway or source, same cost.
    case rerouted
    /// What may be spent on the present path changed: by a preference, or because some of its cost, not all, is gone.
    case allowanceChanged
    /// Nobody waits any more.
    case abandoned

    /// What a change of path is, in the order in which it matters; `nil` when no transfer cares.
    package init?(from old: TransferPath, to new: TransferPath) {
        switch (old.isOnline, new.isOnline) {
        case (true, false): self = .wentOffline
        case (false, true): self = .cameOnline
        case (false, false): return nil
        case (true, true):
            if new.isCostlier(than: old) {
                self = .becameCostly
            } else if old.isCostly, !new.isCostly {
                self = .becameUnmetered
            } else if old.isCostlier(than: new) {
                self = .allowanceChanged
            } else if new.isRerouted(from: old) {
                self = .rerouted
            } else {
                return nil
            }
        }
    }
}

/// What a transfer waits for. Waiting is never shown as running.
public enum WaitCondition: String, Sendable, Hashable, Codable {
    /// Any path at all.
    case online
    /// A path without cost, or a preference that accepts the cost.
    case unmetered
}

/// What happens to one transfer.
package enum NetworkReaction: Sendable, Hashable {
    /// Nothing: go on running, queueing, backing off or waiting.
    case proceed
    /// Close the connection, keep the bytes, wait.
    case wait(WaitCondition)
    /// Close the connection and go on by range over the new path. A free attempt's failure is not counted.
    case restart(isFree: Bool)
    /// To the end of the queue.
    case requeue
    /// Back into the queue at once.
    case resume
    /// Back into the queue after a random moment, prefetches last.
    case resumeWithJitter
    /// Give a new waiter a second to turn up, then cancel and keep a resumable part.
    case linger
}

/// The table "Running transfers when the path changes" as a pure function.
package struct ReactionInput: Sendable, Hashable {
    package enum Activity: Sendable, Hashable, CaseIterable {
        /// Connected or connecting.
        case running
        /// Queued or backing off.
        case queued
        case waitingForOnline, waitingForUnmetered
    }

    package var event: NetworkEvent
    package var kind: TransferKind
    package var activity: Activity
    /// Whether stopping leaves a way to go on. False for a request that must not be sent twice, once it is sent: it runs on.
    package var mayBeSent: Bool
    /// Whether the path is costly now, or counts as such because a costly one did before an outage.
    package var isCostly: Bool
    /// Whether gateway or source changed with the event.
    package var isRerouted: Bool
    /// Whether originals are wanted on this path whatever it costs.
    package var alwaysOriginal: Bool
    package var budgetAllows: Bool
    package var remaining: Int64?
    package var total: Int64?

    package init(
        event: NetworkEvent, kind: TransferKind, activity: Activity = .running, mayBeSent: Bool = true,
        isCostly: Bool = false, isRerouted: Bool = false, alwaysOriginal: Bool = false, budgetAllows: Bool = true,
        remaining: Int64? = nil, total: Int64? = nil
    ) {
        self.event = event
        self.kind = kind
        self.activity = activity
        self.mayBeSent = mayBeSent
        self.isCostly = isCostly
        self.isRerouted = isRerouted
        self.alwaysOriginal = alwaysOriginal
        self.budgetAllows = budgetAllows
        self.remaining = remaining
        self.total = total
    }

    package var isNearlyDone: Bool {
        guard let remaining, let total else { return false }
        return Self.isLittle(remaining, of: total)
    }

    /// At most max(64 KiB, 10 %) is missing, so that stopping would waste more than going on costs.
    static func isLittle(_ remaining: Int64, of total: Int64) -> Bool { remaining <= max(65_536, total / 10) }

    /// Whether the transfer may spend bytes on the path as it is.
    package var mayRun: Bool {
        guard isCostly else { return true }
        return switch kind {
        case .thumbnail: true
        case .original: budgetAllows && (alwaysOriginal || isNearlyDone)
        case .prefetch: false
        }
    }

    package var reaction: NetworkReaction {
        switch event {
        case .abandoned: return .linger
        case _ where !mayBeSent: return .proceed
        case .wentOffline: return .wait(.online)
        case .unmeteredIsStable: return activity == .waitingForUnmetered ? .resume : .proceed
        case .cameOnline:
            guard activity == .waitingForOnline else { return mayRunOrWait(else: moved) }
            return mayRunOrWait(else: .resumeWithJitter)
        case .allowanceChanged where activity == .waitingForUnmetered:
            return isCostly && mayRun ? .resume : .proceed
        case .becameCostly, .allowanceChanged: return mayRunOrWait(else: moved)
        case .becameUnmetered, .rerouted: return moved
        }
    }

    private func mayRunOrWait(else reaction: NetworkReaction) -> NetworkReaction {
        if mayRun { return reaction }
        return activity == .waitingForUnmetered ? .proceed : .wait(.unmetered)
    }

    /// A connection made over another path is given up at once, whatever else happened.
    private var moved: NetworkReaction {
        guard activity == .running, isRerouted else { return .proceed }
        return switch kind {
        case .original: .restart(isFree: true)
        case .thumbnail: .restart(isFree: false)
        case .prefetch: .requeue
        }
    }
}
