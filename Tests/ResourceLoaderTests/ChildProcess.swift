import Foundation

/// A program run beside the test, with its standard output in a pipe.
final class ChildProcess {
    let id: pid_t
    private let output: Int32

    /// The programs built beside this test.
    static func built(_ name: String) -> String {
        let test = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return (test as NSString).deletingLastPathComponent + "/" + name
    }

    init(_ program: String, _ arguments: [String]) throws {
        var ends: [Int32] = [0, 0]
        guard pipe(&ends) == 0 else { throw POSIXError(.EMFILE) }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            close(ends[1])
        }
        var words: [UnsafeMutablePointer<CChar>?] = ([program] + arguments).map { strdup($0) } + [nil]
        defer { for word in words { free(word) } }
        var id: pid_t = 0
        let code = posix_spawnp(&id, program, &actions, nil, &words, environ)
        guard code == 0 else {
            close(ends[0])
            throw POSIXError(POSIXErrorCode(rawValue: code) ?? .ENOENT)
        }
        (self.id, output) = (id, ends[0])
    }

    deinit {
        close(output)
    }

    /// The next bytes of its output; none at its end.
    func read(atMost count: Int) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: count)
        let got = Foundation.read(output, &buffer, count)
        return Array(buffer.prefix(max(0, got)))
    }

    func readAll() -> String {
        var all: [UInt8] = []
        while true {
            let more = read(atMost: 4096)
            if more.isEmpty { return String(decoding: all, as: UTF8.self) }
            all += more
        }
    }

    /// Only this one, and at once.
    func kill() {
        Foundation.kill(id, SIGKILL)
    }

    /// Its exit status, or minus the signal that ended it.
    func wait() -> Int32 {
        var status: Int32 = 0
        while waitpid(id, &status, 0) == -1 && errno == EINTR {}
        return status & 0x7f == 0 ? (status >> 8) & 0xff : -(status & 0x7f)
    }
}

/// Runs something that blocks where it keeps no other test from running.
func onAThreadOfItsOwn(_ work: @escaping @Sendable () throws -> Void) async throws {
    try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        Thread.detachNewThread {
            continuation.resume(with: Result { try work() })
        }
    }
}
