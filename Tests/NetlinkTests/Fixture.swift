import Foundation

/// A recorded netlink message, and what the recorder, which is no code of ours, read in it.
struct RecordedMessage: Sendable {
    let bytes: [UInt8]
    /// Such as `NEWLINK family=unspec group=1 wlan0 idx=3 arphrd=1 flags=0x1003<UP> carrier=1`.
    let summary: String

    var kind: Substring { words.first ?? "" }

    var words: [Substring] { summary.split(separator: " ") }

    /// The value of a word `key=value`.
    func value(_ key: String) -> Substring? {
        words.first { $0.hasPrefix(key + "=") }?.dropFirst(key.count + 1)
    }

    /// All the messages of a file under `Fixtures`.
    static func all(in name: String) throws -> [RecordedMessage] {
        let file = Bundle.module.bundleURL.appendingPathComponent("Fixtures/\(name).hex")
        return try String(contentsOf: file, encoding: .utf8).split(separator: "\n").compactMap { line in
            let parts = line.split(separator: " ", maxSplits: 3)
            guard parts.count == 4, parts[2] == "#", line.first != "#" else { return nil }
            return RecordedMessage(bytes: bytes(parts[1]), summary: String(parts[3]))
        }
    }

    private static func bytes(_ hex: Substring) -> [UInt8] {
        let digits = hex.utf8.map { $0 > 57 ? $0 - 87 : $0 - 48 }
        return stride(from: 0, to: digits.count - 1, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    static let files = ["wifi.events", "routes.events", "routes.dump", "pppoe.events", "ppp.events"]
}
