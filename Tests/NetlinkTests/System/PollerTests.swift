import Glibc
import Netlink
import TestSupport
import Testing

@Suite("Waiting at descriptors", .takingTurns, .timeLimit(.minutes(10)))
struct PollerTests {
    @Test func oneThatCannotBeWaitedAtIsAnErrorAndTheOthersAreWaitedAt() throws {
        var poller = try Poller()
        let bell = try WakeDescriptor()
        bell.ring()
        for _ in 0..<2 {
            var failure: NetlinkError?
            do throws(NetlinkError) { try poller.watch([-1, bell.descriptor]) } catch { failure = error }
            #expect(failure?.errno == EBADF)
            _ = poller.wait(for: .seconds(60))
            #expect(poller.ringing == [bell.descriptor])
        }
        try poller.watch([bell.descriptor])
        _ = poller.wait(for: .seconds(60))
        #expect(poller.ringing == [bell.descriptor])
    }

    @Test func oneThatIsNoLongerWatchedDoesNotRing() throws {
        var poller = try Poller()
        let (one, other) = (try WakeDescriptor(), try WakeDescriptor())
        try poller.watch([one.descriptor, other.descriptor])
        one.ring()
        try poller.watch([other.descriptor])
        for patience in [Duration.zero, .seconds(-1)] {
            let hasTimedOut = poller.wait(for: patience)
            #expect(hasTimedOut)
        }
    }
}
