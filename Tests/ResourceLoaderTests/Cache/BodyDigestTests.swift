import TestSupport
import Testing

@testable import ResourceLoader

/// The examples of FIPS 180-4's companion (NIST CSRC, "SHA256" example values) and the byte-oriented test vectors of
/// CAVP.
@Suite(.takingTurns) struct BodyDigestTests {
    static let vectors: [(message: [UInt8], digest: String)] = [
        ([], "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (bytes("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            bytes("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
        (
            bytes(
                "abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                    + "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"
            ), "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1"
        ),
        ([0xd3], "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1"),
        (Array(repeating: 0x61, count: 1_000_000), "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"),
    ]

    @Test(arguments: vectors) func givesThePublishedDigest(_ vector: (message: [UInt8], digest: String)) {
        #expect(BodyDigest(of: vector.message).description == vector.digest)
    }

    @Test func doesNotCareHowTheMessageIsCut() {
        let message = (0..<300).map { UInt8(truncatingIfNeeded: $0) }
        let whole = BodyDigest(of: message)
        for cut in 0...300 {
            var hash = SHA256()
            Array(message[..<cut]).withUnsafeBytes { hash.update($0) }
            Array(message[cut...]).withUnsafeBytes { hash.update($0) }
            #expect(BodyDigest(finishing: hash) == whole)
        }
    }

    @Test func readsHexadecimalOfEitherCase() {
        let digest = BodyDigest(of: bytes("abc"))
        #expect(BodyDigest(hexadecimal: digest.description) == digest)
        #expect(BodyDigest(hexadecimal: digest.description.uppercased()) == digest)
        #expect(BodyDigest(hexadecimal: String(digest.description.dropLast())) == nil)
        #expect(BodyDigest(hexadecimal: String(digest.description.dropLast()) + "g") == nil)
        #expect(BodyDigest(hexadecimal: String(digest.description.dropLast()) + "\u{FF11}") == nil)
        #expect(BodyDigest([1, 2, 3]) == nil)
    }
}
