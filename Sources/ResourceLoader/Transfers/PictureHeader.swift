/// Reads a picture's size in pixels from the first bytes of PNG, JPEG, GIF and WebP, fed piece by piece, before anyone decodes it.
package struct PictureHeader: Sendable {
    package enum Finding: Sendable, Hashable {
        case needsMore
        case size(width: Int, height: Int)
        /// Another format, or a damaged header; nothing is known about its pixels.
        case unknown
    }

    package private(set) var finding: Finding = .needsMore
    private var held: [UInt8] = []
    /// Bytes that are to be passed over, first those held; JPEG segments are skipped without being kept.
    private var toSkip = 0
    private var isJPEG = false

    package init() {}

    package mutating func feed(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        while finding == .needsMore {
            let surplus = min(toSkip, held.count)
            held.removeFirst(surplus)
            toSkip -= surplus
            let passed = min(toSkip, rest.count)
            rest = rest.dropFirst(passed)
            toSkip -= passed
            guard toSkip == 0 else { return }
            examine()
            if finding == .needsMore, toSkip == 0 {
                guard !rest.isEmpty else { return }
                held += rest.prefix(Self.step)
                rest = rest.dropFirst(Self.step)
            }
        }
    }

    /// No step of the search looks at more bytes than these, so what is held stays small whatever the body is.
    private static let step = 32

    private mutating func examine() {
        if isJPEG { return examineSegment() }
        guard held.count >= 4 else { return }
        switch (held[0], held[1], held[2], held[3]) {
        case (0x89, 0x50, 0x4e, 0x47): examinePNG()
        case (0xff, 0xd8, _, _):
            isJPEG = true
            toSkip = 2
        case (0x47, 0x49, 0x46, 0x38): examineGIF()
        case (0x52, 0x49, 0x46, 0x46): examineWebP()
        default: finding = .unknown
        }
    }

    private func big(_ offset: Int, _ count: Int) -> Int {
        held[offset..<offset + count].reduce(0) { $0 << 8 | Int($1) }
    }

    private func little(_ offset: Int, _ count: Int) -> Int {
        held[offset..<offset + count].reversed().reduce(0) { $0 << 8 | Int($1) }
    }

    /// Signature, then IHDR as the first chunk (PNG specification, 11.2.2).
    private mutating func examinePNG() {
        guard held.count >= 24 else { return }
        guard Array(held[4..<8]) == [0x0d, 0x0a, 0x1a, 0x0a], Array(held[12..<16]) == Array("IHDR".utf8) else {
            finding = .unknown
            return
        }
        finding = .size(width: big(16, 4), height: big(20, 4))
    }

    /// The logical screen (GIF89a, 18).
    private mutating func examineGIF() {
        guard held.count >= 10 else { return }
        finding = .size(width: little(6, 2), height: little(8, 2))
    }

    /// VP8, VP8L or VP8X as the first chunk (RFC 9649, 2.5 to 2.7).
    private mutating func examineWebP() {
        guard held.count >= 30 else { return }
        guard Array(held[8..<12]) == Array("WEBP".utf8) else {
            finding = .unknown
            return
        }
        switch String(decoding: held[12..<16], as: UTF8.self) {
        case "VP8 ": finding = .size(width: little(26, 2) & 0x3fff, height: little(28, 2) & 0x3fff)
        case "VP8L":
            let bits = little(21, 4)
            finding = .size(width: (bits & 0x3fff) + 1, height: (bits >> 14 & 0x3fff) + 1)
        case "VP8X": finding = .size(width: little(24, 3) + 1, height: little(27, 3) + 1)
        default: finding = .unknown
        }
    }

    /// One marker: the frame header ends the search, others are skipped by their length (ITU-T T.81, B.1.1).
    private mutating func examineSegment() {
        guard held.count >= 2 else { return }
        guard held[0] == 0xff else {
            finding = .unknown
            return
        }
        let marker = held[1]
        switch marker {
        case 0xff: toSkip = 1  // fill byte
        case 0x01, 0xd0...0xd7: toSkip = 2
        case 0xc0...0xc3, 0xc5...0xc7, 0xc9...0xcb, 0xcd...0xcf:
            guard held.count >= 9 else { return }
            finding = .size(width: big(7, 2), height: big(5, 2))
        case 0xd9, 0xda: finding = .unknown  // the image data begins without a frame header
        default:
            guard held.count >= 4 else { return }
            let length = big(2, 2)
            if length < 2 { finding = .unknown } else { toSkip = 2 + length }
        }
    }
}

/// Recognises HTML by its first bytes, for portals that call their page a picture.
package enum HTMLSniffer {
    /// How many first bytes are enough to tell.
    package static let window = 512

    package static func looksLikeHTML(_ bytes: some Sequence<UInt8>) -> Bool {
        var head = Array(bytes.prefix(window))
        if head.starts(with: [0xef, 0xbb, 0xbf]) { head.removeFirst(3) }
        let space: Set<UInt8> = [9, 10, 12, 13, 32]
        let text = String(decoding: head.drop { space.contains($0) }, as: UTF8.self).lowercased()
        return ["<!doctype html", "<html", "<head", "<body", "<script", "<title", "<meta", "<!--"].contains {
            text.hasPrefix($0)
        }
    }
}
