import AFNetworkReachability
import Foundation
import Network
import Reachability
import ReachabilityTestKit
import Snippets
import TestSupport
import Testing

/// Sources in the style of those written for Apple's platforms do on a simulated Linux what they do there.
@Suite(.takingTurns, .timeLimit(.minutes(10))) struct SnippetTests {
    private let kernel = SimulatedKernel()

    private func makeMonitor() -> NWPathMonitor { NWPathMonitor(monitor: kernel.makeMonitor()) }

    private func makeManager() -> AFNetworkReachabilityManager {
        let manager = AFNetworkReachabilityManager(monitor: kernel.makeMonitor()) { $0 }
        manager.completionQueue = DispatchQueue(label: "deliveries")
        return manager
    }

    private func connect(_ name: String, metric: Int = 100) throws {
        try kernel.connect(
            name, address: "10.\(metric % 250).0.2/24", gateway: "10.\(metric % 250).0.1", metric: metric)
    }

    /// A stream of what `read` says after each change, for objects that call back.
    private func values<Value: Sendable>(
        _ onChange: (@escaping () -> Void) -> Void, _ read: @escaping () -> Value
    ) -> AsyncStream<Value> {
        let (stream, continuation) = AsyncStream.makeStream(of: Value.self)
        onChange { continuation.yield(read()) }
        return stream
    }

    private func expect<Value: Equatable & Sendable>(_ value: Value, in values: AsyncStream<Value>) async {
        for await next in values where next == value { return }
        Issue.record("never \(value)")
    }

    // MARK: Network

    @Test func aSingletonFollowsTheNetwork() async throws {
        let network = NetworkMonitor(monitor: makeMonitor())
        let types = values({ network.onChange = $0 }, { network.connectionType })
        network.startMonitoring()
        try connect("wlan0")
        await expect(.wifi, in: types)
        #expect(network.isConnected)
        try connect("wwan0", metric: 1)
        await expect(.cellular, in: types)
        #expect(network.isExpensive)
        network.stopMonitoring()
        #expect(NetworkMonitor.shared.connectionType == .unknown)
    }

    @Test func aServiceBroadcasts() async throws {
        let service = DefaultReachabilityService(monitor: makeMonitor())
        #expect(!service.isReachable)
        let states = service.observe()
        try connect("eth0")
        await expect(true, in: states)
        #expect(service.isReachable)
    }

    @Test func extensionsOfProgramsDoNotCollide() throws {
        try connect("wlan0")
        let path = makeMonitor().currentPath
        #expect(path.isReachable)
        #expect(path.firstUsedType == .wifi)
        #expect(path.preferredType == .wifi)
        #expect(path.gatewayAddress == "10.100.0.1")
        #expect(path.availableInterfaces.first?.description == "wlan0 [Wi-Fi]")
        #expect(path.gateways.first?.description == "10.100.0.1:0")
        #expect(path.status.description == "Connected")
        #expect("\(path.status)" == "Connected")
        #expect(path.unsatisfiedReason.description == "Not Available")
    }

    @Test func aMonitorBehindAProtocolIsStillOne() async throws {
        let monitor: any NWPathMonitoring = makeMonitor()
        let (states, state) = AsyncStream.makeStream(of: Bool.self)
        monitor.pathUpdateHandler = { state.yield($0.status == .satisfied) }
        monitor.start(queue: DispatchQueue(label: "updates"))
        try connect("wlan0")
        await expect(true, in: states)
        monitor.cancel()
        let path: any NetworkPathProtocol = makeMonitor().currentPath
        #expect(path.usesInterfaceType(.wifi))
    }

    @Test func aStreamMadeOfTheHandlerFollowsTheNetwork() async throws {
        let monitor = makeMonitor()
        try connect("wlan0")
        for await path in monitor.paths where path.isReachable { break }
        while kernel.openConversations > 0 { await Task.yield() }
    }

    @Test func aHandlerMayBeReplacedFromWithin() async throws {
        try connect("wlan0")
        let monitor = makeMonitor()
        let name = await withCheckedContinuation { continuation in
            // It blocks, so it must not do so on a thread that tasks run on.
            DispatchQueue.global().async { continuation.resume(returning: OneShots.firstInterface(of: monitor)?.name) }
        }
        #expect(name == "wlan0")
    }

    @Test func aHandlerMayCancel() async throws {
        let monitor = makeMonitor()
        async let isOver: Void = OneShots.waitUntilSatisfied(monitor)
        try connect("wlan0")
        await isOver
        while kernel.openConversations > 0 { await Task.yield() }
    }

    @Test func aPathCanBeLoggedAndCompared() throws {
        try connect("wlan0")
        let path = makeMonitor().currentPath
        #expect(OneShots.isConnected(makeMonitor()))
        #expect(OneShots.networkKey(path) == "wlan0|10.100.0.1:0")
        let facts = OneShots.facts(path)
        #expect(facts.contains("local=nil") && facts.contains("type=wifi") && facts.contains("quality=unknown"))
        #expect(OneShots.Signature(path) == OneShots.Signature(makeMonitor().currentPath))
    }

    @Test(arguments: [
        ("192.0.2.1:51820", true), ("[2001:db8::1]:51820", true), ("vpn.example.com:51820", false),
    ])
    func anEndpointComesOutOfAConfigurationFile(_ text: String, _ isAddress: Bool) throws {
        let endpoint = try #require(ConfiguredEndpoint(from: text))
        #expect(endpoint.stringRepresentation == text)
        #expect(endpoint.hasHostAsIPAddress == isAddress)
        #expect(endpoint.port.rawValue == 51820)
    }

    @Test func strictlyConcurrentProgramsFollowTheNetwork() async throws {
        let connection = await ConnectionMonitor(pathMonitor: makeMonitor())
        await connection.start()
        while await connection.status != "Offline" { await Task.yield() }
        try connect("wlan0")
        while await connection.status != "Online" { await Task.yield() }
        #expect(await connection.connectionType == .wifi)

        let observer = NetworkObserver(monitor: makeMonitor())
        await observer.observe(until: .satisfied)
        #expect(await observer.types == [.wifi])

        let status = await NetworkStatus()
        async let isOver: Void = status.run(makeMonitor())
        try kernel.disconnect("wlan0")
        await isOver
        #expect(await !status.isOnline)

        for await status in NetworkClient.live(makeMonitor()).updates() {
            #expect(status == .unsatisfied)
            break
        }
    }

    // MARK: AFNetworking

    @Test func aViewControllerFollowsTheNetwork() async throws {
        let manager = makeManager()
        let controller = StatusViewController(manager: manager)
        let notified = values({ controller.onChange = $0 }, { controller.lastNotified })
        #expect(controller.isNetworkReachable(), "unknown is no reason to give up")
        controller.viewDidLoad()
        await expect(.notReachable, in: notified)
        #expect(controller.text == "offline")
        #expect(controller.header == "Not Reachable")
        #expect(controller.log == ["Reachability: Not Reachable", "number 0"])
        try connect("wwan0")
        await expect(.reachableViaWWAN, in: notified)
        #expect(controller.text == "cellular")
        #expect(controller.header == "No Wi-Fi Connection")
        try connect("wlan0", metric: 1)
        await expect(.reachableViaWiFi, in: notified)
        #expect(controller.header == nil)
        controller.viewWillDisappear()
    }

    @Test func aWrapperFollowsTheNetwork() async throws {
        let reachability = NetworkReachability(manager: makeManager())
        let (states, state) = AsyncStream.makeStream(of: NetworkReachability.Status.self)
        reachability.startListening { state.yield($0) }
        await expect(.notReachable, in: states)
        try connect("wlan0")
        await expect(.reachable(cellular: false), in: states)
        reachability.stopListening()
        #expect(NetworkReachability(address: "192.0.2.1").status == .unknown)
    }

    // MARK: The porting guides

    @Test func theGuideFromAFNetworkingHolds() async throws {
        let before = PictureListBefore(reachability: makeManager())
        let old = values({ before.onChange = $0 }, { before.picture })
        before.appear()
        await expect("placeholder", in: old)
        try connect("wwan0")
        await expect("thumbnail", in: old)
        try connect("wlan0", metric: 1)
        await expect("original", in: old)
        before.disappear()
        try kernel.disconnect("wlan0")
        try await followGuideFromAFNetworking()
    }

    @MainActor private func followGuideFromAFNetworking() async throws {
        let after = PictureListAfter(monitor: kernel.makeMonitor())
        let (pictures, picture) = AsyncStream.makeStream(of: String.self)
        after.onChange = { picture.yield(after.picture) }
        after.appear()
        await expect("thumbnail", in: pictures)
        try connect("wlan0", metric: 1)
        await expect("original", in: pictures)
        try kernel.disconnect("wlan0")
        try kernel.removeLink("wwan0")
        await expect("placeholder", in: pictures)
        after.disappear()
    }

    @Test func theGuideFromNetworkHolds() async throws {
        let before = ConnectionStateBefore(monitor: makeMonitor())
        let old = values({ before.onChange = $0 }, { before.kind })
        try connect("wlan0")
        await expect("wifi", in: old)
        #expect(before.isConnected && !before.isExpensive)
        try await followGuideFromNetwork()
    }

    @MainActor private func followGuideFromNetwork() async throws {
        let after = ConnectionStateAfter()
        let (kinds, kind) = AsyncStream.makeStream(of: String.self)
        after.onChange = { kind.yield(after.kind) }
        let monitor = kernel.makeMonitor()
        let task = Task { await after.follow(monitor) }
        await expect("wifi", in: kinds)
        #expect(after.isConnected && !after.isExpensive)
        try connect("wwan0", metric: 1)
        await expect("wwan", in: kinds)
        #expect(after.isExpensive)
        task.cancel()
        await task.value
    }
}
