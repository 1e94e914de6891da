import CNetlink
import Glibc
import TestSupport
import Testing

@testable import Netlink

@Suite("Asking the kernel", .takingTurns, .timeLimit(.minutes(10)))
struct RequestSocketTests {
    /// Dumps that fail on the way end with NLMSG_DONE and the error number in it, not with NLMSG_ERROR.
    @Test func aDumpThatFailsIsNotAShortOne() throws {
        var socket = try RequestSocket()
        // Strict checking refuses to list the addresses of some length only.
        let header = ifaddrmsg(ifa_family: 0, ifa_prefixlen: 24, ifa_flags: 0, ifa_scope: 0, ifa_index: 0)
        var error: NetlinkError?
        do throws(NetlinkError) {
            _ = try socket.dump(.dumpAddresses, CInt(RTM_GETADDR), header) { MessageParser.address(from: $0) }
        } catch let refusal {
            error = refusal
        }
        #expect(error?.errno == EINVAL)
        #expect(try !socket.addresses().elements.isEmpty)
    }

    @Test(arguments: [(0, 1, false), (1, 2, false), (3, 4, false), (4, 4, true), (100, 4, true)])
    func anInterruptedDumpIsAskedForAgainSoOften(
        _ interruptions: Int, _ attempts: Int, _ isInterrupted: Bool
    ) throws {
        var count = 0
        let dump = try Dump<Int>.whole(within: 4) {
            count += 1
            return Dump(elements: [count], isInterrupted: count <= interruptions)
        }
        #expect(count == attempts)
        #expect(dump.elements == [attempts])
        #expect(dump.isInterrupted == isInterrupted)
    }

    @Test func aGroupThatTheKernelIsTooOldForIsNoError() throws {
        let socket = try NetlinkSocket(protocol: NETLINK_ROUTE)
        try socket.joinIfKnown(group: 9999)
        var failure: NetlinkError?
        do throws(NetlinkError) { try socket.join(group: 9999) } catch { failure = error }
        #expect(failure?.errno == EINVAL)
    }
}
