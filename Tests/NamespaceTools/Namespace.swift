import CNamespace
import Foundation

/// A network namespace, which lives until this and the last socket in it are gone.
package final class Namespace: Sendable {
    private let descriptor: CInt

    package init() throws {
        descriptor = namespace_make()
        guard descriptor >= 0 else { throw CommandFailed(command: "(unshare)", answer: Self.text(-descriptor)) }
    }

    deinit { close(descriptor) }

    /// A name for commands in other namespaces.
    package var path: String { "/proc/\(getpid())/fd/\(descriptor)" }

    /// Runs `body` on the calling thread, in here. Sockets that it opens stay in here.
    package func inside<Result: ~Copyable, Failure>(_ body: () throws(Failure) -> sending Result) throws(Failure)
        -> sending Result
    {
        let before = namespace_current()
        defer { close(before) }
        precondition(namespace_enter(descriptor) == 0, "a test must not go on in the wrong namespace")
        defer { precondition(namespace_enter(before) == 0, "a test must not go on in the wrong namespace") }
        return try body()
    }

    /// Runs a command of iproute2 in here.
    package func ip(_ command: String) throws {
        let (status, answer) = try inside { try Self.run(Self.iproute2, command) }
        if status != 0 { throw CommandFailed(command: command, answer: answer) }
    }

    package static let iproute2 = "/usr/sbin/ip"

    /// The exit status, and what it wrote to its standard error.
    private static func run(_ program: String, _ words: String) throws -> (CInt, String) {
        var ends: [CInt] = [0, 0]
        guard pipe(&ends) == 0 else { throw CommandFailed(command: words, answer: text(errno)) }
        defer { close(ends[0]) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO)
        for end in ends { posix_spawn_file_actions_addclose(&actions, end) }
        var arguments = ([program] + words.split(separator: " ").map(String.init)).map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child = pid_t()
        let error = posix_spawn(&child, program, &actions, nil, &arguments, environ)
        close(ends[1])
        guard error == 0 else { throw CommandFailed(command: words, answer: text(error)) }
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1024)
        while true {
            let count = read(ends[0], &chunk, chunk.count)
            guard count > 0 else { break }
            answer += chunk.prefix(count)
        }
        var status: CInt = 0
        waitpid(child, &status, 0)
        return (status, String(decoding: answer, as: UTF8.self))
    }

    package static func text(_ errno: CInt) -> String { String(cString: strerror(errno)) }
}

/// iproute2 or the simulated kernel said no.
package struct CommandFailed: Error, CustomStringConvertible {
    package let command: String
    package let answer: String

    package init(command: String, answer: String) {
        self.command = command
        self.answer = answer
    }

    package var description: String { "ip \(command): \(answer)" }
}
