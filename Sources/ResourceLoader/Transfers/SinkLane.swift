import Synchronization

/// What a sink answers.
enum SinkReply: Sendable {
    case stored(PartialBody?)
    case failed(SinkFailure)
    case completed(Result<DeliveredBody, SinkFailure>)
    case madeRoom(Bool)
}

/// The way of one transfer's body from the engine's thread to its sink: operations in order, off that thread, with a count of the
/// bytes under way by which the engine knows when to hold the socket back.
final class SinkLane: Sendable {
    enum Operation: Sendable {
        case stored(attempt: Int)
        case begin(PartialBody, attempt: Int)
        case write([UInt8], attempt: Int)
        case pause
        case discard
        case complete(BodyChecks, ResponseHead, attempt: Int)
        case makeRoom(Int64?, attempt: Int)
    }

    private struct Backlog {
        var bytes = 0
        var wantsNotice = false
        /// Memory that the sink is done with. Fresh memory for every piece costs a page fault for each 4 KiB of the body.
        var spare: [[UInt8]] = []
    }

    /// More than this and the socket is held back, until less than half of it is left. Six transfers together stay below 64 MiB.
    static let highWater = 6 << 20
    private static let spares = 12

    private let operations: AsyncStream<Operation>.Continuation
    private let backlog = Mutex(Backlog())

    init(
        _ sink: any TransferSink, reply: @escaping @Sendable (SinkReply, Int) -> Void,
        drained: @escaping @Sendable () -> Void, ended: @escaping @Sendable () -> Void
    ) {
        // Unbounded here, bounded by the engine, which asks `mustPause` before it sends bytes.
        let (stream, operations) = AsyncStream.makeStream(of: Operation.self)
        self.operations = operations
        Task(executorPreference: DiskExecutor.shared) { [self] in
            await Self.serve(stream, sink, reply: reply) { self.wrote(consume $0, drained) }
            ended()
        }
    }

    func send(_ operation: Operation) {
        if case .write(let bytes, _) = operation { backlog.withLock { $0.bytes += bytes.count } }
        operations.yield(operation)
    }

    /// Whether the engine must hold the socket back. If so, `drained` is called once when it may go on.
    func mustPause() -> Bool {
        backlog.withLock { backlog in
            backlog.wantsNotice = backlog.bytes >= Self.highWater
            return backlog.wantsNotice
        }
    }

    /// An empty array, with the capacity of an earlier one if there is one to be had.
    func spareBuffer() -> [UInt8] { backlog.withLock { $0.spare.popLast() } ?? [] }

    /// After the operations in line, nothing more comes.
    func end() { operations.finish() }

    private func wrote(_ bytes: consuming [UInt8], _ drained: () -> Void) {
        let count = bytes.count
        // Where the sink kept the bytes, this leaves them alone and makes a new array.
        bytes.removeAll(keepingCapacity: true)
        let spare = bytes
        let isDue = backlog.withLock { backlog in
            backlog.bytes -= count
            if backlog.spare.count < Self.spares { backlog.spare.append(spare) }
            guard backlog.wantsNotice, backlog.bytes < Self.highWater / 2 else { return false }
            backlog.wantsNotice = false
            return true
        }
        if isDue { drained() }
    }

    private static func serve(
        _ operations: AsyncStream<Operation>, _ sink: any TransferSink, reply: @Sendable (SinkReply, Int) -> Void,
        wrote: (consuming [UInt8]) -> Void
    ) async {
        // The attempt whose body the sink refused: the rest of it is already on its way and leads nowhere.
        var broken: Int?
        var iterator = operations.makeAsyncIterator()
        while let operation = await iterator.next() {
            // Consumed, so that after a write the lane alone holds the bytes and can use their memory again.
            switch consume operation {
            case .stored(let attempt):
                do throws(SinkFailure) {
                    reply(.stored(try await sink.stored()), attempt)
                } catch {
                    reply(.failed(error), attempt)
                }
            case .begin(let part, let attempt):
                do throws(SinkFailure) {
                    try await sink.begin(part)
                } catch {
                    broken = attempt
                    reply(.failed(error), attempt)
                }
            case .write(let bytes, let attempt):
                if broken != attempt {
                    do throws(SinkFailure) {
                        try await sink.write(bytes)
                    } catch {
                        broken = attempt
                        reply(.failed(error), attempt)
                    }
                }
                wrote(consume bytes)
            case .complete(let checks, let head, let attempt):
                guard broken != attempt else { continue }
                do throws(SinkFailure) {
                    reply(.completed(.success(try await sink.complete(checks, head: head))), attempt)
                } catch {
                    reply(.completed(.failure(error)), attempt)
                }
            case .pause: await sink.pause()
            case .discard: await sink.discard()
            case .makeRoom(let bytes, let attempt): reply(.madeRoom(await sink.makeRoom(for: bytes)), attempt)
            }
        }
    }
}
