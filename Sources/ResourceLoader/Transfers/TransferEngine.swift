import CCurl
import Synchronization
import Threads

/// Settings of an engine.
public struct TransferConfiguration: Sendable {
    /// Requests that may be out at once; half of them are kept for what is visible.
    public var slots: Int
    /// The network until the engine is told otherwise.
    public var path: TransferPath
    /// What may be spent until the engine is told otherwise.
    public var preferences: TransferPreferences
    /// What time-outs, back-offs and grace are measured by.
    public var clock: any TransferClock
    /// Numbers from 0 up to, but not including, 1, for jitter.
    public var chance: @Sendable () -> Double

    /// Six slots, a free network and the system's clocks, unless told otherwise; at least one slot.
    public init(
        slots: Int = 6, path: TransferPath = .unrestricted, preferences: TransferPreferences = TransferPreferences(),
        clock: any TransferClock = SystemTransferClock(),
        chance: @escaping @Sendable () -> Double = { Double.random(in: 0..<1) }
    ) {
        self.slots = max(1, slots)
        self.path = path
        self.preferences = preferences
        self.clock = clock
        self.chance = chance
    }
}

/// Why an engine could not start.
public enum TransferEngineError: Error, Hashable, CustomStringConvertible {
    case noThread
    case libcurl

    public var description: String {
        switch self {
        case .noThread: "the system has no thread for the transfers; a limit on processes or memory is reached"
        case .libcurl: "libcurl could not be initialised; it is out of memory or damaged"
        }
    }
}

/// Fetches bodies over HTTP with libcurl, on one thread of its own, on which no caller's code runs.
///
/// Every method may be called from any thread and returns at once. The engine ends when it is shut down or released; transfers that
/// are under way then end as cancelled and keep what can be resumed.
public final class TransferEngine: Sendable {
    private let mailbox: Mailbox
    private let clock: any TransferClock

    /// - Throws: ``TransferEngineError`` when thread or library cannot be had.
    public init(_ configuration: TransferConfiguration = TransferConfiguration()) throws(TransferEngineError) {
        guard Self.isLibraryReady else { throw .libcurl }
        let mailbox = Mailbox()
        self.mailbox = mailbox
        clock = configuration.clock
        clock.onMove { [weak mailbox] in mailbox?.wake() }
        let error = DedicatedThread.start("transfers") {
            EngineCore(mailbox, configuration)?.run() ?? mailbox.close()
        }
        guard error == 0 else { throw .noThread }
    }

    deinit { mailbox.post(.shutDown) }

    /// Begins a transfer, or joins the one under way for an equal request; the sink of the first is then used and this one is not.
    public func start(_ request: TransferRequest, into sink: any TransferSink) -> Transfer {
        start(request, into: sink, isRenewal: false)
    }

    /// - Parameter isRenewal: whether it takes the place of a share in the same transfer, which is given up after it: then it is no
    ///   new tap, which might make another attempt while the path is offline.
    func start(_ request: TransferRequest, into sink: any TransferSink, isRenewal: Bool) -> Transfer {
        let (states, continuation) = AsyncStream.makeStream(
            of: TransferState.self, bufferingPolicy: .bufferingNewest(64))
        let waiter = Waiter(id: mailbox.makeID(), request: request, isRenewal: isRenewal, states: continuation)
        continuation.onTermination = { [mailbox] reason in
            if case .cancelled = reason { mailbox.post(.leave(waiter.id)) }
        }
        mailbox.post(.join(waiter, sink))
        return Transfer(id: waiter.id, mailbox: mailbox, states: states)
    }

    /// Tells the engine what the network is now. Connections that must stop are closed before anything else is done.
    public func update(path: TransferPath) { mailbox.post(.path(path, toldAt: clock.now())) }

    /// Tells the engine what may be spent; running transfers react as they would to the matching change of path.
    public func update(preferences: TransferPreferences) { mailbox.post(.preferences(preferences)) }

    /// What attempts say about the network, from now on. Each call gives a stream of its own, which ends with the engine. A reader that
    /// falls behind by more than 256 misses the oldest; ``TransferStatistics/droppedOutcomes`` counts them.
    public func outcomes() -> AsyncStream<TransferOutcome> {
        let (outcomes, continuation) = AsyncStream.makeStream(
            of: TransferOutcome.self, bufferingPolicy: .bufferingNewest(256))
        let id = mailbox.makeID()
        continuation.onTermination = { [mailbox] _ in mailbox.post(.unsubscribe(id)) }
        mailbox.post(.subscribe(id, continuation))
        return outcomes
    }

    /// The counts so far.
    public var statistics: TransferStatistics { mailbox.statistics.withLock { $0 } }

    /// Ends every transfer as cancelled and returns when sockets, sinks and thread are done. More calls are harmless; transfers that are
    /// started later end as cancelled.
    public func shutDown() async {
        let (ended, continuation) = AsyncStream.makeStream(of: Never.self)
        mailbox.post(.whenEnded(continuation))
        mailbox.post(.shutDown)
        for await _ in ended {}
    }

    /// curl_global_init must run once, before anything else of libcurl.
    private static let isLibraryReady = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK
}
