import Glibc
import Netlink
import Reachability
import ReachabilityTestKit
import TestSupport
import Testing

@Suite("The simulated kernel itself", .takingTurns, .timeLimit(.minutes(10)))
struct SimulatedKernelTests {
    private let kernel = SimulatedKernel()

    private func refusal(_ body: () throws -> Void) -> CInt? {
        do { try body() } catch { return (error as? SimulatedKernel.Refusal)?.errno }
        return nil
    }

    @Test func refusesWhatMakesNoSenseWithTheErrorOfLinux() throws {
        try kernel.addLink("eth0", up: true)
        try kernel.addAddress("10.1.0.2/24", to: "eth0")
        try kernel.addRoute(SimulatedKernel.Route("default", via: "10.1.0.1"))
        let cases: [(CInt, () throws -> Void)] = [
            (EEXIST, { try kernel.addLink("eth0") }),
            (EEXIST, { try kernel.addLink("eth1", index: 2) }),
            (ENODEV, { try kernel.setUp("eth7") }),
            (ENODEV, { try kernel.addLink("v", .vlan(on: "eth7")) }),
            (EEXIST, { try kernel.addAddress("10.1.0.2/24", to: "eth0") }),
            (EADDRNOTAVAIL, { try kernel.removeAddress("10.1.0.3/24", from: "eth0") }),
            (EINVAL, { try kernel.addAddress("10.1.0.300/24", to: "eth0") }),
            (EINVAL, { try kernel.addAddress("10.1.0.3/33", to: "eth0") }),
            (EINVAL, { try kernel.addAddress("10.1.0.3/", to: "eth0") }),
            (EEXIST, { try kernel.addRoute(SimulatedKernel.Route("default", via: "10.1.0.9")) }),
            (ENETUNREACH, { try kernel.addRoute(SimulatedKernel.Route("10.7.0.0/16", via: "10.9.0.1")) }),
            (EHOSTUNREACH, { try kernel.addRoute(SimulatedKernel.Route("default", via: "2001:db8::1")) }),
            (EINVAL, { try kernel.addRoute(SimulatedKernel.Route("default", via: "fe80::1")) }),
            (EINVAL, { try kernel.addRoute(SimulatedKernel.Route("10.7.0.1/16", via: "10.1.0.1")) }),
            (
                EINVAL,
                { try kernel.addRoute(SimulatedKernel.Route("10.7.0.0/16", via: "10.1.0.1", source: "10.1.0.7")) }
            ),
            (EINVAL, { try kernel.addRoute(SimulatedKernel.Route("10.7.0.0/16", nexthop: 4)) }),
            (ESRCH, { try kernel.removeRoute(SimulatedKernel.Route("10.7.0.0/16")) }),
            (ENOENT, { try kernel.removeNexthop(4) }),
            (ENOENT, { try kernel.removeRule(SimulatedKernel.Rule(.lookUp(table: 7))) }),
        ]
        for (number, (errno, body)) in cases.enumerated() { #expect(refusal(body) == errno, "case \(number)") }
        try kernel.setUp("eth0", false)
        #expect(
            refusal { try kernel.addRoute(SimulatedKernel.Route("default", via: "10.1.0.1", over: "eth0")) } == ENETDOWN
        )
        #expect(refusal { try kernel.addNexthop(1, via: "10.1.0.1", over: "eth0") } == ENETDOWN)
    }

    @Test func aRefusedChangeChangesNothingAndSaysNothing() throws {
        try kernel.connect("eth0", address: "10.1.0.2/24", gateway: "10.1.0.1")
        let conversation = try kernel.open(watching: [IPAddress(8, 8, 8, 8)])
        let before = try conversation.lookUp([RouteQuery(destination: IPAddress(8, 8, 8, 8))])
        _ = refusal {
            try kernel.addRoute(
                SimulatedKernel.Route(
                    "default",
                    legs: [
                        .init(via: "10.1.0.1", over: "eth0"), .init(via: "10.9.0.1", over: "eth0"),
                    ], metric: 5))
        }
        var events: [NetlinkEvent] = []
        _ = try conversation.drain(conversation.doorbells[0], into: &events)
        #expect(events == [])
        #expect(try conversation.lookUp([RouteQuery(destination: IPAddress(8, 8, 8, 8))]) == before)
    }

    @Test func connectingAgainMovesTheDefault() async throws {
        try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1")
        var watcher = try Watcher(kernel.makeMonitor())
        try await watcher.expect(.wifi)
        try await watcher.expectNothing {
            try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1")
        }
        try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.254")
        try await watcher.expect("the other gateway", where: { $0.gateways == [IPAddress(10, 1, 0, 254)] })
        try kernel.connect("wlan0", address: "2001:db8::2/64", gateway: "fe80::1")
        try await watcher.expect("both families", where: { $0.supportsIPv4 && $0.supportsIPv6 })
        try kernel.disconnect("wlan0")
        try await watcher.expect(.offline, .noCarrier)
    }

    @Test(arguments: [-1, Int(UInt32.max) + 1, .min, .max]) func refusesNumbersThatDoNotFit(_ number: Int) throws {
        try kernel.connect("eth0", address: "10.1.0.2/24", gateway: "10.1.0.1")
        typealias Route = SimulatedKernel.Route
        typealias Rule = SimulatedKernel.Rule
        let changes: [() throws -> Void] = [
            { try kernel.addLink("eth1", index: number) },
            { try kernel.addRoute(Route("10.7.0.0/16", via: "10.1.0.1", metric: number)) },
            { try kernel.addRoute(Route("10.7.0.0/16", via: "10.1.0.1", table: number)) },
            { try kernel.addRoute(Route("10.7.0.0/16", nexthop: number)) },
            { try kernel.removeRoute(Route("default", metric: number)) },
            { try kernel.removeRoute(Route("default", table: number)) },
            { try kernel.removeRoute(Route("default", nexthop: number)) },
            { try kernel.addNexthop(number, via: "10.1.0.1", over: "eth0") },
            { try kernel.addBlackholeNexthop(number) },
            { try kernel.addNexthopGroup(number, []) },
            { try kernel.addNexthopGroup(7, [number]) },
            { try kernel.removeNexthop(number) },
            { try kernel.addRule(Rule(.lookUp(table: number))) },
            { try kernel.addRule(Rule(.blackhole, priority: number)) },
            { try kernel.addRule(Rule(.blackhole, mark: number)) },
            { try kernel.removeRule(Rule(.blackhole, priority: number)) },
        ]
        for (position, change) in changes.enumerated() { #expect(refusal(change) == EINVAL, "change \(position)") }
    }

    @Test(arguments: [0, Int(Int32.max)]) func refusesIndicesThatNoLinkHas(_ index: Int) {
        #expect(refusal { try kernel.addLink("eth1", index: index) } == EINVAL)
    }

    @Test func severalMonitorsHearTheSame() async throws {
        var one = try Watcher(kernel.makeMonitor())
        var other = try Watcher(kernel.makeMonitor())
        #expect(kernel.openConversations == 2)
        try kernel.connect("eth0", address: "10.1.0.2/24", gateway: "10.1.0.1")
        try await one.expect(.wired)
        try await other.expect(.wired)
    }

    @Test func aFailureMayLastForAFewTimes() throws {
        kernel.fail(.openSocket, with: EAGAIN, times: 2)
        let monitor = kernel.makeMonitor()
        #expect(throws: NetlinkError.self) { try monitor.start() }
        #expect(throws: NetlinkError.self) { try monitor.start() }
        try monitor.start()
        monitor.stop()
    }
}
