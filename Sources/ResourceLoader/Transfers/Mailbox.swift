import CCurl
import Synchronization

/// A waiter as it enters the engine.
struct Waiter: Sendable {
    let id: UInt64
    let request: TransferRequest
    /// Whether it takes the place of one that waits already, so that nobody has asked anew.
    let isRenewal: Bool
    let states: AsyncStream<TransferState>.Continuation

    /// Whether a person asked just now.
    var isTap: Bool { request.priority == .user && !isRenewal }
}

/// What the engine's thread is told.
enum Command: Sendable {
    case join(Waiter, any TransferSink)
    case leave(UInt64)
    case path(TransferPath, toldAt: Duration)
    case preferences(TransferPreferences)
    case subscribe(UInt64, AsyncStream<TransferOutcome>.Continuation)
    case unsubscribe(UInt64)
    case sink(SinkReply, flight: UInt64, attempt: Int)
    case drained(flight: UInt64)
    case laneEnded(RequestIdentity)
    case shutDown
    case whenEnded(AsyncStream<Never>.Continuation)
}

extension Command {
    /// Whether it may be about to stop bytes, so that reading more of them first would be wrong.
    fileprivate var isUrgent: Bool {
        switch self {
        case .path, .preferences, .leave, .shutDown: true
        case .join, .subscribe, .unsubscribe, .sink, .drained, .laneEnded, .whenEnded: false
        }
    }
}

/// The way into the engine's thread: commands in order, a wake-up, and the counts on the way out.
final class Mailbox: Sendable {
    private struct State: Sendable {
        var commands: [Command] = []
        /// The multi handle's address while it lives. An integer, because a pointer may not cross threads; it is turned back only
        /// under this lock, and the engine's thread takes it away under this lock before it frees the handle.
        var multi: UInt?
        var isClosed = false
    }

    private let state = Mutex(State())
    let statistics = Mutex(TransferStatistics())
    private let nextID = Atomic<UInt64>(1)
    private let urgent = Atomic<Bool>(false)

    func makeID() -> UInt64 { nextID.add(1, ordering: .relaxed).oldValue }

    /// Puts a command in line. After the engine has ended, what waits for an answer gets its ending here.
    func post(_ command: Command) {
        let isClosed = state.withLock { state in
            if !state.isClosed {
                state.commands.append(command)
                if command.isUrgent { urgent.store(true, ordering: .relaxed) }
                wake(state)
            }
            return state.isClosed
        }
        if isClosed { Self.answerInVain(command) }
    }

    func wake() { state.withLock { wake($0) } }

    private func wake(_ state: borrowing State) {
        // curl_multi_wakeup is the one function of libcurl that may be called from any thread.
        if let multi = state.multi { curl_multi_wakeup(UnsafeMutableRawPointer(bitPattern: multi)) }
    }

    func open(_ multi: UInt) { state.withLock { $0.multi = multi } }

    /// Whether a command is in line that must not wait for more bytes.
    var hasUrgentCommand: Bool { urgent.load(ordering: .relaxed) }

    func take() -> [Command] {
        state.withLock { state in
            urgent.store(false, ordering: .relaxed)
            defer { state.commands = [] }
            return state.commands
        }
    }

    /// No command is taken any more; those still in line get their ending.
    func close() {
        let rest = state.withLock { state in
            defer { state.commands = [] }
            state.isClosed = true
            state.multi = nil
            return state.commands
        }
        for command in rest { Self.answerInVain(command) }
    }

    private static func answerInVain(_ command: Command) {
        switch command {
        case .join(let waiter, _):
            waiter.states.yield(.cancelled)
            waiter.states.finish()
        case .subscribe(_, let outcomes): outcomes.finish()
        case .whenEnded(let ended): ended.finish()
        case .leave, .path, .preferences, .unsubscribe, .sink, .drained, .laneEnded, .shutDown: break
        }
    }
}
