import Foundation
import Synchronization

@testable import ResourceLoader

/// A clock that stands still until a test moves it.
final class HandClock: TransferClock {
    private struct State {
        var now: Duration = .seconds(1000)
        var seconds: Int64 = 1_700_000_000
        var wakes: [@Sendable () -> Void] = []
    }

    private let state = Mutex(State())

    func now() -> Duration { state.withLock { $0.now } }
    func secondsSince1970() -> Int64 { state.withLock { $0.seconds } }
    func onMove(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wakes.append(wake) } }

    func advance(by duration: Duration) {
        let wakes = state.withLock { state in
            state.now += duration
            state.seconds += duration.components.seconds
            return state.wakes
        }
        for wake in wakes { wake() }
    }
}

/// Renames parts to numbered files and remembers what they held.
final class KeepingCommitter: PartCommitter {
    private struct State {
        var bodies: [[UInt8]] = []
        var failures: [SinkFailure] = []
        var roomAsked: [Int64?] = []
    }

    private let state = Mutex(State())
    let directory: String
    let makesRoom: Bool
    private let keepsFiles: Bool

    /// - Parameter failures: what the first commits throw.
    init(_ directory: String, failures: [SinkFailure] = [], makesRoom: Bool = true, keepsFiles: Bool = true) {
        self.keepsFiles = keepsFiles
        self.directory = directory
        self.makesRoom = makesRoom
        state.withLock { $0.failures = failures }
    }

    var bodies: [[UInt8]] { state.withLock { $0.bodies } }
    var roomAsked: [Int64?] { state.withLock { $0.roomAsked } }

    func commit(_ file: VerifiedFile) async throws {
        let body = [UInt8](try Data(contentsOf: URL(fileURLWithPath: file.path)))
        let (failure, number) = state.withLock { state in
            let failure = state.failures.isEmpty ? nil : state.failures.removeFirst()
            if failure == nil { state.bodies.append(body) }
            return (failure, state.bodies.count)
        }
        if let failure { throw failure }
        // What is not renamed is removed by the part itself.
        guard keepsFiles else { return }
        guard rename(file.path, "\(directory)/committed-\(number)") == 0 else { throw POSIXError(.EIO) }
    }

    func makeRoom(for bytes: Int64?) async -> Bool {
        state.withLock { $0.roomAsked.append(bytes) }
        return makesRoom
    }
}

/// An engine on a clock that is moved by hand, with chance at zero, and a directory for parts.
final class TransferRig: Sendable {
    let clock = HandClock()
    let engine: TransferEngine
    let directory: String
    let committer: KeepingCommitter

    init(
        path: TransferPath = .unrestricted, preferences: TransferPreferences = TransferPreferences(), slots: Int = 6,
        chance: Double = 0, commitFailures: [SinkFailure] = [], makesRoom: Bool = true, keepsFiles: Bool = true
    ) throws {
        directory = FileManager.default.temporaryDirectory.path + "/transfers-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        committer = KeepingCommitter(directory, failures: commitFailures, makesRoom: makesRoom, keepsFiles: keepsFiles)
        engine = try TransferEngine(
            TransferConfiguration(
                slots: slots, path: path, preferences: preferences, clock: clock, chance: { chance }))
    }

    deinit { try? FileManager.default.removeItem(atPath: directory) }

    func part(_ request: TransferRequest) -> PartFile {
        PartFile(directory: directory, name: request.identity.digest, committer: committer)
    }

    func start(_ request: TransferRequest) -> Transfer { engine.start(request, into: part(request)) }

    /// Runs a request to its end.
    func run(_ request: TransferRequest) async -> TransferState { await start(request).outcome() }

    /// Runs a request to its end, and lets time pass whenever it backs off.
    func runThroughBackoffs(_ request: TransferRequest) async -> (end: TransferState, backoffs: [FailureClass]) {
        var backoffs: [FailureClass] = []
        for await state in start(request).states {
            if state.isTerminal { return (state, backoffs) }
            if case .backingOff(let until, let failure) = state {
                backoffs.append(failure)
                clock.advance(by: until - clock.now())
            }
        }
        return (.cancelled, backoffs)
    }

    /// What is left in the directory: parts, notes and committed files.
    var files: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []).sorted() }
}

extension TransferState {
    var failure: FailureClass? {
        if case .failed(let failure) = self { failure.failure } else { nil }
    }

    var result: TransferResult? {
        if case .finished(let result) = self { result } else { nil }
    }

    var isRunning: Bool {
        if case .running = self { true } else { false }
    }

    var isWaiting: Bool {
        if case .waiting = self { true } else { false }
    }

    /// The state without its numbers.
    var name: String {
        switch self {
        case .queued: "queued"
        case .running: "running"
        case .waiting(let condition): "waiting(\(condition))"
        case .backingOff(_, let failure): "backingOff(\(failure))"
        case .finished: "finished"
        case .failed(let failure): "failed(\(failure.failure))"
        case .cancelled: "cancelled"
        }
    }
}

extension TransferRequest {
    static func get(
        _ url: String, kind: TransferKind = .original, priority: TransferPriority = .visible,
        expects: ExpectedBody = .anything, limits: TransferLimits = TransferLimits()
    ) throws -> TransferRequest {
        try TransferRequest(url: url, kind: kind, priority: priority, expects: expects, limits: limits)
    }
}

/// Bytes in which every place differs from its neighbours, the same for the same seed.
func pattern(_ count: Int, seed: UInt64 = 1) -> [UInt8] {
    var state = seed &* 0x9e37_79b9_7f4a_7c15 | 1
    return (0..<count).map { _ in
        state ^= state << 13
        state ^= state >> 7
        state ^= state << 17
        return UInt8(truncatingIfNeeded: state >> 32)
    }
}

/// Serves a body as a good server does, ranges and If-Range included.
func serve(_ body: [UInt8], etag: String = "\"v1\"", _ exchange: FaultServer.Exchange, cutAfter cut: Int? = nil) {
    var lines = ["ETag: \(etag)", "Accept-Ranges: bytes"]
    var status = "200 OK"
    var rest = body[...]
    if let start = exchange.request.rangeStart, exchange.request["If-Range"] == etag, start < body.count {
        status = "206 Partial Content"
        lines.append("Content-Range: bytes \(start)-\(body.count - 1)/\(body.count)")
        rest = body[start...]
    }
    let head = ["HTTP/1.1 \(status)", "Content-Length: \(rest.count)"] + lines
    exchange.send(head.joined(separator: "\r\n") + "\r\n\r\n")
    exchange.send(rest.prefix(cut ?? rest.count))
    if cut != nil { exchange.close() }
}
