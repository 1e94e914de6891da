import AFNetworkReachability
import Foundation
import Reachability
import ReachabilityTestKit
import Synchronization
import TestSupport
import Testing

/// What a program notices of a manager, in order.
private enum Event: Equatable {
    case block(AFNetworkReachabilityStatus, property: AFNetworkReachabilityStatus)
    case notification(AFNetworkReachabilityStatus?, property: AFNetworkReachabilityStatus)
}

/// A simulated machine with a manager, whose deliveries come to a queue of their own.
private final class Bench {
    let kernel = SimulatedKernel()
    let queue = DispatchQueue(label: "deliveries")
    let manager: AFNetworkReachabilityManager
    private let monitor: ReachabilityMonitor
    private let stream: AsyncStream<Event>
    private let sender: AsyncStream<Event>.Continuation
    private var observer: (any NSObjectProtocol)?

    init() throws {
        monitor = kernel.makeMonitor()
        manager = AFNetworkReachabilityManager(monitor: monitor) { $0 }
        (stream, sender) = AsyncStream.makeStream()
        manager.completionQueue = queue
        setBlock()
        observer = NotificationCenter.default.addObserver(
            forName: .AFNetworkingReachabilityDidChange, object: manager, queue: nil
        ) { [sender] notification in
            let manager = notification.object as? AFNetworkReachabilityManager
            let item = notification.userInfo?[AFNetworkingReachabilityNotificationStatusItem] as? Int
            sender.yield(
                .notification(
                    item.flatMap(AFNetworkReachabilityStatus.init),
                    property: manager?.networkReachabilityStatus ?? .unknown)
            )
        }
    }

    deinit { observer.map(NotificationCenter.default.removeObserver) }

    func setBlock() {
        manager.setReachabilityStatusChange { [weak manager, sender] status in
            sender.yield(.block(status, property: manager?.networkReachabilityStatus ?? .unknown))
        }
    }

    /// Sets up a network in a single step, as seen by a monitor that has nothing else to look into.
    func connect(_ name: String, metric: Int = 100) async throws {
        _ = try await monitor.refresh()
        try kernel.together {
            try kernel.connect(
                name, address: "10.\(metric).0.2/24", gateway: "10.\(metric).0.1", metric: metric)
        }
    }

    func disconnect(_ name: String) async throws {
        _ = try await monitor.refresh()
        try kernel.together { try kernel.disconnect(name) }
    }

    /// Waits for what one delivery consists of.
    func expect(_ status: AFNetworkReachabilityStatus, _ location: SourceLocation = #_sourceLocation) async {
        var events: [Event] = []
        for await event in stream {
            events.append(event)
            if events.count == 2 { break }
        }
        #expect(
            events == [.block(status, property: status), .notification(status, property: status)],
            sourceLocation: location)
    }

    /// Waits for a single event.
    func next() async -> Event? {
        for await event in stream { return event }
        return nil
    }
}

@Suite(.takingTurns, .timeLimit(.minutes(10))) struct ManagerTests {
    @Test func hasTheOriginalsNamesAndValues() {
        #expect(AFNetworkReachabilityStatus.unknown.rawValue == -1)
        #expect(AFNetworkReachabilityStatus.notReachable.rawValue == 0)
        #expect(AFNetworkReachabilityStatus.reachableViaWWAN.rawValue == 1)
        #expect(AFNetworkReachabilityStatus.reachableViaWiFi.rawValue == 2)
        #expect(AFStringFromNetworkReachabilityStatus(.unknown) == "Unknown")
        #expect(AFStringFromNetworkReachabilityStatus(.notReachable) == "Not Reachable")
        #expect(AFStringFromNetworkReachabilityStatus(.reachableViaWWAN) == "Reachable via WWAN")
        #expect(AFStringFromNetworkReachabilityStatus(.reachableViaWiFi) == "Reachable via WiFi")
        #expect(
            NSNotification.Name.AFNetworkingReachabilityDidChange.rawValue
                == "com.alamofire.networking.reachability.change")
        #expect(
            AFNetworkingReachabilityNotificationStatusItem == "AFNetworkingReachabilityNotificationStatusItem")
    }

    @Test func sharesOneManagerThatIsNotStarted() {
        #expect(AFNetworkReachabilityManager.shared() === AFNetworkReachabilityManager.shared())
        #expect(AFNetworkReachabilityManager.shared() !== AFNetworkReachabilityManager.manager())
        #expect(AFNetworkReachabilityManager.shared().networkReachabilityStatus == .unknown)
    }

    @Test func isUnknownAndNotReachableInAnyWayBeforeTheFirstDelivery() async throws {
        let bench = try Bench()
        try await bench.connect("wlan0")
        #expect(bench.kernel.openConversations == 0)
        #expect(bench.manager.networkReachabilityStatus == .unknown)
        #expect(!bench.manager.isReachable)
        #expect(!bench.manager.isReachableViaWWAN)
        #expect(!bench.manager.isReachableViaWiFi)
        #expect(bench.manager.localizedNetworkReachabilityStatusString() == "Unknown")
    }

    @Test func staysUnknownUntilTheQueueRuns() async throws {
        let bench = try Bench()
        try await bench.connect("wlan0")
        bench.queue.suspend()
        bench.manager.startMonitoring()
        #expect(bench.manager.networkReachabilityStatus == .unknown)
        bench.queue.resume()
        await bench.expect(.reachableViaWiFi)
        #expect(bench.manager.isReachable)
        #expect(bench.manager.isReachableViaWiFi)
        #expect(!bench.manager.isReachableViaWWAN)
        #expect(bench.manager.localizedNetworkReachabilityStatusString() == "Reachable via WiFi")
    }

    @Test func changesThePropertyThenCallsTheBlockThenPostsTheNotification() async throws {
        let bench = try Bench()
        bench.manager.startMonitoring()
        await bench.expect(.notReachable)
        #expect(!bench.manager.isReachable)
        try await bench.connect("wwan0")
        await bench.expect(.reachableViaWWAN)
        #expect(bench.manager.isReachableViaWWAN)
        #expect(!bench.manager.isReachableViaWiFi)
        try await bench.disconnect("wwan0")
        await bench.expect(.notReachable)
    }

    @Test func deliversInASingleHop() async throws {
        let bench = try Bench()
        try await bench.connect("wlan0")
        let (marks, mark) = AsyncStream<String>.makeStream()
        let observer = NotificationCenter.default.addObserver(
            forName: .AFNetworkingReachabilityDidChange, object: bench.manager, queue: nil
        ) { _ in mark.yield("notification") }
        defer { NotificationCenter.default.removeObserver(observer) }
        bench.manager.setReachabilityStatusChange { [queue = bench.queue] _ in
            mark.yield("block")
            queue.async { mark.yield("next on the queue") }
        }
        bench.manager.startMonitoring()
        var iterator = marks.makeAsyncIterator()
        #expect(await iterator.next() == "block")
        #expect(await iterator.next() == "notification")
        #expect(await iterator.next() == "next on the queue")
    }

    @Test func deliversOnTheMainQueueUnlessToldOtherwise() async throws {
        let kernel = SimulatedKernel()
        let manager = AFNetworkReachabilityManager(monitor: kernel.makeMonitor()) { $0 }
        #expect(manager.completionQueue == nil)
        let key = DispatchSpecificKey<Bool>()
        DispatchQueue.main.setSpecific(key: key, value: true)
        let isMain = await withCheckedContinuation { continuation in
            manager.setReachabilityStatusChange { _ in
                continuation.resume(returning: DispatchQueue.getSpecific(key: key) ?? false)
            }
            manager.startMonitoring()
        }
        #expect(isMain)
        manager.stopMonitoring()
    }

    @MainActor @Test func callsABlockThatBelongsToTheMainActor() async throws {
        final class Screen {
            private(set) var status = AFNetworkReachabilityStatus.unknown
            var next: CheckedContinuation<Void, Never>?

            func show(_ status: AFNetworkReachabilityStatus) {
                self.status = status
                next?.resume()
                next = nil
            }
        }
        let kernel = SimulatedKernel()
        let manager = AFNetworkReachabilityManager(monitor: kernel.makeMonitor()) { $0 }
        let screen = Screen()
        await withCheckedContinuation { continuation in
            screen.next = continuation
            manager.setReachabilityStatusChange { status in screen.show(status) }
            manager.startMonitoring()
        }
        #expect(screen.status == .notReachable)
        manager.stopMonitoring()
    }

    @Test func callsWiredAndUnknownMediaWiFiAndDoesNotRepeatEqualStatuses() async throws {
        let bench = try Bench()
        try await bench.connect("eth0", metric: 3)
        bench.manager.startMonitoring()
        await bench.expect(.reachableViaWiFi)
        // The new one takes over before the old one goes, so that there is a way out at every moment.
        try await bench.connect("wlan0", metric: 2)
        try await bench.disconnect("eth0")
        try await bench.connect("wwan0", metric: 1)
        await bench.expect(.reachableViaWWAN)
    }

    @Test func callsALoneTunnelWiFi() async throws {
        let bench = try Bench()
        try await bench.connect("wg0")
        bench.manager.startMonitoring()
        await bench.expect(.reachableViaWiFi)
    }

    @Test func deliversNothingAfterStopNotEvenWhatWasUnderWay() async throws {
        let bench = try Bench()
        try await bench.connect("wlan0")
        bench.queue.suspend()
        bench.manager.startMonitoring()
        // The announcement is on its way to the queue, or on it already, when the conversation is open.
        while bench.kernel.openConversations == 0 { await Task.yield() }
        bench.manager.stopMonitoring()
        bench.manager.stopMonitoring()
        bench.queue.resume()
        await withCheckedContinuation { continuation in bench.queue.async { continuation.resume() } }
        #expect(bench.manager.networkReachabilityStatus == .unknown)
        try await bench.disconnect("wlan0")
        bench.manager.startMonitoring()
        await bench.expect(.notReachable)
    }

    @Test func keepsItsStatusWhenStoppedAndAnnouncesThePresentOneAgainWhenStarted() async throws {
        let bench = try Bench()
        try await bench.connect("wlan0")
        bench.manager.startMonitoring()
        await bench.expect(.reachableViaWiFi)
        bench.manager.stopMonitoring()
        #expect(bench.manager.networkReachabilityStatus == .reachableViaWiFi)
        bench.manager.startMonitoring()
        await bench.expect(.reachableViaWiFi)
        bench.manager.startMonitoring()
        await bench.expect(.reachableViaWiFi)
    }

    @Test func postsNoNotificationWhenTheBlockStopsIt() async throws {
        let bench = try Bench()
        try await bench.connect("wlan0")
        let (stopped, stop) = AsyncStream<Void>.makeStream()
        bench.manager.setReachabilityStatusChange { [weak manager = bench.manager] _ in
            manager?.stopMonitoring()
            stop.yield()
        }
        bench.manager.startMonitoring()
        var iterator = stopped.makeAsyncIterator()
        _ = await iterator.next()
        await withCheckedContinuation { continuation in bench.queue.async { continuation.resume() } }
        bench.setBlock()
        bench.manager.startMonitoring()
        await bench.expect(.reachableViaWiFi)
    }

    @Test func hasOneSlotForTheBlockAndNilClearsIt() async throws {
        let bench = try Bench()
        bench.manager.startMonitoring()
        await bench.expect(.notReachable)
        bench.manager.setReachabilityStatusChange(nil)
        try await bench.connect("wlan0")
        #expect(await bench.next() == .notification(.reachableViaWiFi, property: .reachableViaWiFi))
        bench.setBlock()
        try await bench.connect("wwan0", metric: 1)
        await bench.expect(.reachableViaWWAN)
    }

    @Test func stopsWhenItGoesAway() async throws {
        var bench: Bench? = try Bench()
        let kernel = try #require(bench?.kernel)
        bench?.manager.startMonitoring()
        await bench?.expect(.notReachable)
        weak let manager = bench?.manager
        bench = nil
        while manager != nil { await Task.yield() }
        while kernel.openConversations > 0 { await Task.yield() }
    }

    @Test func staysUnknownWhereTheKernelCannotBeAsked() async throws {
        let bench = try Bench()
        bench.kernel.fail(.openSocket, with: EPERM)
        bench.manager.startMonitoring()
        bench.manager.stopMonitoring()
        bench.kernel.recover(.openSocket)
        #expect(bench.manager.networkReachabilityStatus == .unknown)
        bench.manager.startMonitoring()
        await bench.expect(.notReachable)
    }
}

@Suite(.takingTurns, .timeLimit(.minutes(10))) struct DestinationTests {
    /// The first status that a manager delivers on a machine whose Wi-Fi leads everywhere but to 192.0.2.0/24.
    private func firstStatus(
        _ make: (ReachabilityMonitor) -> AFNetworkReachabilityManager
    ) async throws -> AFNetworkReachabilityStatus {
        let kernel = SimulatedKernel()
        try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1")
        try kernel.addRoute(SimulatedKernel.Route("192.0.2.0/24", kind: .unreachable))
        let manager = make(kernel.makeMonitor())
        manager.completionQueue = DispatchQueue(label: "deliveries")
        let status = await withCheckedContinuation { continuation in
            manager.setReachabilityStatusChange { continuation.resume(returning: $0) }
            manager.startMonitoring()
        }
        manager.stopMonitoring()
        return status
    }

    @Test(arguments: [
        ("198.51.100.1", AFNetworkReachabilityStatus.reachableViaWiFi), ("192.0.2.1", .notReachable),
        ("", .notReachable), ("https://example.com", .notReachable),
        (String(repeating: "x", count: 300), .notReachable),
        ("2001:db8::1", .notReachable),
    ])
    func followsADomain(_ domain: String, _ expected: AFNetworkReachabilityStatus) async throws {
        let status = try await firstStatus { monitor in
            AFNetworkReachabilityManager(monitor: monitor) { $0.paths(to: domain) }
        }
        #expect(status == expected)
    }

    @Test func followsASocketAddress() async throws {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr("192.0.2.1")
        let refused = try await firstStatus { monitor in
            AFNetworkReachabilityManager(monitor: monitor, address: IPAddress(socketAddress: &address))
        }
        #expect(refused == .notReachable)
        address.sin_addr.s_addr = inet_addr("198.51.100.1")
        let reached = try await firstStatus { monitor in
            AFNetworkReachabilityManager(monitor: monitor, address: IPAddress(socketAddress: &address))
        }
        #expect(reached == .reachableViaWiFi)
    }

    @Test func takesTheUnspecifiedAddressForTheWayOutInGeneral() async throws {
        var address = sockaddr_in6()
        address.sin6_family = sa_family_t(AF_INET6)
        let status = try await firstStatus { monitor in
            AFNetworkReachabilityManager(monitor: monitor, address: IPAddress(socketAddress: &address))
        }
        #expect(status == .reachableViaWiFi)
    }

    @Test func callsAddressesOfOtherFamiliesNotReachable() async throws {
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        let status = try await firstStatus { monitor in
            AFNetworkReachabilityManager(monitor: monitor, address: IPAddress(socketAddress: &address))
        }
        #expect(status == .notReachable)
    }

    @Test func callsThisMachineItselfWiFi() async throws {
        let status = try await firstStatus { monitor in
            AFNetworkReachabilityManager(monitor: monitor) { $0.paths(to: "127.0.0.1") }
        }
        #expect(status == .reachableViaWiFi)
    }

    @Test func canBeMadeTheWaysTheOriginalIs() {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        let managers = [
            AFNetworkReachabilityManager(), AFNetworkReachabilityManager.manager(),
            AFNetworkReachabilityManager(forDomain: "example.com"), AFNetworkReachabilityManager(forAddress: &address),
        ]
        #expect(managers.allSatisfy { $0.networkReachabilityStatus == .unknown })
    }
}
