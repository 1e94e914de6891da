import TestSupport
import Testing

@Suite("The real kernel", .takingTurns, .timeLimit(.minutes(10)))
struct LiveBenchTests {
    /// A single case of a test cannot be skipped so that anybody sees it; this test can.
    @Test(
        .enabled(
            if: LiveBench.isPossible || isEverythingRequired,
            "needs root and iproute2: tests on both kernels ran on the simulated one alone"))
    func isThereToBeTakenApart() throws {
        let bench = try LiveBench()
        try bench.nic("eth0")
        try bench.ip("link del eth0")
    }
}
