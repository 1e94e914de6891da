import Foundation
import Netlink
import Reachability
import ReachabilityTestKit
import Synchronization
import TestSupport
import Testing

@Suite("Those who listen", .takingTurns, .timeLimit(.minutes(10)))
struct SubscriberTests {
    private let kernel = SimulatedKernel()
    private let online = SimulatedKernel.Route("default", via: "10.1.0.1")

    init() throws {
        try kernel.connect("eth0", address: "10.1.0.2/24", gateway: "10.1.0.1")
    }

    private func toggle(_ isOnline: Bool) throws {
        if isOnline { try kernel.addRoute(online) } else { try kernel.removeRoute(online) }
    }

    // MARK: Life

    @Test func iteratingStartsAndTheLastToLeaveStops() async throws {
        let monitor = kernel.makeMonitor()
        #expect(kernel.openConversations == 0)
        for await path in monitor {
            #expect(path.status == .wired)
            #expect(kernel.openConversations == 1)
            break
        }
        #expect(kernel.openConversations == 0)
        for await path in monitor {
            #expect(path.status == .wired)
            break
        }
        #expect(kernel.openConversations == 0)
    }

    @Test func startedForGoodItOutlivesItsListeners() async throws {
        let monitor = kernel.makeMonitor()
        try monitor.start()
        try monitor.start()
        for await _ in monitor { break }
        #expect(kernel.openConversations == 1)
        monitor.stop()
        monitor.stop()
        #expect(kernel.openConversations == 0)
    }

    @Test func aDroppedMonitorLeavesNothingOpen() async throws {
        do {
            let monitor = kernel.makeMonitor()
            try monitor.start()
            #expect(kernel.openConversations == 1)
            withExtendedLifetime(monitor) {}
        }
        #expect(kernel.openConversations == 0)
    }

    @Test func aListenerKeepsADroppedMonitorGoing() async throws {
        var iterator = kernel.makeMonitor().makeAsyncIterator()
        #expect(await iterator.next()?.status == .wired)
        try toggle(false)
        #expect(await iterator.next()?.status == .offline)
        #expect(kernel.openConversations == 1)
    }

    @Test func aRestartReportsThePresentState() async throws {
        let monitor = kernel.makeMonitor()
        for round in 0..<50 {
            try monitor.start()
            #expect(monitor.currentPath.status == (round % 2 == 0 ? .wired : .offline))
            var iterator = monitor.makeAsyncIterator()
            #expect(await iterator.next() == monitor.currentPath)
            monitor.stop()
            #expect(await iterator.next() == nil)
            // Nobody hears this; the next start does.
            try toggle(round % 2 != 0)
        }
    }

    @Test func nothingArrivesAfterStop() async throws {
        let monitor = kernel.makeMonitor()
        try monitor.start()
        var iterator = monitor.makeAsyncIterator()
        _ = await iterator.next()
        try toggle(false)
        _ = try await monitor.refresh()
        // The change is in the buffer by now, and is no news any more.
        monitor.stop()
        #expect(await iterator.next() == nil)
        #expect(await iterator.next() == nil)
    }

    @Test func stopMayBeCalledByAListener() async throws {
        let monitor = kernel.makeMonitor()
        var count = 0
        for await _ in monitor {
            count += 1
            monitor.stop()
        }
        #expect(count == 1)
        #expect(kernel.openConversations == 0)
    }

    @Test func stopMayBeCalledByAListenerOnTheReaderThread() async throws {
        let monitor = kernel.makeMonitor()
        try monitor.start()
        let count = await Task(executorPreference: monitor.readerExecutor) {
            var count = 0
            for await _ in monitor {
                count += 1
                if count == 1 { try? toggle(false) }
                if count == 2 { monitor.stop() }
            }
            return count
        }.value
        #expect(count == 2)
        #expect(kernel.openConversations == 0)
    }

    /// Nobody rings for what is left over from the reader before: the network is quiet, so the next reader has to look by itself.
    @Test func aRestartByAListenerOnTheReaderThreadEndsTheOthersThere() async throws {
        let monitor = kernel.makeMonitor()
        try monitor.start()
        let heard = Counter()
        let other = Task(executorPreference: monitor.readerExecutor) { for await _ in monitor { heard.increment() } }
        while heard.count == 0 { await Task.yield() }
        try await Task(executorPreference: monitor.readerExecutor) {
            monitor.stop()
            try monitor.start()
        }.value
        await other.value
        #expect(heard.count == 1)
        monitor.stop()
    }

    @Test func runEndsWithItsTaskAndWithStop() async throws {
        let monitor = kernel.makeMonitor()
        let cancelled = Task { try await monitor.run() }
        while kernel.openConversations == 0 { await Task.yield() }
        cancelled.cancel()
        try await cancelled.value
        #expect(kernel.openConversations == 0)
        let stopped = Task { try await monitor.run() }
        while kernel.openConversations == 0 { await Task.yield() }
        monitor.stop()
        try await stopped.value
        #expect(kernel.openConversations == 0)
    }

    @Test func stopInterruptsAFreshLook() async throws {
        let monitor = kernel.makeMonitor()
        try monitor.start()
        let gate = Gate()
        let blocked = Task(executorPreference: monitor.readerExecutor) { gate.block() }
        await gate.waitForVisitor()
        // The reader runs both before it looks what is asked of it.
        let refresh = Task(executorPreference: monitor.readerExecutor) { try await monitor.refresh() }
        let stop = Task(executorPreference: monitor.readerExecutor) { monitor.stop() }
        gate.open()
        await blocked.value
        await stop.value
        await #expect(throws: CancellationError.self) { try await refresh.value }
        #expect(kernel.openConversations == 0)
    }

    // MARK: What they get

    @Test func whoComesLateGetsThePresentStateFirst() async throws {
        let monitor = kernel.makeMonitor()
        try monitor.start()
        try toggle(false)
        let present = try await monitor.refresh()
        var iterator = monitor.makeAsyncIterator()
        #expect(await iterator.next() == present)
        try toggle(true)
        #expect(await iterator.next()?.status == .wired)
        monitor.stop()
    }

    @Test func eachOfManyGetsEverythingThatLasts() async throws {
        let monitor = kernel.makeMonitor()
        try monitor.start()
        let listeners = 300
        let arrived = Counter()
        try await withThrowingTaskGroup(of: [NetworkPath.Status].self) { group in
            for _ in 0..<listeners {
                group.addTask {
                    var statuses: [NetworkPath.Status] = []
                    for await path in monitor {
                        statuses.append(path.status)
                        if statuses.count == 1 { arrived.increment() }
                        if statuses.count == 2 { break }
                    }
                    return statuses
                }
            }
            while arrived.count < listeners { await Task.yield() }
            try toggle(false)
            for try await statuses in group { #expect(statuses == [.wired, .offline]) }
        }
        monitor.stop()
    }

    @Test func twoListenersDoNotShareWhatThereIs() async throws {
        let monitor = kernel.makeMonitor()
        try monitor.start()
        var one = monitor.makeAsyncIterator()
        var other = monitor.makeAsyncIterator()
        for isOnline in [true, false, true, false] {
            #expect(await one.next()?.isOnline == isOnline)
            #expect(await other.next()?.isOnline == isOnline)
            try toggle(!isOnline)
        }
        monitor.stop()
    }

    @Test func aSlowListenerMissesWhatIsOverAndNeverTheLast() async throws {
        let monitor = kernel.makeMonitor()
        try monitor.start()
        var slow = monitor.makeAsyncIterator()
        _ = await slow.next()
        for round in 0..<100 {
            try toggle(round % 2 != 0)
            _ = try await monitor.refresh()
        }
        try kernel.replaceRoute(SimulatedKernel.Route("default", via: "10.1.0.9"))
        let last = try await monitor.refresh()
        #expect(await slow.next() == last)
        monitor.stop()
    }

    @Test func aChangeAndTheChangeBackAreNothingToWhoSleptThroughBoth() async throws {
        let monitor = kernel.makeMonitor()
        try monitor.start()
        var slow = monitor.makeAsyncIterator()
        let first = await slow.next()
        try toggle(false)
        _ = try await monitor.refresh()
        try toggle(true)
        #expect(try await monitor.refresh() == first)
        try kernel.replaceRoute(SimulatedKernel.Route("default", via: "10.1.0.9"))
        #expect(await slow.next()?.gateways == [IPAddress(10, 1, 0, 9)])
        monitor.stop()
    }

    @Test func offlineInBetweenIsNotSwallowed() async throws {
        let monitor = kernel.makeMonitor()
        var listener = monitor.makeAsyncIterator()
        let before = await listener.next()
        try toggle(false)
        #expect(await listener.next()?.status == .offline)
        try toggle(true)
        #expect(await listener.next() == before)
    }

    @Test func aListenerThatNeverComesBackHoldsUpNobodyElse() async throws {
        let monitor = kernel.makeMonitor()
        try monitor.start()
        let gate = Gate()
        let stuck = Task {
            for await _ in monitor {
                await gate.pass()
                break
            }
        }
        await gate.waitForVisitor()
        var quick = monitor.makeAsyncIterator()
        for isOnline in [true, false, true, false] {
            #expect(await quick.next()?.isOnline == isOnline)
            try toggle(!isOnline)
        }
        gate.open()
        await stuck.value
        monitor.stop()
    }

    // MARK: Cancellation

    @Test func cancellationEndsAWaitAndFreesEverything() async throws {
        let monitor = kernel.makeMonitor()
        let heard = Counter()
        let task = Task {
            var count = 0
            for await _ in monitor {
                count += 1
                heard.increment()
            }
            return count
        }
        while heard.count == 0 { await Task.yield() }
        task.cancel()
        #expect(await task.value == 1)
        #expect(kernel.openConversations == 0)
    }

    @Test func aTaskThatIsCancelledBeforehandLeavesNothingOpen() async throws {
        let monitor = kernel.makeMonitor()
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            for await _ in monitor {}
        }
        task.cancel()
        await task.value
        #expect(kernel.openConversations == 0)
    }

    @Test func anIteratorThatIsNeverAskedLeavesNothingOpen() {
        let monitor = kernel.makeMonitor()
        do {
            let iterator = monitor.makeAsyncIterator()
            #expect(kernel.openConversations == 1)
            withExtendedLifetime(iterator) {}
        }
        #expect(kernel.openConversations == 0)
    }

    /// Cancellations that meet deliveries, subscriptions and each other: the lock that is taken by a stream's end must never be
    /// held by who delivers.
    @Test func manyCancellationsAtAnyMomentDoNotDeadlock() async throws {
        let monitor = kernel.makeMonitor()
        try monitor.start()
        let isOver = Counter()
        let flapping = Task.detached {
            var isOnline = true
            while isOver.count == 0 {
                isOnline.toggle()
                try toggle(isOnline)
                await Task.yield()
            }
            if !isOnline { try toggle(true) }
        }
        await withTaskGroup { group in
            for worker in 0..<8 {
                group.addTask {
                    var generator = SeededGenerator(seed: UInt64(worker))
                    for _ in 0..<20_000 {
                        let elements = Int.random(in: 0...1, using: &generator)
                        let listener = Task {
                            var count = 0
                            for await _ in monitor {
                                count += 1
                                if count > elements { break }
                            }
                        }
                        if generator.once(in: 2) { await Task.yield() }
                        listener.cancel()
                    }
                }
            }
        }
        isOver.increment()
        try await flapping.value
        #expect(try await monitor.refresh().status == .wired)
        monitor.stop()
        #expect(kernel.openConversations == 0)
    }

    /// The same where each cancellation may end the session, and each subscription begin one.
    @Test func startsAndEndsThatMeetDoNotDeadlock() async throws {
        let monitor = kernel.makeMonitor()
        await withTaskGroup { group in
            for worker in 0..<4 {
                group.addTask {
                    var generator = SeededGenerator(seed: UInt64(worker))
                    for _ in 0..<500 {
                        let listener = Task { for await _ in monitor { if Task.isCancelled { break } } }
                        for _ in 0..<Int.random(in: 0...3, using: &generator) { await Task.yield() }
                        if generator.once(in: 10) { monitor.stop() }
                        listener.cancel()
                        await listener.value
                    }
                }
            }
        }
        #expect(kernel.openConversations == 0)
        for await path in monitor {
            #expect(path.status == .wired)
            break
        }
    }

    // MARK: The reader thread

    @Test func tasksThatPreferTheReaderRunOnItsThread() async throws {
        let monitor = kernel.makeMonitor()
        try monitor.start()
        // Answered by the reader, so it is there.
        _ = try await monitor.refresh()
        let threads = await Task(executorPreference: monitor.readerExecutor) {
            var threads: Set<UInt> = []
            for round in 0..<6 {
                var iterator = monitor.makeAsyncIterator()
                _ = await iterator.next()
                threads.insert(UInt(pthread_self()))
                try? toggle(round % 2 != 0)
                _ = await iterator.next()
                threads.insert(UInt(pthread_self()))
            }
            return threads
        }.value
        #expect(threads.count == 1)
        monitor.stop()
    }

    @Test func withoutAReaderItsTasksRunElsewhere() async throws {
        let monitor = kernel.makeMonitor()
        // The number of the thread; a pthread_t can come again at once.
        func thread() async throws -> String {
            try await Task(executorPreference: monitor.readerExecutor) {
                try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/thread-self")
            }.value
        }
        _ = try await thread()
        try monitor.start()
        // Answered by the reader, so it is there.
        _ = try await monitor.refresh()
        let reader = try await thread()
        #expect(try await thread() == reader)
        monitor.stop()
        // A reader on its way out may still take a job or two.
        while try await thread() == reader {}
    }

    // MARK: Statistics

    @Test func theStatisticsOnlyGrowFromSessionToSession() async throws {
        let monitor = kernel.makeMonitor()
        let isOver = Counter()
        let flapping = Task.detached {
            defer { isOver.increment() }
            for _ in 0..<2000 {
                try monitor.start()
                monitor.stop()
            }
        }
        // A question opens a session, too, while the one before may still be ending.
        let asking = Task.detached {
            defer { isOver.increment() }
            for _ in 0..<2000 { _ = try monitor.path(to: IPAddress(10, 9, 0, 7)) }
        }
        var last = 0
        while isOver.count < 2 {
            let snapshots = monitor.statistics.snapshots
            if snapshots < last { Issue.record("\(snapshots) after \(last)") }
            last = max(last, snapshots)
            await Task.yield()
        }
        try await flapping.value
        try await asking.value
        monitor.stop()
    }

    @Test func aTaskThatYieldsForEverDoesNotKeepTheReaderFromItsDoorbells() async throws {
        let monitor = kernel.makeMonitor()
        try monitor.start()
        let busy = Task(executorPreference: monitor.readerExecutor) { while !Task.isCancelled { await Task.yield() } }
        var listener = monitor.makeAsyncIterator()
        for isOnline in [true, false, true, false] {
            #expect(await listener.next()?.isOnline == isOnline)
            try toggle(!isOnline)
        }
        busy.cancel()
        await busy.value
        monitor.stop()
    }

    // MARK: Transitions

    @Test func transitionsTellFromToAndWhy() async throws {
        let monitor = kernel.makeMonitor()
        try monitor.start()
        var transitions = monitor.transitions.makeAsyncIterator()
        let first = try #require(await transitions.next())
        #expect(first.from.status == .unknown)
        #expect(first.to.status == .wired)
        #expect(first.cause == .start)
        try toggle(false)
        let second = try #require(await transitions.next())
        #expect(second.from == first.to)
        #expect(second.to.reason == .noRoute)
        #expect(second.cause == .route)
        #expect(second.time.monotonicNanoseconds >= first.time.monotonicNanoseconds)
        try toggle(true)
        _ = await transitions.next()
        // Another gateway is no transition: the status is the same.
        try kernel.replaceRoute(SimulatedKernel.Route("default", via: "10.1.0.9"))
        _ = try await monitor.refresh()
        try kernel.setCarrier("eth0", false)
        let third = try #require(await transitions.next())
        #expect(third.cause == .link)
        #expect(third.to.reason == .noCarrier)
        #expect(third.droppedBefore == 0)
        monitor.stop()
        #expect(await transitions.next() == nil)
    }

    @Test func transitionsThatNobodyReadAreCounted() async throws {
        let monitor = kernel.makeMonitor()
        try monitor.start()
        var transitions = monitor.transitions.makeAsyncIterator()
        for round in 0..<300 {
            try toggle(round % 2 != 0)
            _ = try await monitor.refresh()
        }
        // 300 and the first one, of which 256 are kept.
        let next = try #require(await transitions.next())
        #expect(next.droppedBefore == 45)
        #expect(await transitions.next()?.droppedBefore == 0)
        monitor.stop()
    }
}

private final class Counter: Sendable {
    private let value = Atomic(0)

    var count: Int { value.load(ordering: .acquiring) }

    func increment() { value.add(1, ordering: .acquiringAndReleasing) }
}
