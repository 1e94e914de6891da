import Foundation
import Testing

/// The helper program in a process of its own.
final class HelperProcess {
    private let process = Process()
    private let input = Pipe()
    private var words: AsyncStream<String>.Iterator
    private let ended: AsyncStream<Int32>

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
        let output = Pipe()
        process.standardOutput = output
        let (lines, line) = AsyncStream<String>.makeStream()
        let (ended, end) = AsyncStream<Int32>.makeStream()
        words = lines.makeAsyncIterator()
        self.ended = ended
        process.terminationHandler = {
            end.yield($0.terminationStatus)
            end.finish()
        }
        try process.run()
        // On a thread of its own, so that no test waits for another one's program.
        Thread.detachNewThread {
            var word: [UInt8] = []
            while let byte = try? output.fileHandleForReading.read(upToCount: 1)?.first {
                if byte == UInt8(ascii: "\n") {
                    line.yield(String(decoding: word, as: UTF8.self))
                    word = []
                } else {
                    word.append(byte)
                }
            }
            line.finish()
        }
    }

    /// The next word the program says; `nil` once it has ended.
    func nextWord() async -> String? {
        await words.next()
    }

    /// Hands it a line.
    func tell(_ line: String) throws {
        try input.fileHandleForWriting.write(contentsOf: Data("\(line)\n".utf8))
    }

    /// Waits until the program says something in particular; `false` if it ends before.
    func says(_ word: String) async -> Bool {
        while let next = await nextWord() {
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

    /// Ends it without any chance to tidy up.
    func kill() {
        Foundation.kill(process.processIdentifier, SIGKILL)
    }

    /// Ends it without any chance to tidy up, and returns what it had said until then.
    func killed() async -> [String] {
        kill()
        var rest: [String] = []
        while let word = await nextWord() { rest.append(word) }
        return rest
    }

    /// Waits for its end, and returns whether all went well.
    func succeeds() async -> Bool {
        for await status in ended { return status == 0 }
        return false
    }
}
