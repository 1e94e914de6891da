import Glibc

/// Looks at a link's counter of received bytes every 50 µs or so, and notes when it grows.
struct LinkMeter: Sendable {
    struct Growth: Sendable {
        /// When it was seen.
        var time: Double
        var bytes: Int64
    }

    private let task: Task<[Growth], Never>

    init(_ link: String) throws {
        let file = open("/sys/class/net/\(link)/statistics/rx_bytes", O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw Trouble("cannot read the counter of \(link)") }
        task = Task.detached {
            defer { close(file) }
            var growth: [Growth] = []
            var last = Self.count(file)
            while !Task.isCancelled {
                usleep(50)
                let now = Self.count(file)
                if now > last { growth.append(Growth(time: monotonicSeconds(), bytes: now - last)) }
                last = now
            }
            return growth
        }
    }

    /// What has grown until now.
    func stop() async -> [Growth] {
        task.cancel()
        return await task.value
    }

    private static func count(_ file: CInt) -> Int64 {
        var buffer = [UInt8](repeating: 0, count: 32)
        let count = buffer.withUnsafeMutableBytes { pread(file, $0.baseAddress, $0.count, 0) }
        return Int64(String(decoding: buffer.prefix(max(0, count)).prefix { $0 != 10 }, as: UTF8.self)) ?? 0
    }
}

/// A running `ip -batch`, so that between giving a command and the kernel's event lies no start of a program.
struct RouteSwitch {
    private let input: CInt
    private let child: pid_t

    init() throws {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Trouble("no pipe to be had") }
        _ = fcntl(ends[1], F_SETFD, FD_CLOEXEC)
        var actions = posix_spawn_file_actions_t()
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO)
        posix_spawn_file_actions_addclose(&actions, ends[0])
        let words = ["ip", "-batch", "-"]
        var arguments = words.map { strdup($0) } + [nil]
        defer { for argument in arguments { free(argument) } }
        var child = pid_t()
        let error = posix_spawnp(&child, "ip", &actions, nil, &arguments, environ)
        close(ends[0])
        guard error == 0 else { throw Trouble("cannot start ip: \(String(cString: strerror(error)))") }
        input = ends[1]
        self.child = child
    }

    func tell(_ command: String) throws {
        let bytes = Array(command.utf8)
        guard write(input, bytes, bytes.count) == bytes.count else { throw Trouble("ip has gone") }
    }

    func end() {
        close(input)
        _ = exitStatus(of: child)
    }
}
