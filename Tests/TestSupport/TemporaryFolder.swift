import Foundation

/// A folder of a test's own, removed with all that is in it when the last reference goes.
public final class TemporaryFolder: Sendable {
    public let path = FileManager.default.temporaryDirectory.path + "/reachability-test-\(UUID().uuidString)"

    public init() {
        // Where it can't be made, the first use says so.
        try? FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
    }

    deinit { delete() }

    public func delete() { try? FileManager.default.removeItem(atPath: path) }

    public func file(_ name: String) -> String { "\(path)/\(name)" }

    public func write(_ text: String, to name: String) throws {
        try Data(text.utf8).write(to: URL(fileURLWithPath: file(name)))
    }

    public func text(of name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(fileURLWithPath: file(name))), as: UTF8.self)
    }

    public func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: path).sorted()
    }
}
