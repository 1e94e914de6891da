import Reachability
import ReachabilityTestKit
import TestSupport
import Testing

@Suite(.takingTurns, .timeLimit(.minutes(10))) struct HostPathTests {
    private let kernel = SimulatedKernel()
    private let resolver = FakeResolver()
    private let clock = ManualClock()

    private func connect() throws {
        try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1", metric: 600)
        kernel.nameservers = [IPAddress(10, 1, 0, 1)]
    }

    private func paths(_ monitor: ReachabilityMonitor, to host: String = "example.com") -> HostPaths {
        monitor.paths(to: host, resolvingWithin: .seconds(5), resolver: resolver, clock: clock)
    }

    @Test func saysNothingBeforeTheNameIsResolvedThenFollowsTheAddress() async throws {
        try connect()
        let monitor = kernel.makeMonitor()
        var path = paths(monitor).makeAsyncIterator()
        var question = resolver.questions.makeAsyncIterator()
        let first = try #require(await question.next())
        #expect(first.name == "example.com")
        first.answer("192.0.2.1")
        #expect(await path.next()?.status == .wifi)
        try kernel.addRoute(SimulatedKernel.Route("192.0.2.0/24", kind: .unreachable))
        #expect(await path.next()?.reason == .unreachableRoute)
        #expect(monitor.currentPath.status == .wifi)
    }

    @Test func asksNobodyAboutALiteralAddress() async throws {
        try connect()
        let monitor = kernel.makeMonitor()
        var path = paths(monitor, to: "192.0.2.1").makeAsyncIterator()
        #expect(await path.next()?.status == .wifi)
        #expect(resolver.count == 0)
    }

    @Test(arguments: ["", "https://example.com", String(repeating: "a.", count: 400)])
    func callsTextThatIsNoNameUnresolvedWithoutAsking(_ text: String) async throws {
        try connect()
        let monitor = kernel.makeMonitor()
        var path = paths(monitor, to: text).makeAsyncIterator()
        let first = try #require(await path.next())
        #expect(first.status == .offline)
        #expect(first.reason == .unresolvedName)
        #expect(resolver.count == 0)
    }

    @Test func callsANameUnresolvedWhenTheTimeIsOverAndUsesTheLateAnswer() async throws {
        try connect()
        let monitor = kernel.makeMonitor()
        var path = paths(monitor).makeAsyncIterator()
        var question = resolver.questions.makeAsyncIterator()
        let first = try #require(await question.next())
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        #expect(await path.next()?.reason == .unresolvedName)
        first.answer("192.0.2.1")
        #expect(await path.next()?.status == .wifi)
    }

    @Test func asksAgainWhenThePathChanges() async throws {
        try connect()
        let monitor = kernel.makeMonitor()
        var path = paths(monitor).makeAsyncIterator()
        var question = resolver.questions.makeAsyncIterator()
        try #require(await question.next()).answer("192.0.2.1")
        #expect(await path.next()?.status == .wifi)
        try kernel.disconnect("wlan0")
        // The old address has no way out whatever the answer will be.
        #expect(await path.next()?.status == .offline)
        let second = try #require(await question.next())
        try kernel.connect("wwan0", address: "100.64.0.2/32", metric: 700)
        second.answer()
        try #require(await question.next()).answer("198.51.100.1")
        while let path = await path.next(), path.status != .wwan {}
    }

    @Test func asksAgainWhenTheNameServersChange() async throws {
        try connect()
        let monitor = kernel.makeMonitor()
        var path = paths(monitor).makeAsyncIterator()
        var question = resolver.questions.makeAsyncIterator()
        try #require(await question.next()).answer()
        #expect(await path.next()?.reason == .unresolvedName)
        kernel.nameservers = [IPAddress(10, 1, 0, 53)]
        try #require(await question.next()).answer("192.0.2.1")
        #expect(await path.next()?.status == .wifi)
    }

    @Test func asksAgainAfterSleep() async throws {
        try connect()
        let monitor = kernel.makeMonitor()
        var path = paths(monitor).makeAsyncIterator()
        var question = resolver.questions.makeAsyncIterator()
        try #require(await question.next()).answer("192.0.2.1")
        #expect(await path.next()?.status == .wifi)
        try kernel.suspend()
        try #require(await question.next()).answer()
        #expect(await path.next()?.reason == .unresolvedName)
    }

    @Test func triesAnUnresolvedNameAgainByItself() async throws {
        try connect()
        let monitor = kernel.makeMonitor()
        var path = paths(monitor).makeAsyncIterator()
        var question = resolver.questions.makeAsyncIterator()
        try #require(await question.next()).answer()
        #expect(await path.next()?.reason == .unresolvedName)
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(30))
        try #require(await question.next()).answer("192.0.2.1")
        #expect(await path.next()?.status == .wifi)
    }

    @Test func prefersTheFirstAddressWithAWayOut() async throws {
        try connect()
        let monitor = kernel.makeMonitor()
        var path = paths(monitor).makeAsyncIterator()
        var question = resolver.questions.makeAsyncIterator()
        // There is no IPv6 here.
        try #require(await question.next()).answer("2001:db8::1", "192.0.2.1")
        #expect(await path.next()?.status == .wifi)
    }

    @Test func endsWhenTheMonitorIsStopped() async throws {
        try connect()
        let monitor = kernel.makeMonitor()
        var path = paths(monitor).makeAsyncIterator()
        var question = resolver.questions.makeAsyncIterator()
        try #require(await question.next()).answer("192.0.2.1")
        #expect(await path.next()?.status == .wifi)
        monitor.stop()
        #expect(await path.next() == nil)
    }

    @Test func deliversNothingAfterStopNotEvenWhatWasThereAlready() async throws {
        try connect()
        let monitor = kernel.makeMonitor()
        var path = paths(monitor).makeAsyncIterator()
        await clock.waitForSleepers(1)
        clock.advance(by: .seconds(5))
        // The next alarm is set once the path is in the buffer.
        await clock.waitForSleepers(1)
        monitor.stop()
        #expect(await path.next() == nil)
    }

    @Test func endsAtOnceWhereTheKernelCannotBeAsked() async {
        kernel.fail(.openSocket, with: 1)
        let monitor = kernel.makeMonitor()
        var path = paths(monitor).makeAsyncIterator()
        #expect(await path.next() == nil)
        await #expect(throws: NetlinkError.self) { try await monitor.path(to: "localhost") }
    }

    @Test func freesTheConversationWhenNobodyFollowsAnyMore() async throws {
        try connect()
        let monitor = kernel.makeMonitor()
        var question = resolver.questions.makeAsyncIterator()
        let paths = paths(monitor)
        let task = Task {
            var last: NetworkPath?
            for await path in paths { last = path }
            return last
        }
        try #require(await question.next()).answer("192.0.2.1")
        task.cancel()
        _ = await task.value
        // The tasks behind the iteration end one by one; each lets go of what it holds.
        while kernel.openConversations > 0 { await Task.yield() }
    }

    @Test func answersASingleQuestion() async throws {
        try connect()
        let monitor = kernel.makeMonitor()
        let path = try await monitor.path(to: "192.0.2.1")
        #expect(path.status == .wifi)
        #expect(try await monitor.path(to: "http://x").reason == .unresolvedName)
        while kernel.openConversations > 0 { await Task.yield() }
    }

    @Test func endsWithItsTask() async throws {
        try connect()
        let monitor = kernel.makeMonitor()
        let paths = paths(monitor)
        let task = Task {
            for await _ in paths {}
            return Task.isCancelled
        }
        var question = resolver.questions.makeAsyncIterator()
        _ = await question.next()
        task.cancel()
        #expect(await task.value)
    }
}
