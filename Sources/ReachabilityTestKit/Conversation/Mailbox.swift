import Netlink
import Reachability
import Synchronization

/// The receive queue of one listener, as bounded as a socket's, behind the filter that a listener attaches.
final class Mailbox: Sendable {
    let bell: WakeDescriptor
    /// Why nothing that the routing kernel says arrives here.
    let deafness: NetlinkError?
    private let noticesResumes: Bool
    private let capacity: Int
    private let state: Mutex<State>

    private struct State {
        var destinations: [IPAddress]
        var queue: [NetlinkEvent] = []
        /// Something was lost since the queue was last empty; until it is again, everything is.
        var hasLost = false
        var isHeld = false
    }

    init(
        capacity: Int, watching destinations: [IPAddress], deafness: NetlinkError?, noticesResumes: Bool
    ) throws(NetlinkError) {
        bell = try WakeDescriptor()
        self.deafness = deafness
        self.noticesResumes = noticesResumes
        self.capacity = capacity
        state = Mutex(State(destinations: destinations))
    }

    func watch(_ destinations: [IPAddress]) { state.withLock { $0.destinations = destinations } }

    func post(_ notices: [KernelState.Notice]) {
        let rings = state.withLock { state in
            for notice in notices { post(notice, &state) }
            return !state.isHeld && (!state.queue.isEmpty || state.hasLost)
        }
        if rings { bell.ring() }
    }

    private func post(_ notice: KernelState.Notice, _ state: inout State) {
        switch notice {
        case .resolver: return state.queue.append(.resolver)
        case .resumed: if noticesResumes { state.queue.append(.resumed) }
        case .route(let prefix):
            if Self.matters(prefix, to: state.destinations) { deliver(.routing(.route), &state) }
        case .plain(let event): deliver(event, &state)
        }
    }

    private func deliver(_ event: NetlinkEvent, _ state: inout State) {
        if deafness != nil { return }
        if state.hasLost || state.queue.count >= capacity { state.hasLost = true } else { state.queue.append(event) }
    }

    /// What the kernel-side filter lets through.
    private static func matters(_ prefix: Prefix, to destinations: [IPAddress]) -> Bool {
        prefix.length <= 1 || destinations.contains(where: prefix.contains)
    }

    /// Loses one message, as if the queue had been full for a moment.
    func lose() {
        state.withLock { $0.hasLost = deafness == nil }
        post([])
    }

    /// While held, messages are kept and the bell stays silent.
    func hold(_ isHeld: Bool) {
        state.withLock { $0.isHeld = isHeld }
        post([])
    }

    /// Takes up to `limit` messages; `true` if there are more.
    func drain(limit: Int, into events: inout [NetlinkEvent]) -> Bool {
        let (taken, hasMore) = state.withLock { state in
            var taken = Array(state.queue.prefix(limit))
            state.queue.removeFirst(taken.count)
            if state.queue.isEmpty {
                if state.hasLost { taken.append(.overrun) }
                state.hasLost = false
                bell.silence()
            }
            return (taken, !state.queue.isEmpty)
        }
        events += taken
        return hasMore
    }
}
