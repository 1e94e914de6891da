import Foundation
import Network
import Reachability
import ReachabilityTestKit
import TestSupport
import Testing

/// A simulated machine with Apple's monitor on it.
private struct Bench {
    let kernel = SimulatedKernel()
    let monitor: NWPathMonitor
    let queue = DispatchQueue(label: "updates")
    private let stream: AsyncStream<NWPath>
    private let sender: AsyncStream<NWPath>.Continuation

    init(
        requiredInterfaceType: NWInterface.InterfaceType? = nil,
        prohibitedInterfaceTypes: [NWInterface.InterfaceType] = []
    ) {
        monitor = NWPathMonitor(
            monitor: kernel.makeMonitor(), requiredInterfaceType: requiredInterfaceType,
            prohibitedInterfaceTypes: prohibitedInterfaceTypes)
        (stream, sender) = AsyncStream.makeStream()
    }

    func listen() { monitor.pathUpdateHandler = { [sender] in sender.yield($0) } }

    func start() {
        listen()
        monitor.start(queue: queue)
    }

    /// The next path that the handler got.
    func next() async throws -> NWPath {
        var iterator = stream.makeAsyncIterator()
        return try #require(await iterator.next())
    }

    /// Waits for a path like that.
    func expect(_ isRight: (NWPath) -> Bool) async {
        for await path in stream where isRight(path) { return }
    }

    /// Waits until all that was sent to the queue so far is through.
    func drainQueue() async {
        await withCheckedContinuation { continuation in queue.async { continuation.resume() } }
    }

    func connect(_ name: String, _ metric: Int = 100) throws {
        let network = metric % 250
        try kernel.connect(name, address: "10.\(network).0.2/24", gateway: "10.\(network).0.1", metric: metric)
    }
}

@Suite(.takingTurns, .timeLimit(.minutes(10))) struct MonitorTests {
    @Test func callsTheHandlerOnTheQueueWithThePresentPathThenWithEveryChange() async throws {
        let bench = Bench()
        let key = DispatchSpecificKey<Bool>()
        bench.queue.setSpecific(key: key, value: true)
        let (paths, path) = AsyncStream<(NWPath, Bool)>.makeStream()
        bench.monitor.pathUpdateHandler = { path.yield(($0, DispatchQueue.getSpecific(key: key) ?? false)) }
        bench.monitor.start(queue: bench.queue)
        var iterator = paths.makeAsyncIterator()
        let first = try #require(await iterator.next())
        #expect(first.0.status == .unsatisfied)
        #expect(first.1)
        try bench.connect("wlan0")
        while let next = await iterator.next(), next.0.status != .satisfied {}
        try bench.kernel.disconnect("wlan0")
        while let next = await iterator.next(), next.0.status != .unsatisfied {}
    }

    @Test func knowsThePresentPathBeforeAndAfterStart() async throws {
        let bench = Bench()
        try bench.connect("wlan0")
        #expect(bench.monitor.currentPath.status == .satisfied)
        #expect(bench.kernel.openConversations == 0)
        bench.monitor.start(queue: bench.queue)
        #expect(bench.monitor.currentPath.status == .satisfied)
        try bench.kernel.disconnect("wlan0")
        bench.listen()
        await bench.expect { $0.status == .unsatisfied }
        #expect(bench.monitor.currentPath.status == .unsatisfied)
    }

    @Test func ignoresASecondStart() async throws {
        let bench = Bench()
        #expect(bench.monitor.queue == nil)
        bench.start()
        bench.monitor.start(queue: .main)
        #expect(bench.monitor.queue === bench.queue)
        _ = try await bench.next()
    }

    @Test func givesAPathThatCameWithoutAHandlerToTheNextOne() async throws {
        let bench = Bench()
        try bench.connect("wlan0")
        bench.monitor.start(queue: bench.queue)
        while bench.kernel.openConversations == 0 { await Task.yield() }
        await bench.drainQueue()
        bench.listen()
        #expect(try await bench.next().status == .satisfied)
    }

    @Test func givesAReplacedHandlersSuccessorOnlyChanges() async throws {
        let bench = Bench()
        bench.start()
        #expect(try await bench.next().status == .unsatisfied)
        bench.listen()
        try bench.connect("wlan0")
        // Setting up a network takes several steps, but a second unsatisfied path would be equal to the first.
        #expect(try await bench.next().status == .satisfied)
    }

    @Test func deliversNothingAfterCancelAndCannotBeStartedAgain() async throws {
        let bench = Bench()
        bench.queue.suspend()
        bench.start()
        while bench.kernel.openConversations == 0 { await Task.yield() }
        bench.monitor.cancel()
        bench.monitor.cancel()
        #expect(bench.monitor.pathUpdateHandler == nil)
        bench.queue.resume()
        let (calls, call) = AsyncStream<Void>.makeStream()
        bench.monitor.pathUpdateHandler = { _ in call.yield() }
        bench.monitor.start(queue: .main)
        try bench.connect("wlan0")
        await bench.drainQueue()
        while bench.kernel.openConversations > 0 { await Task.yield() }
        call.finish()
        for await _ in calls { Issue.record("the handler was called after cancel") }
    }

    @Test func keepsTheLastPathAfterCancel() async throws {
        let bench = Bench()
        try bench.connect("wlan0")
        bench.start()
        _ = try await bench.next()
        bench.monitor.cancel()
        try bench.kernel.disconnect("wlan0")
        #expect(bench.monitor.currentPath.status == .satisfied)
        let unused = Bench()
        unused.monitor.cancel()
        #expect(unused.monitor.currentPath.status == .unsatisfied)
    }

    @Test func freesTheConversationWhenItGoesAway() async throws {
        var bench: Bench? = Bench()
        let kernel = try #require(bench?.kernel)
        bench?.start()
        _ = try await bench?.next()
        bench = nil
        while kernel.openConversations > 0 { await Task.yield() }
    }

    @Test func saysWhyTheKernelCannotBeAsked() async throws {
        let bench = Bench()
        bench.kernel.fail(.openSocket, with: 1)
        bench.start()
        let path = try await bench.next()
        #expect(path.status == .unsatisfied)
        #expect(path.debugDescription.contains("netlink") || path.debugDescription.contains("socket"))
        #expect(bench.monitor.currentPath == path)
    }

    @Test func canBeIteratedWithoutBeingStarted() async throws {
        let bench = Bench()
        var paths = bench.monitor.makeAsyncIterator()
        #expect(await paths.next()?.status == .unsatisfied)
        try bench.connect("wlan0")
        #expect(await paths.next()?.status == .satisfied)
        #expect(bench.monitor.queue == nil)
    }

    @Test func canBeIteratedManyTimesAtOnceAndCallsItsHandlerToo() async throws {
        let bench = Bench()
        var one = bench.monitor.makeAsyncIterator()
        #expect(await one.next()?.status == .unsatisfied)
        bench.start()
        #expect(try await bench.next().status == .unsatisfied)
        var other = bench.monitor.makeAsyncIterator()
        #expect(await other.next()?.status == .unsatisfied)
        try bench.connect("wlan0")
        #expect(await one.next()?.status == .satisfied)
        #expect(await other.next()?.status == .satisfied)
        #expect(try await bench.next().status == .satisfied)
    }

    @Test func endsIterationsWhenCancelled() async throws {
        let bench = Bench()
        var paths = bench.monitor.makeAsyncIterator()
        _ = await paths.next()
        bench.monitor.cancel()
        #expect(await paths.next() == nil)
        var late = bench.monitor.makeAsyncIterator()
        #expect(await late.next() == nil)
    }

    @Test func deliversNothingAfterCancelNotEvenWhatWasThereAlready() async throws {
        let bench = Bench()
        bench.start()
        _ = try await bench.next()
        // An iteration of a monitor that has a path already begins with it.
        var paths = bench.monitor.makeAsyncIterator()
        bench.monitor.cancel()
        #expect(await paths.next() == nil)
    }

    @Test func keepsAMonitorAliveThatIsOnlyIterated() async throws {
        let kernel = SimulatedKernel()
        var count = 0
        for await path in NWPathMonitor(monitor: kernel.makeMonitor()) {
            count += 1
            if path.status == .satisfied { break }
            try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1")
        }
        #expect(count == 2)
        while kernel.openConversations > 0 { await Task.yield() }
    }

    @Test func restsWhenTheLastIterationIsOverAndCanBeIteratedAgain() async throws {
        let bench = Bench()
        for _ in 0..<3 {
            for await _ in bench.monitor { break }
            while bench.kernel.openConversations > 0 { await Task.yield() }
        }
    }

    @Test func endsIterationsWithTheirTasks() async throws {
        let bench = Bench()
        let monitor = bench.monitor
        let (marks, mark) = AsyncStream<Void>.makeStream()
        let task = Task { for await _ in monitor { mark.yield() } }
        var iterator = marks.makeAsyncIterator()
        _ = await iterator.next()
        task.cancel()
        await task.value
        while bench.kernel.openConversations > 0 { await Task.yield() }
    }

    @Test func doesNotPublishPathsThatNoProgramCanTellApart() async throws {
        let bench = Bench()
        bench.start()
        #expect(try await bench.next().status == .unsatisfied)
        // Offline for another reason, for which Apple has no name.
        try bench.kernel.addLink("eth0")
        try bench.kernel.setUp("eth0")
        try bench.connect("wlan0")
        #expect(try await bench.next().status == .satisfied)
    }

    private static let canAskTheKernel = (try? ReachabilityMonitor().presentPath()) != nil

    @Test(.enabled(if: canAskTheKernel || isEverythingRequired, "netlink is not to be had here"))
    func isWhatTheRealMachineSays() throws {
        let isOnline = try ReachabilityMonitor().presentPath().isOnline
        #expect((NWPathMonitor().currentPath.status == .satisfied) == isOnline)
    }
}
