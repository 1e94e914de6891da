/// SHA-256 (FIPS 180-4, section 6.2), to check bodies as they are committed.
public struct SHA256: Sendable {
    /// Thirty-two bytes.
    public struct Digest: Hashable, Sendable, CustomStringConvertible {
        /// The bytes, always 32.
        public let bytes: [UInt8]

        /// `nil` unless there are exactly 32.
        public init?(_ bytes: some Sequence<UInt8>) {
            self.bytes = Array(bytes)
            guard self.bytes.count == 32 else { return nil }
        }

        /// From 64 hexadecimal digits of either case; `nil` otherwise.
        public init?(hex: String) {
            let digits = hex.utf8.compactMap { byte in Character(UnicodeScalar(byte)).hexDigitValue }
            guard digits.count == 64, hex.utf8.count == 64 else { return nil }
            bytes = stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
        }

        /// In lower-case hexadecimal.
        public var description: String {
            let digits = Array("0123456789abcdef".utf8)
            return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
        }
    }

    private typealias State = SIMD8<UInt32>

    /// The fractional parts of the square roots of the first eight primes.
    private var state = State(
        0x6a09_e667, 0xbb67_ae85, 0x3c6e_f372, 0xa54f_f53a, 0x510e_527f, 0x9b05_688c, 0x1f83_d9ab, 0x5be0_cd19)
    private var pending: [UInt8] = []
    private var length: UInt64 = 0

    /// Of nothing yet.
    public init() {
        pending.reserveCapacity(64)
    }

    /// The digest of a whole.
    public static func digest(of bytes: [UInt8]) -> Digest {
        var hash = SHA256()
        hash.update(bytes)
        return hash.finalize()
    }

    /// Takes in more.
    public mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { update($0) }
    }

    /// Takes in more.
    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        length &+= UInt64(bytes.count)
        var rest = bytes[...]
        if !pending.isEmpty {
            let missing = rest.prefix(64 - pending.count)
            pending.append(contentsOf: missing)
            rest = rest.dropFirst(missing.count)
            guard pending.count == 64 else { return }
            pending.withUnsafeBytes { Self.compress($0, into: &state) }
            pending.removeAll(keepingCapacity: true)
        }
        let whole = rest.count & ~63
        Self.compress(UnsafeRawBufferPointer(rebasing: rest.prefix(whole)), into: &state)
        pending.append(contentsOf: rest.dropFirst(whole))
    }

    /// The digest of all that was taken in; the value can go on being updated.
    public func finalize() -> Digest {
        var last = pending
        last.append(0x80)
        while last.count % 64 != 56 { last.append(0) }
        let bits = length &* 8
        for shift in stride(from: 56, through: 0, by: -8) {
            last.append(UInt8(truncatingIfNeeded: bits >> UInt64(shift)))
        }
        var final = state
        last.withUnsafeBytes { Self.compress($0, into: &final) }
        let bytes = (0..<8).flatMap { word in
            stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: final[word] >> UInt32($0)) }
        }
        // Eight words of four bytes.
        return Digest(bytes)!
    }

    /// The fractional parts of the cube roots of the first 64 primes.
    private static let constants: [UInt32] = [
        0x428a_2f98, 0x7137_4491, 0xb5c0_fbcf, 0xe9b5_dba5, 0x3956_c25b, 0x59f1_11f1, 0x923f_82a4, 0xab1c_5ed5,
        0xd807_aa98, 0x1283_5b01, 0x2431_85be, 0x550c_7dc3, 0x72be_5d74, 0x80de_b1fe, 0x9bdc_06a7, 0xc19b_f174,
        0xe49b_69c1, 0xefbe_4786, 0x0fc1_9dc6, 0x240c_a1cc, 0x2de9_2c6f, 0x4a74_84aa, 0x5cb0_a9dc, 0x76f9_88da,
        0x983e_5152, 0xa831_c66d, 0xb003_27c8, 0xbf59_7fc7, 0xc6e0_0bf3, 0xd5a7_9147, 0x06ca_6351, 0x1429_2967,
        0x27b7_0a85, 0x2e1b_2138, 0x4d2c_6dfc, 0x5338_0d13, 0x650a_7354, 0x766a_0abb, 0x81c2_c92e, 0x9272_2c85,
        0xa2bf_e8a1, 0xa81a_664b, 0xc24b_8b70, 0xc76c_51a3, 0xd192_e819, 0xd699_0624, 0xf40e_3585, 0x106a_a070,
        0x19a4_c116, 0x1e37_6c08, 0x2748_774c, 0x34b0_bcb5, 0x391c_0cb3, 0x4ed8_aa4a, 0x5b9c_ca4f, 0x682e_6ff3,
        0x748f_82ee, 0x78a5_636f, 0x84c8_7814, 0x8cc7_0208, 0x90be_fffa, 0xa450_6ceb, 0xbef9_a3f7, 0xc671_78f2,
    ]

    /// One block of 64 bytes after the other.
    private static func compress(_ blocks: UnsafeRawBufferPointer, into state: inout State) {
        func rotated(_ word: UInt32, _ count: UInt32) -> UInt32 { word &>> count | word &<< (32 &- count) }
        withUnsafeTemporaryAllocation(of: UInt32.self, capacity: 64) { schedule in
            constants.withUnsafeBufferPointer { constants in
                for start in stride(from: 0, to: blocks.count, by: 64) {
                    for word in 0..<16 {
                        schedule[word] = UInt32(
                            bigEndian: blocks.loadUnaligned(fromByteOffset: start &+ word &* 4, as: UInt32.self))
                    }
                    for word in 16..<64 {
                        let early = schedule[word &- 15]
                        let late = schedule[word &- 2]
                        let earlyMix = rotated(early, 7) ^ rotated(early, 18) ^ early &>> 3
                        let lateMix = rotated(late, 17) ^ rotated(late, 19) ^ late &>> 10
                        schedule[word] = schedule[word &- 16] &+ earlyMix &+ schedule[word &- 7] &+ lateMix
                    }
                    var (a, b, c, d) = (state[0], state[1], state[2], state[3])
                    var (e, f, g, h) = (state[4], state[5], state[6], state[7])
                    for round in 0..<64 {
                        let mixE = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
                        let choice = (e & f) ^ (~e & g)
                        let first = h &+ mixE &+ choice &+ constants[round] &+ schedule[round]
                        let mixA = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
                        let majority = (a & b) ^ (a & c) ^ (b & c)
                        (h, g, f, e, d, c, b, a) = (g, f, e, d &+ first, c, b, a, first &+ mixA &+ majority)
                    }
                    state &+= State(a, b, c, d, e, f, g, h)
                }
            }
        }
    }
}
