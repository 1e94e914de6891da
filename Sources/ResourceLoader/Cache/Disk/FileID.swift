/// What a body or a part is called on disk: a random number, never anything of its key.
struct FileID: Hashable, Sendable {
    /// Positive, so that it can be SQLite's row id.
    let number: Int64

    static func random() -> FileID {
        FileID(number: .random(in: 1...Int64.max))
    }

    /// Sixteen hexadecimal digits.
    var name: String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: 16 - digits.count) + digits
    }

    init(number: Int64) {
        self.number = number
    }

    /// From a file's name; `nil` for names that none of our files has.
    init?(name: String) {
        guard name.utf8.count == 16, let number = Int64(name, radix: 16), number > 0 else { return nil }
        self.number = number
        guard self.name == name else { return nil }
    }
}
