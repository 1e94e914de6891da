import CNetlink
import Glibc
import Netlink
import TestSupport
import Testing

/// The filter runs in the kernel, on a pair of local sockets, which takes no privilege; next to it a plain predicate.
@Suite(.takingTurns) struct DoorbellFilterTests {
    private static let probes = ["8.8.8.8", "198.41.0.4", "2001:503:ba3e::2:30", "2801:1b8:10::b"]
        .compactMap(IPAddress.init)

    @Test(arguments: UInt64(1)...6) func letsThroughWhatAPlainPredicateDoes(_ seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let watched =
            switch seed {
            case 1: Self.probes
            case 2: [IPAddress]()
            case 3: Self.probes.filter { $0.family == .ipv4 }
            case 4: Self.probes.filter { $0.family == .ipv6 }
            case 5:
                (0..<32).map { _ in Self.address(.ipv4, &generator) }
                    + (0..<32).map { _ in Self.address(.ipv6, &generator) }
            default: (0..<33).map { _ in Self.address(.ipv4, &generator) } + [Self.address(.ipv6, &generator)]
            }
        let pair = try FilteredPair(DoorbellFilter.program(watching: watched))
        var passed = 0
        for _ in 0..<4000 {
            let message = RouteBytes.random(near: watched + Self.probes, &generator)
            let passes = try pair.passes(message.bytes)
            #expect(passes == message.matters(to: watched), "\(message)")
            if passes { passed += 1 }
        }
        // Neither all nor nothing, or there would be no test.
        #expect((100..<3900).contains(passed))
    }

    @Test func fitsWhatTheKernelTakes() {
        var generator = SeededGenerator(seed: 3)
        let many = (0..<200).flatMap { _ in [Self.address(.ipv4, &generator), Self.address(.ipv6, &generator)] }
        #expect(DoorbellFilter.program(watching: many).count < 4096)
        #expect(DoorbellFilter.program(watching: Array(many.prefix(64))).count < 4096)
    }

    @Test func shortMessagesDoNotUpsetIt() throws {
        let pair = try FilteredPair(DoorbellFilter.program(watching: Self.probes))
        for length in 1..<64 {
            var bytes = MessageBytes(type: Int(RTM_NEWROUTE), header: [UInt8](repeating: 24, count: 48)).bytes
            bytes = Array(bytes.prefix(length))
            _ = try pair.passes(bytes)
        }
    }

    static func address(_ family: IPAddress.Family, _ generator: inout SeededGenerator) -> IPAddress {
        let bytes = (0..<(family == .ipv4 ? 4 : 16)).map { _ in UInt8.random(in: 0...255, using: &generator) }
        return IPAddress(bytes: bytes) ?? IPAddress(0, 0, 0, 0)
    }
}

/// A route message as the filter sees it.
private struct RouteBytes: CustomStringConvertible {
    var type: Int32
    var family: UInt8
    var length: UInt8
    var destination: IPAddress?
    var hasOthersBefore: Bool

    static func random(near watched: [IPAddress], _ generator: inout SeededGenerator) -> RouteBytes {
        let center = generator.pick(watched)
        var length = UInt8.random(in: 0...UInt8(center.bitWidth), using: &generator)
        if Int.random(in: 0..<4, using: &generator) == 0 {
            length = generator.pick([0, 1, 2, 31, 32, 33, 63, 64, 65, 128])
        }
        length = min(length, UInt8(center.bitWidth))
        var bytes = center.bytes
        // One wrong bit, often just inside or just outside the prefix.
        if Bool.random(using: &generator) {
            let bit = min(max(Int(length) + Int.random(in: -2...2, using: &generator), 0), center.bitWidth - 1)
            bytes[bit / 8] ^= 0x80 >> UInt8(bit % 8)
        }
        let type = generator.pick([
            RTM_NEWROUTE, RTM_DELROUTE, RTM_NEWROUTE, RTM_DELROUTE, RTM_NEWLINK, RTM_NEWRULE, RTM_NEWNEXTHOP,
        ])
        let family = generator.pick([
            center.family == .ipv4 ? AF_INET : AF_INET6, center.family == .ipv4 ? AF_INET : AF_INET6, 28,
        ])
        return RouteBytes(
            type: Int32(type), family: UInt8(family), length: length,
            destination: Int.random(in: 0..<8, using: &generator) == 0 ? nil : IPAddress(bytes: bytes),
            hasOthersBefore: Bool.random(using: &generator))
    }

    var bytes: [UInt8] {
        var bytes = MessageBytes(
            type: Int(type), header: [family, length, 0, 0, 254, 3, 0, 1] + MessageBytes.number(UInt32(0)))
        if hasOthersBefore {
            bytes.put(Int(RTA_TABLE.rawValue), MessageBytes.number(UInt32(254)))
            bytes.put(Int(RTA_METRICS.rawValue), [1, 2, 3, 4, 5])
        }
        if let destination { bytes.put(Int(RTA_DST.rawValue), destination.bytes) }
        bytes.put(Int(RTA_OIF.rawValue), MessageBytes.number(UInt32(3)))
        return bytes.bytes
    }

    func matters(to watched: [IPAddress]) -> Bool {
        guard type == RTM_NEWROUTE || type == RTM_DELROUTE, length > 1 else { return true }
        guard family == UInt8(AF_INET) || family == UInt8(AF_INET6) else { return false }
        let own = watched.filter { $0.family == (family == UInt8(AF_INET) ? .ipv4 : .ipv6) }
        if own.isEmpty { return false }
        if own.count > DoorbellFilter.maximumDestinations { return true }
        guard let destination else { return true }
        return own.contains { $0.isIn(destination, length: Int(length)) }
    }

    var description: String { "type \(type) family \(family) \(destination?.description ?? "-")/\(length)" }
}

/// Two connected datagram sockets, with a filter on the one that receives.
private final class FilteredPair {
    private let sender: CInt
    private let receiver: CInt

    init(_ program: [sock_filter]) throws {
        var ends: [CInt] = [0, 0]
        try #require(socketpair(AF_UNIX, CInt(SOCK_DGRAM.rawValue), 0, &ends) == 0)
        (sender, receiver) = (ends[0], ends[1])
        var program = program
        let receiver = receiver
        let attached = program.withUnsafeMutableBufferPointer { instructions in
            var header = sock_fprog(len: UInt16(instructions.count), filter: instructions.baseAddress)
            return setsockopt(
                receiver, SOL_SOCKET, SO_ATTACH_FILTER, &header, socklen_t(MemoryLayout<sock_fprog>.size))
        }
        try #require(attached == 0)
    }

    deinit {
        close(sender)
        close(receiver)
    }

    func passes(_ bytes: [UInt8]) throws -> Bool {
        try #require(send(sender, bytes, bytes.count, 0) == bytes.count)
        var buffer = [UInt8](repeating: 0, count: 4096)
        return recv(receiver, &buffer, buffer.count, CInt(MSG_DONTWAIT)) > 0
    }
}
