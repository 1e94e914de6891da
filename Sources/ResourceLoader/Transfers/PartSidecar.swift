import Glibc

/// The note beside a part file: what its bytes belong to and how many of them count. Text with a check sum, replaced as a whole, so
/// that after a crash it is the old one or the new one, or is seen to be damaged.
struct PartSidecar: Hashable {
    let part: PartialBody

    init(_ part: PartialBody) {
        self.part = part
    }

    /// `nil` when the text is damaged or of another version.
    init?(_ text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        guard lines.count == 6, lines[0] == Self.title, lines[5].isEmpty,
            lines[4] == Self.sum(of: lines[0..<4].joined(separator: "\n")),
            let had = Self.value(of: "had ", in: lines[1]).flatMap({ Int64(digits: $0) }),
            let totalText = Self.value(of: "total ", in: lines[2])
        else { return nil }
        let total = Int64(digits: totalText)
        guard total != nil || totalText == "-" else { return nil }
        let validator: BodyValidator?
        if let tag = Self.value(of: "etag ", in: lines[3]) {
            validator = .etag(tag)
        } else if let date = Self.value(of: "modified ", in: lines[3]) {
            validator = .lastModified(date)
        } else {
            validator = nil
        }
        part = PartialBody(offset: had, total: total, validator: validator)
    }

    var text: String {
        let validator =
            switch part.validator {
            case .etag(let tag)?: "etag \(tag)"
            case .lastModified(let date)?: "modified \(date)"
            case nil: "none"
            }
        let facts = "\(Self.title)\nhad \(part.offset)\ntotal \(part.total.map(String.init) ?? "-")\n\(validator)"
        return "\(facts)\n\(Self.sum(of: facts))\n"
    }

    private static let title = "transfer part 1"

    private static func sum(of text: String) -> String { SHA256.digest(of: Array(text.utf8)).hexadecimal }

    private static func value(of name: String, in line: String) -> String? {
        line.hasPrefix(name) ? String(line.dropFirst(name.count)) : nil
    }
}
