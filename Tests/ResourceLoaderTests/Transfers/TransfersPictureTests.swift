import TestSupport
import Testing

@testable import ResourceLoader

@Suite("A picture's header", .takingTurns, .timeLimit(.minutes(10)))
struct TransfersPictureTests {
    static func png(_ width: Int, _ height: Int) -> [UInt8] {
        [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13] + Array("IHDR".utf8) + big(width, 4)
            + big(height, 4)
            + [8, 2, 0, 0, 0]
    }

    static func gif(_ width: Int, _ height: Int) -> [UInt8] {
        Array("GIF89a".utf8) + little(width, 2) + little(height, 2) + [0, 0, 0]
    }

    static func jpeg(_ width: Int, _ height: Int, before: [[UInt8]] = []) -> [UInt8] {
        var bytes: [UInt8] = [0xff, 0xd8]
        for segment in before {
            bytes += [0xff, 0xe1] as [UInt8]
            bytes += big(segment.count + 2, 2)
            bytes += segment
        }
        bytes += [0xff, 0xff, 0xc2, 0, 17, 8] as [UInt8]
        bytes += big(height, 2)
        bytes += big(width, 2)
        return bytes + [3, 1, 0x22, 0, 2, 0x11, 1, 3, 0x11, 1, 0xff, 0xda]
    }

    static func webp(_ format: String, _ payload: [UInt8]) -> [UInt8] {
        Array("RIFF".utf8) + little(100, 4) + Array("WEBP".utf8) + Array(format.utf8) + little(payload.count, 4)
            + payload
            + [UInt8](repeating: 0, count: 16)
    }

    static func big(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).reversed().map { UInt8(value >> ($0 * 8) & 255) }
    }
    static func little(_ value: Int, _ count: Int) -> [UInt8] { big(value, count).reversed() }

    static let samples: [(String, [UInt8], PictureHeader.Finding)] = [
        ("PNG", png(640, 70_000), .size(width: 640, height: 70_000)),
        ("GIF", gif(320, 200), .size(width: 320, height: 200)),
        ("JPEG", jpeg(4000, 3000), .size(width: 4000, height: 3000)),
        (
            "JPEG with segments before its frame",
            jpeg(
                40, 30,
                before: [
                    [UInt8](repeating: 0xff, count: 60_000), [], [1, 2, 3], [UInt8](repeating: 0xc0, count: 65_000),
                ]),
            .size(width: 40, height: 30)
        ),
        (
            "WebP, lossy", webp("VP8 ", [0, 0, 0, 0x9d, 1, 0x2a] + little(0x4000 | 500, 2) + little(400, 2)),
            .size(width: 500, height: 400)
        ),
        ("WebP, lossless", webp("VP8L", [0x2f] + little(499 | 399 << 14, 4)), .size(width: 500, height: 400)),
        (
            "WebP, extended", webp("VP8X", [0, 0, 0, 0] + little(70_000, 3) + little(9, 3)),
            .size(width: 70_001, height: 10)
        ),
        ("text", Array("hello, world, this is no picture".utf8), .unknown),
        ("a PNG without IHDR", [0x89, 0x50, 0x4e, 0x47] + [UInt8](repeating: 0, count: 40), .unknown),
        ("a WAV", Array("RIFF____WAVEfmt ".utf8) + [UInt8](repeating: 0, count: 40), .unknown),
        ("a JPEG without a frame", [0xff, 0xd8, 0xff, 0xda, 0, 4, 0, 0], .unknown),
        ("a JPEG with a segment of no length", [0xff, 0xd8, 0xff, 0xe0, 0, 1, 0, 0], .unknown),
        ("nothing", [], .needsMore),
        ("the start of a PNG", Array(png(1, 1).prefix(23)), .needsMore),
    ]

    @Test(arguments: samples.indices) func isReadHoweverItIsCut(_ index: Int) {
        let (name, bytes, expected) = Self.samples[index]
        for size in [1, 2, 3, 7, 31, 32, 33, 1000, max(1, bytes.count)] {
            var header = PictureHeader()
            for start in stride(from: 0, to: bytes.count, by: size) {
                bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { header.feed($0) }
            }
            #expect(header.finding == expected, "\(name) in pieces of \(size)")
        }
    }

    @Test func survivesAnyBytes() {
        for seed in 0..<500 as Range<UInt64> {
            var bytes = pattern(300, seed: seed)
            let start = Self.samples[Int(seed) % 8].1.prefix(Int(seed) % 40)
            bytes.replaceSubrange(0..<start.count, with: start)
            var header = PictureHeader()
            bytes.withUnsafeBytes { header.feed($0) }
        }
    }

    @Test func limitsPixelsWithoutOverflowing() {
        #expect(PictureHeader.Finding.size(width: 1 << 32, height: 1 << 32).exceeds(.max))
        #expect(PictureHeader.Finding.size(width: 11, height: 10).exceeds(109))
        #expect(!PictureHeader.Finding.size(width: 11, height: 10).exceeds(110))
        #expect(!PictureHeader.Finding.unknown.exceeds(1))
        #expect(!PictureHeader.Finding.size(width: 11, height: 10).exceeds(nil))
    }

    @Test(arguments: [
        "<!DOCTYPE html><p>", "\u{FEFF}  \n<HTML>", "<script>x</script>", "<!-- portal --><html>", "\t<head>",
    ])
    func isToldFromHTML(_ text: String) {
        #expect(HTMLSniffer.looksLikeHTML(Array(text.utf8)))
    }

    @Test func otherTextIsNoHTML() {
        for text in ["", "<svg xmlns=", "{\"a\":1}", "hello <html>", "<"] {
            #expect(!HTMLSniffer.looksLikeHTML(Array(text.utf8)))
        }
        #expect(!HTMLSniffer.looksLikeHTML(Self.png(1, 1)))
    }
}
