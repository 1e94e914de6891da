import TestSupport
import Testing

@testable import ResourceLoader

@Suite("A complete body", .takingTurns, .timeLimit(.minutes(10)))
struct TransfersSinkTests {
    private func failure(
        _ bytes: [UInt8], length: Int64? = nil, digest: [UInt8]? = nil, expects: ExpectedBody = .anything,
        limits: TransferLimits = TransferLimits(), piece: Int = 1000
    ) -> SinkFailure? {
        var verifier = BodyVerifier(BodyChecks(length: length, digest: digest, expects: expects, limits: limits))
        for start in stride(from: 0, to: bytes.count, by: piece) {
            let part = bytes[start..<min(start + piece, bytes.count)]
            if verifier.needsOnlyLength {
                verifier.skip(Int64(part.count))
            } else {
                part.withUnsafeBytes { verifier.feed($0) }
            }
        }
        return verifier.failure()
    }

    @Test func isHandedOverWhenNothingIsWrongWithIt() {
        let body = pattern(5000)
        #expect(failure(body) == nil)
        #expect(failure(body, length: 5000, digest: SHA256.digest(of: body), expects: .picture) == nil)
        #expect(failure([]) == nil)
    }

    @Test func isCheckedForItsLengthHoweverLittleElseIsLookedAt() {
        for piece in [7, 512, 5000] {
            #expect(failure(pattern(5000), length: 4999, piece: piece) == .unfit(.lengthMismatch))
            #expect(failure(pattern(5000), length: 5001, piece: piece) == .unfit(.lengthMismatch))
            #expect(failure(pattern(5000), limits: TransferLimits(bytes: 4999), piece: piece) == .unfit(.tooManyBytes))
        }
    }

    @Test func isCheckedToItsLastByteWhenADigestIsDue() {
        var body = pattern(5000)
        let digest = SHA256.digest(of: body)
        body[4999] ^= 1
        #expect(failure(body, digest: digest) == .unfit(.digestMismatch))
    }

    @Test func isAPictureWhereOneIsDue() {
        let html = Array("<!doctype html>".utf8)
        #expect(failure(html) == nil)
        for piece in [1, 100] { #expect(failure(html, expects: .picture, piece: piece) == .isHTML) }
        #expect(failure([], expects: .picture) == .unfit(.emptyBody))
    }

    @Test func hasItsPixelsCountedEvenIfTheirNumberStandsFarBehind() {
        let jpeg = TransfersPictureTests.jpeg(4000, 3000, before: [[UInt8](repeating: 1, count: 60_000)])
        for piece in [1, 300, 100_000] {
            #expect(failure(jpeg, limits: TransferLimits(pixels: 11_999_999), piece: piece) == .unfit(.tooManyPixels))
            #expect(failure(jpeg, limits: TransferLimits(pixels: 12_000_000), piece: piece) == nil)
        }
    }

    @Test func inMemoryIsCutBackToWhereTheNextAttemptBegins() async throws {
        let body = MemoryBody()
        #expect(await body.stored() == nil)
        await body.begin(PartialBody(offset: 0, total: 10, validator: .etag("\"a\"")))
        await body.write([0, 1, 2, 3, 4, 5])
        #expect(await body.stored() == PartialBody(offset: 6, total: 10, validator: .etag("\"a\"")))
        await body.begin(PartialBody(offset: 2, total: 4, validator: nil))
        await body.write([7, 8])
        let checks = BodyChecks(length: 4, digest: nil, expects: .anything, limits: TransferLimits())
        #expect(try await body.complete(checks, head: ResponseHead(status: 200)) == .bytes([0, 1, 7, 8]))
        await body.discard()
        #expect(await body.stored() == nil)
    }
}
