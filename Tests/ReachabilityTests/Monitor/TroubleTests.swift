import Glibc
import Reachability
import ReachabilityTestKit
import TestSupport
import Testing

@Suite("When the kernel can't be talked to, or not well", .takingTurns, .timeLimit(.minutes(10)))
struct TroubleTests {
    private func online() throws -> SimulatedKernel {
        let kernel = SimulatedKernel()
        try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1")
        return kernel
    }

    @Test(arguments: [
        NetlinkError.Operation.openSocket, .sizeReceiveBuffer, .dumpLinks, .dumpAddresses, .lookUpRoute,
    ])
    func aDeniedStartIsATypedErrorThatLeavesNothingOpen(_ operation: NetlinkError.Operation) async throws {
        let kernel = try online()
        let monitor = kernel.makeMonitor()
        kernel.fail(operation, with: EPERM)
        let error = #expect(throws: NetlinkError.self) { try monitor.start() }
        #expect(error?.operation == operation)
        #expect(error?.errno == EPERM)
        #expect(kernel.openConversations == 0)
        #expect(monitor.currentPath.status == .unknown)
        // Who iterates anyway is told that it is over.
        for await path in monitor { Issue.record("\(path)") }
        await #expect(throws: NetlinkError.self) { try await monitor.refresh() }
        kernel.recover(operation)
        try monitor.start()
        #expect(monitor.currentPath.status == .wifi)
        monitor.stop()
        #expect(kernel.openConversations == 0)
    }

    /// gVisor refuses timers that a change of the clock cancels (EINVAL).
    @Test func whereASuspendCannotBeNoticedItStillStarts() async throws {
        let kernel = try online()
        kernel.fail(.watchSuspend, with: EINVAL)
        var watcher = try Watcher(kernel.makeMonitor())
        try await watcher.expect(.wifi)
        try kernel.suspend { try kernel.disconnect("wlan0") }
        #expect(try await watcher.monitor.refresh().status == .offline)
        #expect(watcher.monitor.statistics.resumes == 0)
    }

    @Test func whereThereIsNoRoomToWatchForASuspendTheStartFails() throws {
        let kernel = try online()
        kernel.fail(.watchSuspend, with: EMFILE)
        let error = #expect(throws: NetlinkError.self) { try kernel.makeMonitor().start() }
        #expect(error?.operation == .watchSuspend)
        #expect(kernel.openConversations == 0)
    }

    /// The routing tables are asked as of now, and the message about the link that took over has not been read yet.
    @Test func aLinkThatTakesOverBeforeItIsHeardOfIsNotOffline() async throws {
        let kernel = try online()
        let monitor = kernel.makeMonitor()
        var paths = monitor.makeAsyncIterator()
        #expect(await paths.next()?.status == .wifi)
        try kernel.silently { try kernel.connect("eth0", address: "10.2.0.2/24", gateway: "10.2.0.1") }
        try kernel.addRoute(SimulatedKernel.Route("default", via: "10.1.0.1", over: "wlan0", metric: 900))
        let path = await paths.next()
        #expect(path?.status == .wired)
        #expect(path?.gateways.map(\.description) == ["10.2.0.1"])
    }

    @Test func theErrorSaysWhatFailedAndWhatToDo() throws {
        let kernel = try online()
        kernel.fail(.openSocket, with: EMFILE)
        let error = #expect(throws: NetlinkError.self) { try kernel.makeMonitor().start() }
        let text = try #require(error).description
        #expect(text.contains("open a netlink socket"))
        #expect(text.contains("Too many open files"))
        #expect(text.contains("ulimit -n"))
    }

    @Test func whereNothingRingsItPollsAndSaysSo() async throws {
        let kernel = try online()
        kernel.fail(.joinGroup, with: EPERM)
        var configuration = ReachabilityMonitor.Configuration()
        configuration.pollInterval = .milliseconds(5)
        var watcher = try Watcher(kernel.makeMonitor(configuration: configuration))
        let path = try await watcher.expect(.wifi)
        guard case .polling(let error) = path.updates else {
            Issue.record("\(path.updates)")
            return
        }
        #expect(error.operation == .joinGroup)
        try kernel.disconnect("wlan0")
        let offline = try await watcher.expect(.offline, .noCarrier)
        #expect(offline.updates == path.updates)
        try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1")
        try await watcher.expect(.wifi)
    }

    @Test func whereADoorbellCannotBeWaitedAtItPollsAndSaysSo() async throws {
        let kernel = try online()
        var configuration = ReachabilityMonitor.Configuration()
        configuration.pollInterval = .milliseconds(5)
        // No descriptor at all: EBADF.
        let feed = CountingFeed(feed: kernel)
        feed.add { $0.extraDoorbell = -1 }
        var watcher = try Watcher(ReachabilityMonitor(configuration: configuration, feed: feed))
        try await watcher.expect(
            "polling",
            where: { path in
                if case .polling(let error) = path.updates { error.operation == .watchDescriptor } else { false }
            })
        // The others ring all the same.
        try kernel.removeRoute(SimulatedKernel.Route("default"))
        try await watcher.expect(.offline)
        try kernel.addRoute(SimulatedKernel.Route("default", via: "10.1.0.1"))
        try await watcher.expect(.wifi)
        feed.add { $0.extraDoorbell = nil }
        try kernel.removeRoute(SimulatedKernel.Route("default"))
        try await watcher.expect("offline, by notification", where: { !$0.isOnline && $0.updates == .events })
        try kernel.addRoute(SimulatedKernel.Route("default", via: "10.1.0.1"))
        #expect(try await watcher.expect(.wifi).updates == .events)
    }

    @Test func aConversationThatBreaksOffIsTakenUpAgain() async throws {
        let kernel = try online()
        var configuration = ReachabilityMonitor.Configuration()
        configuration.pollInterval = .milliseconds(5)
        var watcher = try Watcher(kernel.makeMonitor(configuration: configuration))
        try await watcher.expect(.wifi)
        kernel.fail(.receive, with: EIO)
        try kernel.removeRoute(SimulatedKernel.Route("default"))
        let stale = try await watcher.expect(
            "a stale path", where: { if case .stale = $0.updates { true } else { false } })
        // The last one known, not a guess.
        #expect(stale.status == .wifi)
        kernel.recover(.receive)
        let path = try await watcher.expect(.offline, .noRoute)
        #expect(path.updates == .events)
        #expect(watcher.monitor.statistics.reopenings >= 1)
        #expect(kernel.openConversations == 1)
        // And it rings again.
        try kernel.addRoute(SimulatedKernel.Route("default", via: "10.1.0.1"))
        try await watcher.expect(.wifi)
    }

    @Test func failedLookupsAreStaleAndNotOffline() async throws {
        let kernel = try online()
        var configuration = ReachabilityMonitor.Configuration()
        configuration.pollInterval = .milliseconds(5)
        var watcher = try Watcher(kernel.makeMonitor(configuration: configuration))
        try await watcher.expect(.wifi)
        kernel.fail(.lookUpRoute, with: ENOBUFS)
        try kernel.addRoute(SimulatedKernel.Route("default", via: "10.1.0.1", metric: 7))
        let stale = try await watcher.expect(
            "a stale path", where: { if case .stale = $0.updates { true } else { false } })
        #expect(stale.status == .wifi)
        kernel.recover(.lookUpRoute)
        try await watcher.expect("a fresh path", where: { $0.updates == .events })
        #expect(watcher.statuses == [.wifi])
    }

    @Test func anInterruptedDumpIsUsedAndAskedForAgain() async throws {
        let kernel = try online()
        var configuration = ReachabilityMonitor.Configuration()
        configuration.pollInterval = .milliseconds(5)
        // Links and addresses lack their last one: wlan0 and its address.
        kernel.interruptDumps(2)
        var watcher = try Watcher(kernel.makeMonitor(configuration: configuration))
        try await watcher.expect(.wifi, over: "wlan0")
        #expect(watcher.monitor.statistics.interruptedDumps >= 1)
    }

    @Test func anOverrunLosesNothingThatLasts() async throws {
        let kernel = try online()
        var watcher = try Watcher(kernel.makeMonitor())
        try await watcher.expect(.wifi)
        for round in 1...3 {
            try kernel.overrun { try kernel.removeLink("wlan0") }
            try await watcher.expect(.offline, .noInterface)
            try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1")
            try await watcher.expect(.wifi)
            #expect(watcher.monitor.statistics.overruns == round)
        }
    }

    @Test func aQueueThatIsTooSmallOverrunsAndTheTruthIsStillTold() async throws {
        let kernel = SimulatedKernel(queueCapacity: 4)
        var watcher = try Watcher(kernel.makeMonitor())
        try await watcher.expect(.offline)
        try kernel.together {
            for number in 0..<20 { try kernel.addLink("eth\(number)", up: true) }
            try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1")
        }
        try await watcher.expect(.wifi)
        #expect(watcher.monitor.statistics.overruns == 1)
        try kernel.removeLink("wlan0")
        try await watcher.expect(.offline, .noAddress)
    }

    @Test func whatChangedInSleepIsSeenAfterwards() async throws {
        let kernel = try online()
        var watcher = try Watcher(kernel.makeMonitor())
        try await watcher.expect(.wifi)
        try kernel.suspend { try kernel.disconnect("wlan0") }
        try await watcher.expect(.offline, .noCarrier)
        #expect(watcher.monitor.statistics.resumes == 1)
    }

    @Test func oddMessagesAreCountedAndChangeNothing() async throws {
        let kernel = try online()
        var watcher = try Watcher(kernel.makeMonitor())
        try await watcher.expect(.wifi)
        try await watcher.expectNothing {
            for _ in 0..<3 { kernel.forgeMessage() }
            for _ in 0..<5 { kernel.sendMalformedMessage() }
            for _ in 0..<7 { kernel.sendPartialMessage() }
        }
        let statistics = watcher.monitor.statistics
        #expect(statistics.forgedMessages == 3)
        #expect(statistics.malformedMessages == 5)
        #expect(statistics.irrelevantMessages == 7)
    }

    @Test func aFreshLookFindsWhatNobodyWasToldOf() async throws {
        let kernel = try online()
        var watcher = try Watcher(kernel.makeMonitor())
        try await watcher.expect(.wifi)
        try kernel.silently { try kernel.disconnect("wlan0") }
        #expect(try await watcher.monitor.refresh().status == .offline)
        try await watcher.expect(.offline)
    }

    @Test func aFreshLookNeedsNoStart() async throws {
        let kernel = try online()
        let monitor = kernel.makeMonitor()
        #expect(try await monitor.refresh().status == .wifi)
        // It was started for as long as it took.
        #expect(kernel.openConversations == 0)
    }
}
