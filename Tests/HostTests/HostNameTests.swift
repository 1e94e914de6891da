import Foundation
import TestSupport
import Testing

@testable import Reachability

@Suite(.takingTurns) struct HostNameTests {
    @Test(arguments: ["127.0.0.1", "::1", "2001:db8::1"]) func takesLiteralAddressesForWhatTheyAre(_ text: String)
        throws
    {
        #expect(Host(text) == .address(try #require(IPAddress(text))))
    }

    @Test(arguments: [
        "example.com", "example.com.", "localhost", "xn--bcher-kva.example", "bücher.example", "a_b.local", "x",
    ])
    func takesNamesForNames(_ text: String) {
        #expect(Host(text) == .name(text))
    }

    @Test(
        arguments: [
            "", ".", "https://example.com", "example.com:443", "example.com/path", "user@example.com", "exa mple.com",
            "fe80::1%eth0", "[::1]", "a\u{0}b", "tab\there", String(repeating: "a", count: 254),
        ])
    func takesNothingElseForAName(_ text: String) {
        #expect(Host(text) == .nonsense)
    }

    @Test func measuresNamesWithoutTheFinalDot() {
        let longest = String(repeating: "a", count: 253)
        #expect(Host(longest) == .name(longest))
        #expect(Host(longest + ".") == .name(longest + "."))
    }

    @Test func readsSocketAddressesThatAreNotAligned() {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0xC000_0201).bigEndian
        var bytes: [UInt8] = [0]
        withUnsafeBytes(of: address) { bytes.append(contentsOf: $0) }
        let read = bytes.withUnsafeBytes { buffer in
            buffer.baseAddress.flatMap { IPAddress(socketAddress: $0 + 1) }
        }
        #expect(read == IPAddress(192, 0, 2, 1))
    }
}
