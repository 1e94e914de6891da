/// A body that tells by itself whether it is whole and under the right key: a first line with what it is, then one byte
/// repeated.
struct TortureBody: Equatable {
    let key: Int
    let variant: String
    let size: Int
    let fill: UInt8

    var bytes: [UInt8] {
        let header = Array("\(key) \(variant) \(size) \(fill)\n".utf8)
        return header + Array(repeating: fill, count: max(0, size - header.count))
    }

    /// `nil` if anything is amiss.
    init?(_ bytes: [UInt8]) {
        guard let end = bytes.firstIndex(of: 0x0a) else { return nil }
        let words = String(decoding: bytes[..<end], as: UTF8.self).split(separator: " ")
        guard words.count == 4, let key = Int(words[0]), let size = Int(words[2]), let fill = UInt8(words[3]) else {
            return nil
        }
        self.init(key: key, variant: String(words[1]), size: size, fill: fill)
        guard bytes == self.bytes else { return nil }
    }

    init(key: Int, variant: String, size: Int, fill: UInt8) {
        (self.key, self.variant, self.size, self.fill) = (key, variant, size, fill)
    }
}
