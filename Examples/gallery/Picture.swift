/// A landscape that the example paints itself, so that it needs no files. The same number gives the same picture.
struct Picture {
    static let names = ["lake", "ridge", "dusk", "fjord"]

    let width: Int
    let height: Int
    let seed: Int

    static func original(_ seed: Int) -> Picture { Picture(width: 1280, height: 960, seed: seed) }
    static func thumbnail(_ seed: Int) -> Picture { Picture(width: 128, height: 96, seed: seed) }

    /// The picture as a PNG file.
    var png: [UInt8] { PNG.encode(width: width, height: height, rows: pixels) }

    private var pixels: [UInt8] {
        let skies: [(top: Colour, bottom: Colour)] = [
            (Colour(38, 84, 150), Colour(250, 196, 140)), (Colour(24, 40, 84), Colour(236, 120, 96)),
            (Colour(60, 36, 92), Colour(248, 168, 88)), (Colour(70, 130, 180), Colour(214, 232, 240)),
        ]
        let sky = skies[seed % skies.count]
        let sun = (x: 0.25 + 0.17 * Double(seed % 4), y: 0.34 + 0.05 * Double(seed % 3), r: 0.06)
        // One height for each range and column.
        let ranges = (0..<4).map { range in (0..<width).map { ridge(range, Double($0) / Double(width)) } }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(width * height * 3)
        for row in 0..<height {
            let y = Double(row) / Double(height)
            let background = sky.top.mixed(with: sky.bottom, min(1, y / 0.7))
            for column in 0..<width {
                var colour = background
                let x = Double(column) / Double(width)
                let (dx, dy) = (x - sun.x, (y - sun.y) * 0.75)
                let distance = (dx * dx + dy * dy).squareRoot()
                if distance < sun.r {
                    colour = Colour(255, 244, 214)
                } else if distance < sun.r * 4 {
                    colour = colour.mixed(with: Colour(255, 226, 170), 0.55 * (1 - (distance - sun.r) / (sun.r * 3)))
                }
                for range in 0..<4 where y > ranges[range][column] {
                    let depth = Double(range) / 3
                    colour = sky.bottom.mixed(with: Colour(18, 30, 48), 0.35 + 0.6 * depth)
                    if range == 3 { colour = colour.mixed(with: sky.top, max(0, 0.5 - (y - ranges[3][column]) * 2)) }
                }
                bytes += [colour.red, colour.green, colour.blue]
            }
        }
        return bytes
    }

    private func ridge(_ range: Int, _ x: Double) -> Double {
        var height = 0.48 + 0.13 * Double(range)
        var (frequency, reach) = (3.0 + Double(range), 0.09)
        for octave in 0..<5 {
            height += reach * wave(x * frequency + Double(seed * 7 + range * 13 + octave * 5))
            frequency *= 2.1
            reach *= 0.48
        }
        return height
    }

    /// Between -1 and 1: parabolas instead of sines, so that no mathematics library is needed.
    private func wave(_ x: Double) -> Double {
        let phase = x - x.rounded(.down)
        let arch = phase < 0.5 ? phase * 2 : phase * 2 - 1
        let value = 4 * arch * (1 - arch)
        return phase < 0.5 ? value : -value
    }
}

private struct Colour {
    let red: UInt8
    let green: UInt8
    let blue: UInt8

    init(_ red: UInt8, _ green: UInt8, _ blue: UInt8) {
        self.red = red
        self.green = green
        self.blue = blue
    }

    func mixed(with other: Colour, _ share: Double) -> Colour {
        func mix(_ one: UInt8, _ two: UInt8) -> UInt8 {
            UInt8(min(255, max(0, Double(one) + (Double(two) - Double(one)) * share)))
        }
        return Colour(mix(red, other.red), mix(green, other.green), mix(blue, other.blue))
    }
}

/// Writes PNG (ISO/IEC 15948) with stored deflate blocks (RFC 1951, 3.2.4): no compression, so files of some MB.
enum PNG {
    /// - Parameter rows: three bytes a pixel, row after row.
    static func encode(width: Int, height: Int, rows: [UInt8]) -> [UInt8] {
        var raw: [UInt8] = []
        raw.reserveCapacity(rows.count + height)
        for row in 0..<height {
            raw.append(0)  // filter "none"
            raw += rows[row * width * 3..<(row + 1) * width * 3]
        }
        var header = bigEndian(UInt32(width)) + bigEndian(UInt32(height))
        header += [8, 2, 0, 0, 0]  // 8 bits, RGB, deflate, adaptive filters, not interlaced
        var file: [UInt8] = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]
        file += chunk("IHDR", header)
        file += chunk("IDAT", zlib(raw))
        file += chunk("IEND", [])
        return file
    }

    private static func chunk(_ type: String, _ data: [UInt8]) -> [UInt8] {
        let body = Array(type.utf8) + data
        return bigEndian(UInt32(data.count)) + body + bigEndian(crc(body))
    }

    /// RFC 1950 around stored blocks.
    private static func zlib(_ data: [UInt8]) -> [UInt8] {
        var stream: [UInt8] = [0x78, 0x01]
        stream.reserveCapacity(data.count + data.count / 65_535 * 5 + 16)
        var offset = 0
        repeat {
            let count = min(65_535, data.count - offset)
            let isLast = offset + count == data.count
            let length = UInt16(count)
            stream += [
                isLast ? 1 : 0, UInt8(length & 255), UInt8(length >> 8), UInt8(~length & 255), UInt8(~length >> 8),
            ]
            stream += data[offset..<offset + count]
            offset += count
        } while offset < data.count
        var (a, b): (UInt32, UInt32) = (1, 0)
        for byte in data {
            a = (a + UInt32(byte)) % 65_521
            b = (b + a) % 65_521
        }
        return stream + bigEndian(b << 16 | a)
    }

    private static let table: [UInt32] = (0..<256).map { number in
        (0..<8).reduce(UInt32(number)) { value, _ in value & 1 == 1 ? 0xedb8_8320 ^ value >> 1 : value >> 1 }
    }

    private static func crc(_ bytes: [UInt8]) -> UInt32 {
        let table = table
        return ~bytes.reduce(~0) { value, byte in table[Int((value ^ UInt32(byte)) & 255)] ^ value >> 8 }
    }

    private static func bigEndian(_ value: UInt32) -> [UInt8] {
        [UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
    }
}
