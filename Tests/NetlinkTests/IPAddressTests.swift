import Netlink
import TestSupport
import Testing

@Suite(.takingTurns) struct IPAddressTests {
    @Test(arguments: [
        ("10.1.0.2", "10.1.0.2"), ("255.255.255.255", "255.255.255.255"), ("::", "::"), ("::1", "::1"),
        ("2001:0db8:0000:0000:0000:0000:0000:0001", "2001:db8::1"), ("FE80::A", "fe80::a"),
        ("::ffff:192.0.2.1", "::ffff:192.0.2.1"),
    ]) func textComesOutInItsShortestForm(_ text: String, printed: String) throws {
        let address = try #require(IPAddress(text))
        #expect(address.description == printed)
        #expect(IPAddress(printed) == address)
    }

    @Test(arguments: [
        "", "localhost", "10.1", "10.1.0.256", "10.1.0.2/24", "fe80::1%eth0", " 10.1.0.2", "1.2.3.4.5", ":::", "g::",
    ])
    func whatIsNoAddressIsNone(_ text: String) {
        #expect(IPAddress(text) == nil)
    }

    @Test func bytesGoInAndComeOut() {
        var generator = SeededGenerator(seed: 1)
        for count in 0...20 {
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &generator) }
            #expect(IPAddress(bytes: bytes)?.bytes == (count == 4 || count == 16 ? bytes : nil))
        }
        #expect(IPAddress(10, 1, 0, 2).bytes == [10, 1, 0, 2])
        #expect(IPAddress(10, 1, 0, 2) != IPAddress("::a01:2"))
    }

    @Test func textOfAnyAddressReadsBack() {
        var generator = SeededGenerator(seed: 2)
        for _ in 0..<2000 {
            // Runs of zeros are what the short form is about.
            let bytes = (0..<generator.pick([4, 16])).map { _ in
                generator.pick([0, 0, 1, UInt8.random(in: 0...255, using: &generator)])
            }
            let address = IPAddress(bytes: bytes)
            #expect(address.flatMap { IPAddress($0.description) } == address)
        }
    }

    @Test func aPrefixHasTheFirstBitsInCommon() {
        func bit(_ address: IPAddress, _ position: Int) -> Bool {
            address.bytes[position / 8] & (0x80 >> UInt8(position % 8)) != 0
        }
        var generator = SeededGenerator(seed: 3)
        for _ in 0..<4000 {
            let bytes = (0..<generator.pick([4, 16])).map { _ in UInt8.random(in: 0...255, using: &generator) }
            guard let address = IPAddress(bytes: bytes) else { continue }
            let changed = Int.random(in: 0..<address.bitWidth, using: &generator)
            var otherBytes = bytes
            otherBytes[changed / 8] ^= 0x80 >> UInt8(changed % 8)
            guard let other = IPAddress(bytes: otherBytes) else { continue }
            let length = Int.random(in: 0...address.bitWidth, using: &generator)
            let isShared = (0..<length).allSatisfy { bit(address, $0) == bit(other, $0) }
            #expect(address.isIn(other, length: length) == isShared)
            let masked = address.masked(to: length)
            let isMasked = (0..<address.bitWidth).allSatisfy { position in
                bit(masked, position) == (position < length && bit(address, position))
            }
            #expect(isMasked)
        }
    }

    @Test func familiesDoNotMix() throws {
        let other = try #require(IPAddress("::"))
        #expect(!IPAddress(0, 0, 0, 0).isIn(other, length: 0))
        #expect(!other.isIn(IPAddress(0, 0, 0, 0), length: 0))
        #expect(!IPAddress(0, 0, 0, 0).isIn(IPAddress(0, 0, 0, 0), length: 33))
        #expect(!IPAddress(0, 0, 0, 0).isIn(IPAddress(0, 0, 0, 0), length: -1))
    }

    struct Nature: OptionSet, Sendable {
        let rawValue: Int
        static let unspecified = Nature(rawValue: 1)
        static let loopback = Nature(rawValue: 2)
        static let linkLocal = Nature(rawValue: 4)
        static let multicast = Nature(rawValue: 8)
    }

    @Test(
        arguments: [
            ("0.0.0.0", .unspecified), ("::", .unspecified), ("127.0.0.1", .loopback), ("127.255.255.254", .loopback),
            ("128.0.0.1", []), ("126.255.255.255", []), ("::1", .loopback), ("::2", []), ("169.254.0.0", .linkLocal),
            ("169.254.255.255", .linkLocal), ("169.253.255.255", []), ("169.255.0.0", []), ("fe80::1", .linkLocal),
            ("febf:ffff::1", .linkLocal), ("fec0::1", []), ("fe7f::1", []), ("224.0.0.1", .multicast),
            ("239.255.255.255", .multicast), ("240.0.0.1", []), ("223.255.255.255", []), ("ff02::1", .multicast),
            ("feff::1", []), ("8.8.8.8", []), ("2001:db8::1", []),
        ] as [(String, Nature)])
    func specialAddressesAreKnown(_ text: String, nature: Nature) throws {
        let address = try #require(IPAddress(text))
        var found: Nature = []
        if address.isUnspecified { found.insert(.unspecified) }
        if address.isLoopback { found.insert(.loopback) }
        if address.isLinkLocal { found.insert(.linkLocal) }
        if address.isMulticast { found.insert(.multicast) }
        #expect(found == nature)
    }

    @Test func wordsAreWhatAFilterCompares() throws {
        #expect(IPAddress(8, 8, 4, 4).words == [0x0808_0404])
        #expect(try #require(IPAddress("2001:db8::30")).words == [0x2001_0DB8, 0, 0, 0x30])
    }
}
