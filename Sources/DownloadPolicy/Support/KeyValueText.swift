/// A small file format for settings: lines of `key = value`, comments that begin with `#`, and the word `end` on the
/// last line, by which a file that was cut short is noticed.
///
/// It is strict, so that damage is noticed instead of being read as something else: valid UTF-8, every line ended by a
/// line feed, keys of lower-case letters, digits, dots and hyphens, no key twice, nothing after `end`.
struct KeyValueText: Sendable, Equatable {
    /// The entries in order.
    var entries: [(key: String, value: String)] = []

    static func == (left: KeyValueText, right: KeyValueText) -> Bool {
        left.entries.elementsEqual(right.entries) { $0 == $1 }
    }

    init(entries: [(key: String, value: String)] = []) {
        self.entries = entries
    }

    /// Reads a file's bytes.
    init(parsing bytes: [UInt8]) throws(DocumentDamage) {
        guard let text = String(validating: bytes, as: UTF8.self) else {
            throw DocumentDamage(line: nil, what: "it is not UTF-8")
        }
        guard bytes.last == UInt8(ascii: "\n") else {
            throw DocumentDamage(line: nil, what: "its last line is cut short")
        }
        var keys: Set<String> = []
        var hasEnded = false
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().enumerated() {
            let line = line.trimmed
            if line.isEmpty || line.hasPrefix("#") { continue }
            guard !hasEnded else { throw DocumentDamage(line: index + 1, what: "something follows the end") }
            if line == "end" {
                hasEnded = true
                continue
            }
            guard let equals = line.firstIndex(of: "=") else {
                throw DocumentDamage(line: index + 1, what: "it is no \"key = value\"")
            }
            let key = line[..<equals].trimmed
            let value = line[line.index(after: equals)...].trimmed
            guard Self.isKey(key), Self.isValue(value) else {
                throw DocumentDamage(line: index + 1, what: "it is no \"key = value\"")
            }
            guard keys.insert(String(key)).inserted else {
                throw DocumentDamage(line: index + 1, what: "\(key) is there twice")
            }
            entries.append((String(key), String(value)))
        }
        guard hasEnded else { throw DocumentDamage(line: nil, what: "the line \"end\" is missing") }
    }

    /// A file's bytes, with comments on top.
    func bytes(comments: [String]) -> [UInt8] {
        var text = ""
        for comment in comments { text += "# \(comment)\n" }
        for (key, value) in entries { text += "\(key) = \(value)\n" }
        return Array((text + "end\n").utf8)
    }

    /// The value of a key, if the key is there.
    subscript(_ key: String) -> String? {
        for entry in entries where entry.key == key { return entry.value }
        return nil
    }

    private static func isKey(_ key: Substring) -> Bool {
        !key.isEmpty
            && key.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "."),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }

    private static func isValue(_ value: Substring) -> Bool {
        !value.isEmpty && value.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7f }
    }
}

extension Substring {
    /// Without spaces and tabs at either end.
    fileprivate var trimmed: Substring {
        var rest = self
        while let first = rest.utf8.first, first == 0x20 || first == 0x09 { rest = rest.dropFirst() }
        while let last = rest.utf8.last, last == 0x20 || last == 0x09 { rest = rest.dropLast() }
        return rest
    }
}
