/// Keeps a small body in memory: answers to a POST, lists, anything that is read at once. A later attempt goes on where it stopped.
///
/// The request's limit on bytes is what bounds the memory.
public actor MemoryBody: TransferSink {
    private var bytes: [UInt8] = []
    private var part: PartialBody?

    /// Empty, for one request.
    public init() {}

    /// What the attempts so far have left in memory.
    public func stored() -> PartialBody? {
        part.map { PartialBody(offset: Int64(bytes.count), total: $0.total, validator: $0.validator) }
    }

    /// Drops what is replaced.
    public func begin(_ part: PartialBody) {
        bytes.removeLast(max(0, bytes.count - Int(part.offset)))
        self.part = part
    }

    /// Appends.
    public func write(_ bytes: [UInt8]) { self.bytes += bytes }

    /// Keeps the bytes for the next attempt.
    public func pause() {}

    /// Drops all bytes.
    public func discard() {
        bytes = []
        part = nil
    }

    /// Checks the bytes and gives them out. An empty body is a success here, unless a picture is due.
    public func complete(_ checks: BodyChecks, head: ResponseHead) throws(SinkFailure) -> DeliveredBody {
        var verifier = BodyVerifier(checks)
        bytes.withUnsafeBytes { verifier.feed($0) }
        if let failure = verifier.failure() { throw failure }
        return .bytes(bytes)
    }

    /// Memory has nothing to evict.
    public func makeRoom(for bytes: Int64?) -> Bool { false }
}
