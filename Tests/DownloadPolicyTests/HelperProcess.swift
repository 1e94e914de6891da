import Foundation
import Testing

/// The helper program in a process of its own.
final class HelperProcess {
    private let process = Process()
    private let output = Pipe()

    init(_ arguments: String..., environment: [String: String] = [:]) throws {
        let folder = try #require(Bundle.main.executableURL).deletingLastPathComponent()
        let program = folder.appendingPathComponent("policy-store-helper")
        try #require(
            FileManager.default.isExecutableFile(atPath: program.path), "build the tests to get \(program.path)")
        process.executableURL = program
        process.arguments = arguments
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
