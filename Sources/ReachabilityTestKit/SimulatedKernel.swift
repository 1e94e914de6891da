import Netlink
public import Reachability
import Synchronization

/// A small Linux kernel in memory, for tests of programs that watch the network.
///
/// ```swift
/// let kernel = SimulatedKernel()
/// let monitor = kernel.makeMonitor()
/// try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1")     // the monitor says: wifi
/// try kernel.disconnect("wlan0")                                               // the monitor says: offline
/// ```
///
/// It has links, addresses, rules, routes and nexthop objects, answers route lookups the way Linux does, and tells monitors
/// what Linux tells them, leaving unsaid what Linux leaves unsaid. Nothing of the real machine is touched or read, and no privilege
/// is needed. A new one has a loopback interface, up, and nothing else.
///
/// Beside ``connect(_:address:gateway:metric:)`` there are the single changes, in the words of iproute2: links
/// (``addLink(_:_:hardware:up:index:)``, ``setUp(_:_:)``, ``setCarrier(_:_:)``), addresses, routes, rules; and what can go wrong
/// (``fail(_:with:times:)``, ``overrun(_:)``, ``forgeMessage()``). Changes that Linux would refuse are refused, with its error
/// number (``Refusal``).
///
/// All members may be used from any thread. A change is in force when its method returns; monitors hear of it a moment later,
/// on their own threads, so a test waits for what they say.
public final class SimulatedKernel: Sendable {
    private let kernel: Mutex<Kernel>

    private struct Kernel {
        var state = KernelState()
        var mailboxes: [ObjectIdentifier: Mailbox] = [:]
        var failures: [NetlinkError.Operation: Failure] = [:]
        var interruptedDumps = 0
        /// Changes are not told to anybody while this is above 0.
        var silences = 0
        var capacity: Int
    }

    private struct Failure {
        let errno: CInt
        /// How many more times; `nil` for ever.
        var times: Int?
    }

    /// A kernel with a loopback interface and nothing else.
    ///
    /// - Parameter queueCapacity: the messages that the queue of a monitor holds before it overruns; a real one of 1 MiB holds
    ///   about as many as the default.
    public init(queueCapacity: Int = 2520) {
        var state = KernelState()
        state.addLoopback()
        kernel = Mutex(Kernel(state: state, capacity: queueCapacity))
    }

    /// A monitor of this kernel, not started yet. Any number of them may watch the same kernel.
    public func makeMonitor(
        configuration: ReachabilityMonitor.Configuration = ReachabilityMonitor.Configuration()
    ) -> ReachabilityMonitor {
        ReachabilityMonitor(configuration: configuration, feed: self)
    }

    /// The conversations that monitors have open at this moment: none once all of them are stopped.
    public var openConversations: Int { kernel.withLock { $0.mailboxes.count } }

    // MARK: Inside

    /// Changes the state, and posts what the kernel says about it.
    func change<Result: Sendable, Failure: Error>(
        _ body: (inout KernelState) throws(Failure) -> sending Result
    ) throws(Failure) -> Result {
        try kernel.withLock { kernel throws(Failure) in
            defer {
                let notices = kernel.state.takeOutbox()
                if kernel.silences == 0, !notices.isEmpty {
                    for mailbox in kernel.mailboxes.values { mailbox.post(notices) }
                }
            }
            return try body(&kernel.state)
        }
    }

    func read<Result: Sendable>(_ body: (KernelState) -> sending Result) -> Result {
        kernel.withLock { body($0.state) }
    }

    func dump<Element>(
        _ operation: NetlinkError.Operation, _ body: (KernelState) -> sending [Element]
    ) throws(NetlinkError) -> Dump<Element> {
        try check(operation)
        return kernel.withLock { kernel in
            let elements = body(kernel.state)
            guard kernel.interruptedDumps > 0 else { return Dump(elements: elements) }
            kernel.interruptedDumps -= 1
            return Dump(elements: Array(elements.dropLast()), isInterrupted: true)
        }
    }

    func check(_ operation: NetlinkError.Operation) throws(NetlinkError) {
        let errno = kernel.withLock { kernel -> CInt? in
            guard let failure = kernel.failures[operation] else { return nil }
            if let times = failure.times {
                kernel.failures[operation] = times > 1 ? Failure(errno: failure.errno, times: times - 1) : nil
            }
            return failure.errno
        }
        if let errno { throw NetlinkError(operation, errno: errno) }
    }

    func close(_ mailbox: Mailbox) {
        kernel.withLock { $0.mailboxes[ObjectIdentifier(mailbox)] = nil }
    }

    private var mailboxes: [Mailbox] { kernel.withLock { Array($0.mailboxes.values) } }
}

extension SimulatedKernel: NetlinkFeed {
    package func open(watching destinations: [IPAddress]) throws(NetlinkError) -> sending any NetlinkConversation {
        // In the order in which the live feed does these things.
        for operation in [NetlinkError.Operation.openSocket, .sizeReceiveBuffer] { try check(operation) }
        var deafness: NetlinkError?
        for operation in [NetlinkError.Operation.attachFilter, .joinGroup] {
            do { try check(operation) } catch { deafness = deafness ?? error }
        }
        var noticesResumes = true
        do {
            try check(.watchSuspend)
        } catch {
            if error.isExhaustion { throw error }
            noticesResumes = false
        }
        let mailbox = try Mailbox(
            capacity: kernel.withLock(\.capacity), watching: destinations, deafness: deafness,
            noticesResumes: noticesResumes)
        kernel.withLock { $0.mailboxes[ObjectIdentifier(mailbox)] = mailbox }
        return SimulatedConversation(kernel: self, mailbox: mailbox)
    }
}

// MARK: - What can go wrong

extension SimulatedKernel {
    /// Makes an operation of monitors fail from now on.
    ///
    /// `openSocket` keeps monitors from starting. `joinGroup` makes the kernel one that can be asked but sends no notifications, for
    /// monitors that start from now on; `watchSuspend` one that does not tell when the machine has slept, unless `errno` says that
    /// something is used up. `receive` breaks off a conversation at the next message.
    ///
    /// - Parameters:
    ///   - operation: what fails.
    ///   - errno: the error number, such as `EPERM`.
    ///   - times: how often; `nil` until ``recover(_:)``.
    public func fail(_ operation: NetlinkError.Operation, with errno: CInt, times: Int? = nil) {
        kernel.withLock { $0.failures[operation] = Failure(errno: errno, times: times) }
    }

    /// Makes an operation work again.
    public func recover(_ operation: NetlinkError.Operation) {
        kernel.withLock { $0.failures[operation] = nil }
    }

    /// Makes changes that nobody is told of.
    public func silently(_ changes: () throws -> Void) rethrows {
        kernel.withLock { $0.silences += 1 }
        defer { kernel.withLock { $0.silences -= 1 } }
        try changes()
    }

    /// The receive queues of all monitors overflow, and the messages about `changes` are lost (ENOBUFS).
    public func overrun(_ changes: () throws -> Void = {}) rethrows {
        try silently(changes)
        for mailbox in mailboxes { mailbox.lose() }
    }

    /// The machine is suspended and resumes; what changes while it sleeps nobody is told of.
    public func suspend(_ changes: () throws -> Void = {}) rethrows {
        try silently(changes)
        post(.resumed)
    }

    /// Makes changes whose messages reach monitors all at once, when the closure is over.
    public func together(_ changes: () throws -> Void) rethrows {
        for mailbox in mailboxes { mailbox.hold(true) }
        defer { for mailbox in mailboxes { mailbox.hold(false) } }
        try changes()
    }

    /// Interrupts dumps (NLM_F_DUMP_INTR) in spite of all retries: the next ones lack their last element.
    public func interruptDumps(_ count: Int) { kernel.withLock { $0.interruptedDumps = count } }

    /// Another process than the kernel sends a message (nl_pid other than 0).
    public func forgeMessage() { post(.plain(.skipped(.forged))) }

    /// A message arrives that is shorter than it says.
    public func sendMalformedMessage() { post(.plain(.skipped(.malformed))) }

    /// Messages arrive that are no news of any link: wireless events with flags from before the change, and bridge settings.
    public func sendPartialMessage() { post(.plain(.skipped(.partial))) }

    private func post(_ notice: KernelState.Notice) {
        for mailbox in mailboxes { mailbox.post([notice]) }
    }
}
