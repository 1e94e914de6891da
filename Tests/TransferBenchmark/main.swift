// Measures what the tests do not: throughput beside the curl command in one run, peak memory with a slow consumer, and the time from
// being told of a costly path to the last byte that could arrive. Loopback only.
//
//     swift run -c release TransferBenchmark [MEGABYTES [FOLDER]]
//
// Files go to FOLDER, by default to /dev/shm: memory, since a disk that writes back in its own time makes one run of the same program
// twice as long as the next.
//
// It starts itself again for each part, so that memory is counted apart.

import Glibc
import ResourceLoader

let arguments = CommandLine.arguments
switch arguments.dropFirst().first {
case "serve": serve(bytes: Int(arguments[2])!)
case "fetch": await fetch(arguments[2], into: arguments[3])
case "slow": await fetchSlowly(arguments[2])
case "pause": await pause(arguments[2], directory: arguments[3])
default:
    try compare(
        megabytes: arguments.count > 1 ? Int(arguments[1]) ?? 400 : 400,
        folder: arguments.count > 2 ? arguments[2] : "/dev/shm")
}

// MARK: - The parts

/// Prints its port, and answers every request with so many bytes, from the first one on, until it is ended.
func serve(bytes: Int) -> Never {
    signal(SIGPIPE, SIG_IGN)
    let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    withUnsafeMutablePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            _ = bind(listener, $0, length)
            _ = listen(listener, 16)
            _ = getsockname(listener, $0, &length)
        }
    }
    print(UInt16(bigEndian: address.sin_port))
    fflush(nil)
    let piece = [UInt8](repeating: 0x5a, count: 1 << 20)
    var request = [UInt8](repeating: 0, count: 1 << 16)
    while true {
        let connection = accept(listener, nil, nil)
        // One at a time is what the measurements ask for.
        while recv(connection, &request, request.count, 0) > 0 {
            let head = Array("HTTP/1.1 200 OK\r\nETag: \"v1\"\r\nContent-Length: \(bytes)\r\n\r\n".utf8)
            guard send(connection, head, head.count, 0) == head.count else { break }
            var left = bytes
            while left > 0 {
                let count = send(connection, piece, min(left, piece.count), 0)
                guard count > 0 else { break }
                left -= count
            }
            guard left == 0 else { break }
        }
        close(connection)
    }
}

/// Renames the file, as a cache does.
struct Renaming: PartCommitter {
    let target: String
    func commit(_ file: VerifiedFile) async throws {
        guard rename(file.path, target) == 0 else { throw SinkFailure.storage("rename") }
    }
    func makeRoom(for bytes: Int64?) async -> Bool { false }
}

func fetch(_ url: String, into directory: String) async {
    do {
        let engine = try TransferEngine()
        let request = try TransferRequest(url: url, kind: .original, limits: TransferLimits(bytes: 1 << 40))
        let sink = PartFile(directory: directory, name: "bench", committer: Renaming(target: "\(directory)/ours"))
        report(await engine.start(request, into: sink).outcome())
    } catch {
        print("failed: \(error)")
    }
    print("peak \(peakKiB())")
}

/// Takes a piece, then does nothing for a while: about 200 MB a second.
actor SlowSink: TransferSink {
    private var length: Int64 = 0
    func stored() -> PartialBody? { nil }
    func begin(_ part: PartialBody) {}
    func write(_ bytes: [UInt8]) async {
        length += Int64(bytes.count)
        try? await Task.sleep(for: .nanoseconds(bytes.count * 5))
    }
    func pause() {}
    func discard() {}
    func complete(_ checks: BodyChecks, head: ResponseHead) -> DeliveredBody { .committed(length: length) }
    func makeRoom(for bytes: Int64?) -> Bool { false }
}

func fetchSlowly(_ url: String) async {
    do {
        let engine = try TransferEngine()
        let request = try TransferRequest(url: url, kind: .original, limits: TransferLimits(bytes: 1 << 40))
        report(await engine.start(request, into: SlowSink()).outcome())
    } catch {
        print("failed: \(error)")
    }
    print("peak \(peakKiB())")
}

/// Lets a download run, tells of a costly path, and looks how long the connection took to be closed; a hundred times.
func pause(_ url: String, directory: String) async {
    do {
        var times: [Duration] = []
        for round in 0..<100 {
            let engine = try TransferEngine()
            let request = try TransferRequest(url: url, kind: .original, limits: TransferLimits(bytes: 1 << 40))
            let sink = PartFile(
                directory: directory, name: "pause-\(round)", committer: Renaming(target: "\(directory)/ours"))
            for await state in engine.start(request, into: sink).states {
                if case .running(let progress) = state, progress.received > 1 << 20 {
                    engine.update(path: TransferPath(isOnline: true, link: .wwan, isExpensive: true))
                }
                if case .waiting = state { break }
            }
            times.append(engine.statistics.slowestPause)
            await engine.shutDown()
            unlink("\(directory)/pause-\(round).part")
            unlink("\(directory)/pause-\(round).info")
        }
        times.sort()
        print("median \(times[50]), largest \(times[99])")
    } catch {
        print("failed: \(error)")
    }
}

func report(_ state: TransferState) {
    if case .finished(let result) = state { print("finished \(result.length)") } else { print("ended as \(state)") }
}

/// The most memory this process ever had resident.
func peakKiB() -> Int {
    var usage = rusage()
    getrusage(Int32(RUSAGE_SELF.rawValue), &usage)
    return Int(usage.ru_maxrss)
}

// MARK: - The comparison

struct Failure: Error { let what: String }

/// Runs a program and gives what it printed and how long it took.
func run(_ words: [String]) throws -> (output: String, seconds: Double) {
    let began = SystemTransferClock().now()
    let (pid, reader) = try spawn(words)
    var output: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 4096)
    while true {
        let count = read(reader, &buffer, buffer.count)
        guard count > 0 else { break }
        output += buffer[..<count]
    }
    close(reader)
    var status: Int32 = 0
    waitpid(pid, &status, 0)
    guard status == 0 else { throw Failure(what: "\(words[0]) ended with \(status)") }
    return (String(decoding: output, as: UTF8.self), (SystemTransferClock().now() - began) / .seconds(1))
}

func spawn(_ words: [String]) throws -> (pid: pid_t, reader: Int32) {
    var ends: [Int32] = [-1, -1]
    guard pipe(&ends) == 0 else { throw Failure(what: "pipe") }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    posix_spawn_file_actions_adddup2(&actions, ends[1], 1)
    posix_spawn_file_actions_addclose(&actions, ends[0])
    var pid = pid_t()
    var pointers: [UnsafeMutablePointer<CChar>?] = words.map { strdup($0) }
    pointers.append(nil)
    defer { for pointer in pointers { free(pointer) } }
    guard posix_spawnp(&pid, words[0], &actions, nil, pointers, environ) == 0 else { throw Failure(what: words[0]) }
    close(ends[1])
    return (pid, ends[0])
}

func compare(megabytes: Int, folder: String) throws {
    let bytes = megabytes * 1_000_000
    let me = "/proc/\(getpid())/exe"
    let (server, reader) = try spawn([me, "serve", "\(bytes)"])
    defer { kill(server, SIGTERM) }
    var line = [UInt8](repeating: 0, count: 16)
    let count = read(reader, &line, line.count)
    let port = String(decoding: line[..<max(0, count - 1)], as: UTF8.self)
    let url = "http://127.0.0.1:\(port)/body"
    var template = Array("\(folder)/transfer-bench-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw Failure(what: "mkdtemp") }
    let directory = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    defer { rmdir(directory) }

    var (curl, ours): ([Double], [Double]) = ([], [])
    var peak = ""
    for _ in 0..<7 {
        curl.append(try run(["curl", "-sS", "-o", "\(directory)/curl", url]).seconds)
        unlink("\(directory)/curl")
        let result = try run([me, "fetch", url, directory])
        guard result.output.hasPrefix("finished \(bytes)\n") else { throw Failure(what: result.output) }
        ours.append(result.seconds)
        unlink("\(directory)/ours")
        peak = result.output
    }
    let (theirs, mine) = (curl.sorted()[3], ours.sorted()[3])
    print("\(megabytes) MB to a file in \(folder), median of 7, process start included")
    print("  curl            \(Int(Double(bytes) / theirs / 1e6)) MB/s")
    print("  ResourceLoader  \(Int(Double(bytes) / mine / 1e6)) MB/s, \(Int(theirs / mine * 100)) % of curl")
    print("  peak memory     \(peak.split(separator: " ").last ?? "")KiB".filter { $0 != "\n" })
    let slow = try run([me, "slow", url])
    print(
        "slow consumer, \(Int(Double(bytes) / slow.seconds / 1e6)) MB/s: \(slow.output.split(separator: "\n").joined(separator: ", ")) KiB"
    )
    print(
        "told of a costly path until its connection is closed, 100 times: \(try run([me, "pause", url, directory]).output)",
        terminator: "")
}
