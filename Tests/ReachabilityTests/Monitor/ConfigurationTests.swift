import Reachability
import ReachabilityTestKit
import TestSupport
import Testing

@Suite("What a program can choose", .takingTurns, .timeLimit(.minutes(10)))
struct ConfigurationTests {
    @Test func thereAreTwoProbesAFamilyInDifferentHalvesOfTheAddressSpace() {
        let probes = ReachabilityMonitor.Configuration.defaultProbes
        for family in IPAddress.Family.allCases {
            let firstBits = probes.filter { $0.family == family }.map { $0.bytes[0] & (family == .ipv4 ? 0x80 : 0x08) }
            #expect(firstBits.count == 2)
            #expect(Set(firstBits).count == 2)
        }
    }

    @Test func noProbesAreTheDefaultOnes() {
        var configuration = ReachabilityMonitor.Configuration(probes: [])
        #expect(configuration.probes == ReachabilityMonitor.Configuration.defaultProbes)
        configuration.probes = [IPAddress(10, 0, 0, 1)]
        #expect(configuration.probes == [IPAddress(10, 0, 0, 1)])
        configuration.probes = []
        #expect(configuration.probes == ReachabilityMonitor.Configuration.defaultProbes)
    }

    @Test func aFamilyWithoutAProbeHasNoWayOut() async throws {
        let kernel = SimulatedKernel()
        try kernel.connect("eth0", address: "2001:db8:1::2/64", gateway: "2001:db8:1::1")
        let probes = ReachabilityMonitor.Configuration.defaultProbes.filter { $0.family == .ipv4 }
        let monitor = kernel.makeMonitor(configuration: ReachabilityMonitor.Configuration(probes: probes))
        #expect(try await monitor.refresh().status == .offline)
    }

    @Test(arguments: [Duration.zero, .seconds(-1), .nanoseconds(1)])
    func aPollIntervalIsAMillisecondAtLeast(_ interval: Duration) async throws {
        var configuration = ReachabilityMonitor.Configuration(pollInterval: interval)
        #expect(configuration.pollInterval == .milliseconds(1))
        configuration.pollInterval = .seconds(3)
        #expect(configuration.pollInterval == .seconds(3))
        configuration.pollInterval = interval
        #expect(configuration.pollInterval == .milliseconds(1))
    }
}
