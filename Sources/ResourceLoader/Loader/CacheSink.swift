import DownloadPolicy
import Synchronization

/// Streams a body into a part of the disk cache, and publishes it there once it is whole and what was promised.
actor CacheSink: TransferSink {
    /// What the last attempt carried, for the estimate of throughput.
    struct Measurement: Hashable {
        var bytes: Int64 = 0
        var from: Duration = .zero
        var to: Duration = .zero
        var network: String?
    }

    private let disk: DiskCache
    private let resource: Resource
    private let variant: CacheVariant
    /// What the body is said to have in bytes, until its server tells.
    private let size: Int64?
    private let fingerprint: [UInt8]
    private let meter: BudgetMeter
    private let ladders: CacheLadders
    private let network: NetworkState
    private let now: @Sendable () -> Duration
    private let measured = Mutex(Measurement())

    private var part: ResumablePart?
    /// The path that the present attempt was sent over.
    private var carrier = PathFacts(.unknown)
    private var note = PartNote()
    /// How much the note on disk vouches for.
    private var noted: Int64 = 0

    /// How many bytes a power cut may cost.
    private static let noteInterval: Int64 = 8 << 20

    init(
        _ disk: DiskCache, _ resource: Resource, _ variant: CacheVariant, size: Int64?, identity: RequestIdentity,
        meter: BudgetMeter, ladders: CacheLadders, network: NetworkState, now: @escaping @Sendable () -> Duration
    ) {
        self.disk = disk
        self.resource = resource
        self.variant = variant
        self.size = size
        fingerprint = Array(identity.digest.utf8)
        self.meter = meter
        self.ladders = ladders
        self.network = network
        self.now = now
    }

    nonisolated var measurement: Measurement { measured.withLock { $0 } }

    func stored() throws(SinkFailure) -> PartialBody? {
        // The attempt is sent when this has returned, over this path. What it brings may be written much later.
        carrier = network.facts
        let part = try claimed()
        note = part.note
        noted = part.length
        try afford(note.total ?? size, in: part)
        guard part.length > 0, let validator = note.validator.flatMap(BodyValidator.init(noted:)) else { return nil }
        return PartialBody(offset: part.length, total: note.total, validator: validator)
    }

    func begin(_ body: PartialBody) throws(SinkFailure) {
        let part = try claimed()
        measured.withLock { $0 = Measurement(network: carrier.network) }
        note = PartNote(validator: body.validator?.note, total: body.total)
        try storing { () throws(CacheError) in
            try part.truncate(to: min(body.offset, part.length))
            try part.checkpoint(note)
        }
        noted = part.length
        // The answer may be larger than the guess.
        if let total = body.total { try afford(total, in: part) }
    }

    func write(_ bytes: [UInt8]) throws(SinkFailure) {
        meter.count(bytes.count, begunOn: carrier)
        let now = now()
        measured.withLock { measured in
            // The first piece opens the clock; its own bytes travelled before.
            if measured.from == .zero { measured.from = now } else { measured.bytes += Int64(bytes.count) }
            measured.to = now
        }
        let part = try claimed()
        try storing { () throws(CacheError) in
            try part.append(bytes)
            if part.length - noted >= Self.noteInterval {
                try part.checkpoint(note)
                noted = part.length
            }
        }
        // The path may have become a charged one since the request was sent, and a total that nobody told is not known even now.
        try afford(note.total, in: part)
    }

    /// Lets the attempt go on only if the budget covers what is still to come.
    private func afford(_ total: Int64?, in part: ResumablePart) throws(SinkFailure) {
        do throws(BudgetError) {
            try meter.cover(total.map { max(0, $0 - part.length) }, begunOn: carrier)
        } catch {
            throw .unaffordable(error.description)
        }
    }

    func pause() {
        // The transfer may wait for long, and what is set aside stands in the way of others. The next attempt sees to it anew.
        meter.settle()
        // A part that could not be kept costs bytes later, not correctness.
        if note.validator == nil { try? part?.abandon() } else { try? part?.release() }
        part = nil
    }

    func discard() {
        meter.settle()
        try? part?.abandon()
        part = nil
        note = PartNote()
    }

    func complete(_ checks: BodyChecks, head: ResponseHead) throws(SinkFailure) -> DeliveredBody {
        meter.settle()
        let part = try claimed()
        // "There is no such data" is an answer as well, and nothing to store. A picture of no bytes is a damaged one.
        if part.length == 0, head.status == 204 || checks.length == 0 && checks.expects == .anything {
            discard()
            return .committed(length: 0)
        }
        try verify(part, checks)
        if head.cacheControl?.forbidsStoring == true { ladders.keepForNow(variant, of: resource) }
        let entry = try storing { () throws(CacheError) in
            try disk.commit(
                part, as: resource.cacheKey, variant: variant, metadata: CacheMetadata(head),
                expecting: BodyExpectation(length: checks.length, digest: checks.digest.flatMap { BodyDigest($0) }))
        }
        self.part = nil
        return .committed(length: entry.size)
    }

    func makeRoom(for bytes: Int64?) -> Bool {
        disk.makeRoom(for: bytes ?? 1 << 20)
        return true
    }

    private func claimed() throws(SinkFailure) -> ResumablePart {
        if let part { return part }
        let claimed = try storing { () throws(CacheError) -> ResumablePart in
            do throws(CacheError) {
                return try disk.claimPart(for: fingerprint)
            } catch .partInUse {
                // Another process fetches the same; nobody can go on with this copy.
                return try disk.scratchPart()
            }
        }
        part = claimed
        return claimed
    }

    private func verify(_ part: ResumablePart, _ checks: BodyChecks) throws(SinkFailure) {
        // The digest is the commit's business, which reads the file for it anyway.
        var checks = checks
        checks.digest = nil
        var verifier = BodyVerifier(checks)
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 16, alignment: 16)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while !verifier.needsOnlyLength {
            let count = try storing { () throws(CacheError) in try part.read(into: buffer, at: offset) }
            guard count > 0 else { break }
            verifier.feed(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
        verifier.skip(part.length - offset)
        if let failure = verifier.failure() { throw failure }
    }

    private func storing<Result>(_ body: () throws(CacheError) -> Result) throws(SinkFailure) -> Result {
        do throws(CacheError) {
            return try body()
        } catch {
            switch error {
            case .corrupt: throw .unfit(.digestMismatch)
            case .incomplete: throw .unfit(.lengthMismatch)
            case .empty: throw .unfit(.emptyBody)
            case .tooLarge: throw .unfit(.tooManyBytes)
            case .storage(let failure):
                // Whatever became of the part, the next attempt claims it anew.
                part = nil
                throw .storage(error.description, isFull: failure.isFull)
            case .busy, .cleared, .partInUse, .partEnded:
                part = nil
                throw .storage(error.description)
            }
        }
    }
}

extension CacheMetadata {
    /// What an answer says of its body, or of the stored one where that still holds.
    init(_ head: ResponseHead) {
        self.init(
            contentType: head["content-type"], etag: head["etag"], lastModified: head["last-modified"],
            lifetime: head.cacheControl?.lifetime(age: head["age"]))
    }
}

extension ResponseHead {
    /// All its Cache-Control fields, which count as one (RFC 9110, 5.2).
    var cacheControl: CacheControl? {
        let values = headers.filter { $0.name.lowercased() == "cache-control" }.map(\.value)
        return values.isEmpty ? nil : CacheControl(values.joined(separator: ","))
    }
}

extension BodyValidator {
    /// As it is kept beside a part.
    fileprivate var note: String {
        switch self {
        case .etag(let tag): "etag \(tag)"
        case .lastModified(let date): "modified \(date)"
        }
    }

    fileprivate init?(noted text: String) {
        if text.hasPrefix("etag ") {
            self = .etag(String(text.dropFirst(5)))
        } else if text.hasPrefix("modified ") {
            self = .lastModified(String(text.dropFirst(9)))
        } else {
            return nil
        }
    }
}
