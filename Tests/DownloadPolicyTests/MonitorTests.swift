import Reachability
import ReachabilityTestKit
import TestSupport
import Testing

@testable import DownloadPolicy

@Suite(.takingTurns, .timeLimit(.minutes(10))) struct MonitorTests {
    private func interface(
        _ type: NetworkInterface.InterfaceType, name: String = "i", isExpensive: Bool = false,
        evidence: Evidence = .nothing,
        isConstrained: Bool = false
    ) -> NetworkInterface {
        NetworkInterface(
            index: 1, name: name, type: type, evidence: .nothing, isExpensive: isExpensive, costEvidence: evidence,
            isConstrained: isConstrained)
    }

    private func path(_ status: NetworkPath.Status, _ via: NetworkInterface, over top: NetworkInterface? = nil)
        -> NetworkPath
    {
        NetworkPath(
            status: status, interface: top ?? via, via: via, isExpensive: via.isExpensive,
            isConstrained: via.isConstrained)
    }

    @Test func whatIsExpensiveIsMetered() {
        let facts = PathFacts(path(.wwan, interface(.wwan, isExpensive: true, evidence: .type(.wwan))))
        #expect(facts == PathFacts(.wwan, metered: .yes, network: "i"))
    }

    @Test func whatIsNotExpensiveIsFreeOnlyIfTheProgramSaysSo() {
        #expect(PathFacts(path(.wifi, interface(.wifi))).metered == .unknown)
        #expect(PathFacts(path(.wwan, interface(.wwan, evidence: .rule("flat rate")))).metered == .no)
        // What is said of a tunnel says nothing of what lies beneath it.
        let tunnel = interface(.other, name: "wg0", evidence: .rule("ours"))
        #expect(PathFacts(path(.wifi, interface(.wifi), over: tunnel)).metered == .unknown)
    }

    @Test func constraintComesFromTheProgram() {
        #expect(PathFacts(path(.wifi, interface(.wifi, isConstrained: true))).constrained == .yes)
        #expect(PathFacts(path(.wifi, interface(.wifi))).constrained == .unknown)
    }

    @Test func theNetworkIsThePhysicalInterfaceAndItsGateway() throws {
        var facts = PathFacts(path(.wifi, interface(.wifi, name: "wlan0"), over: interface(.other, name: "wg0")))
        #expect(facts.network == "wlan0")
        let gateway = try #require(IPAddress("192.0.2.1"))
        facts = PathFacts(NetworkPath(status: .wifi, interface: interface(.wifi), gateways: [gateway]))
        #expect(facts.network == "i via 192.0.2.1")
        #expect(PathFacts(.unknown).network == nil)
    }

    private static let canAskTheKernel: Bool = {
        let monitor = ReachabilityMonitor()
        defer { monitor.stop() }
        return (try? monitor.start()) != nil
    }()

    @Test(.enabled(if: canAskTheKernel || isEverythingRequired, "netlink is not to be had here"))
    func anAdvisorFollowsAMonitor() async throws {
        let monitor = ReachabilityMonitor()
        try monitor.start()
        defer { monitor.stop() }
        let folder = TemporaryFolder()
        let advisor = PolicyAdvisor(
            monitor: monitor, preferences: try PreferencesStore(path: folder.file("preferences")),
            ladders: LadderBoard(),
            clock: ManualClock())
        var input = PolicyInput(path: PathFacts(monitor.currentPath), ladder: .nothing)
        for await decision in advisor.decisions(for: "r", trigger: .visible) {
            // The network of the machine that runs the tests may change meanwhile.
            input.path = PathFacts(monitor.currentPath)
            if decision == StandardPolicy.standard.decide(input) { break }
        }
        #expect(advisor.path.status != .unknown)
    }

    @Test(.enabled(if: canAskTheKernel || isEverythingRequired, "netlink is not to be had here"))
    func aMonitorThatStopsLeavesThePathUnknown() async throws {
        let monitor = ReachabilityMonitor()
        let folder = TemporaryFolder()
        let advisor = PolicyAdvisor(
            monitor: monitor, preferences: try PreferencesStore(path: folder.file("preferences")),
            ladders: LadderBoard(),
            clock: ManualClock())
        var isStopped = false
        for await decision in advisor.decisions(for: "r", trigger: .visible) {
            let isUnknown = decision.reasons.first?.rule == .statusUnknown
            if isStopped && isUnknown { break }
            if !isUnknown && !isStopped {
                monitor.stop()
                isStopped = true
            }
        }
        #expect(advisor.path == PathFacts(.unknown))
    }
}
