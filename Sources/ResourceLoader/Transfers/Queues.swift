/// What a deadline is for.
enum TimerKey: Hashable {
    case connect(UInt64)
    case stall(UInt64)
    case overall(UInt64)
    /// The end of a back-off or of a jitter.
    case wake(UInt64)
    case linger(UInt64)
    /// The path has been without cost for long enough.
    case stable
}

/// Deadlines in order; one for each key.
struct TimerQueue {
    private struct Entry {
        let deadline: Duration
        let key: TimerKey
    }

    /// A binary heap. Entries that were replaced or cancelled stay in it until their time comes, and are then not in `current`.
    private var heap: [Entry] = []
    private var current: [TimerKey: Duration] = [:]

    mutating func schedule(_ key: TimerKey, at deadline: Duration) {
        current[key] = deadline
        heap.append(Entry(deadline: deadline, key: key))
        var child = heap.count - 1
        while child > 0, heap[child].deadline < heap[(child - 1) / 2].deadline {
            heap.swapAt(child, (child - 1) / 2)
            child = (child - 1) / 2
        }
    }

    mutating func cancel(_ key: TimerKey) { current[key] = nil }

    /// The earliest deadline.
    mutating func next() -> Duration? {
        while let first = heap.first, current[first.key] != first.deadline { removeFirst() }
        return heap.first?.deadline
    }

    /// Takes out one key whose time has come.
    mutating func popDue(_ now: Duration) -> TimerKey? {
        guard let deadline = next(), deadline <= now, let key = heap.first?.key else { return nil }
        removeFirst()
        current[key] = nil
        return key
    }

    private mutating func removeFirst() {
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var parent = 0
        while true {
            var least = parent
            for child in [2 * parent + 1, 2 * parent + 2] where child < heap.count {
                if heap[child].deadline < heap[least].deadline { least = child }
            }
            if least == parent { return }
            heap.swapAt(parent, least)
            parent = least
        }
    }
}

/// Transfers that are ready to start: the highest priority first, and within one the one that came first.
struct ReadyQueue {
    /// A ticket is void once its transfer has left the queue or got a newer one.
    struct Ticket: Hashable {
        let flight: UInt64
        let number: Int64
    }

    private var lines: [TransferPriority: [Ticket]] = [:]
    private var front: Int64 = 0
    private var back: Int64 = 1

    /// - Parameter isFirst: ahead of its equals, for a transfer that was interrupted through no fault of its own.
    mutating func add(_ flight: UInt64, _ priority: TransferPriority, isFirst: Bool) -> Ticket {
        let ticket = Ticket(flight: flight, number: isFirst ? front : back)
        if isFirst { front -= 1 } else { back += 1 }
        // Lines are kept last to first, so that taking one out is cheap.
        if isFirst {
            lines[priority, default: []].append(ticket)
        } else {
            lines[priority, default: []].insert(ticket, at: 0)
        }
        return ticket
    }

    mutating func next(from lowest: TransferPriority, isValid: (Ticket) -> Bool) -> Ticket? {
        for priority in TransferPriority.allCases.reversed() where priority >= lowest {
            while let ticket = lines[priority, default: []].popLast() {
                if isValid(ticket) { return ticket }
            }
        }
        return nil
    }
}
