import Foundation
import Testing

/// The helper program in a process of its own.
final class HelperProcess {
    private let process = Process()
    private let input = Pipe()
    private let output = Pipe()

    /// - Parameter isAlone: whether it gets a network namespace of its own.
    init(_ arguments: String..., environment: [String: String] = [:], isAlone: Bool = false) throws {
        let folder = try #require(Bundle.main.executableURL).deletingLastPathComponent()
        let program = folder.appendingPathComponent("policy-helper")
        try #require(
            FileManager.default.isExecutableFile(atPath: program.path), "build the tests to get \(program.path)")
        process.executableURL = isAlone ? URL(fileURLWithPath: "/usr/bin/unshare") : program
        process.arguments = (isAlone ? ["--net", program.path] : []) + arguments
        process.standardInput = input
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        process.standardOutput = output
        try process.run()
    }

    /// The next word the program says; `nil` once it has ended.
    func nextWord() -> String? {
        var word = ""
        while let byte = try? output.fileHandleForReading.read(upToCount: 1)?.first {
            if byte == UInt8(ascii: "\n") { return word }
            word.append(Character(UnicodeScalar(byte)))
        }
        return nil
    }

    /// Hands it a line.
    func tell(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
    }

    /// Waits until the program says something in particular; `false` if it ends before.
    func says(_ word: String) -> Bool {
        while let next = nextWord() {
            if next == word { return true }
        }
        return false
    }

    /// Whether programs can be given a network namespace of their own here, and `ip` to furnish it.
    static let canBeAlone: Bool = {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/unshare")
        process.arguments = ["--net", "ip", "link", "add", "wlan0", "type", "veth", "peer", "name", "peer0"]
        process.standardError = FileHandle.nullDevice
        guard (try? process.run()) != nil else { return false }
        process.waitUntilExit()
        return process.terminationStatus == 0
    }()

    /// Ends it without any chance to tidy up, and returns what it had said until then.
    func kill() -> [String] {
        Foundation.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
        var words: [String] = []
        while let word = nextWord() { words.append(word) }
        return words
    }

    func waitForSuccess() -> Bool {
        process.waitUntilExit()
        return process.terminationStatus == 0
    }
}
