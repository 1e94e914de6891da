import Glibc
import Synchronization

/// What is known of an unfinished body besides the bytes, kept with the part so that the next claim can go on.
public struct PartNote: Hashable, Sendable {
    /// The strong validator of the representation the bytes belong to, for If-Range.
    public var validator: String?

    /// The length of the whole, once known.
    public var total: Int64?

    /// Nothing known yet.
    public init(validator: String? = nil, total: Int64? = nil) {
        self.validator = validator
        self.total = total
    }
}

/// A body on its way: a file that one download alone writes to, in this process or any other sharing the folder.
///
/// It ends by a commit, by `release` (kept for the next claim), by `abandon` (deleted), or with the last reference to
/// it (kept, as after a crash). The calls block on the disk; they may be made from any thread and take turns.
public final class ResumablePart: Sendable {
    private struct Progress {
        var length: Int64
        var durable: Int64
        var note: PartNote
        var ended = false
    }

    let cache: DiskCache
    let id: FileID
    let generation: String
    private let file: FileDescriptor
    private let isKept: Bool
    private let progress: Mutex<Progress>

    init(_ claimed: DiskStore.ClaimedPart, of cache: DiskCache, isKept: Bool) {
        self.cache = cache
        self.isKept = isKept
        id = claimed.id
        file = claimed.file
        generation = claimed.generation
        progress = Mutex(Progress(length: claimed.length, durable: claimed.length, note: claimed.note))
    }

    deinit {
        // A part nobody can claim again would only be an orphan.
        if !isKept, !progress.withLock({ $0.ended }) { cache.deleteFile(ofPart: id) }
    }

    /// How many bytes are there, which is where to resume.
    public var length: Int64 { progress.withLock { $0.length } }

    /// What is known of the whole.
    public var note: PartNote { progress.withLock { $0.note } }

    /// Adds bytes at the end. On a full disk the cache makes room once, by evicting, before it throws `storage`; what
    /// was written until then stays, and `length` tells how much that is. Beyond the cache's byte budget it is `tooLarge`,
    /// and the part is gone.
    public func append(_ bytes: UnsafeRawBufferPointer) throws(CacheError) {
        try changing { (progress) throws(CacheError) in
            try checkFit(progress.length + Int64(bytes.count), &progress)
            var rest = bytes
            var madeRoom = false
            while true {
                let put = file.write(rest, at: progress.length)
                let code = errno
                progress.length += Int64(put)
                if put == rest.count { return }
                rest = UnsafeRawBufferPointer(rebasing: rest[put...])
                let failure = StorageFailure("write", CacheDirectory.part(id), code: code)
                guard failure.isFull, !madeRoom else { throw .storage(failure) }
                madeRoom = true
                let outstanding = progress.note.total.map { $0 - progress.length } ?? 0
                cache.makeRoom(for: max(Int64(rest.count), outstanding))
            }
        }
    }

    /// Adds bytes at the end.
    public func append(_ bytes: [UInt8]) throws(CacheError) {
        try bytes.withUnsafeBufferPointer { (buffer) throws(CacheError) in try append(UnsafeRawBufferPointer(buffer)) }
    }

    /// Throws away what lies beyond that many bytes, to go on from there: less than `length` for a range that starts
    /// earlier, zero for a body that is sent anew. With zero the note is emptied as well, so that the next bytes are
    /// never taken for those of the body before.
    public func truncate(to length: Int64) throws(CacheError) {
        try changing { (progress) throws(CacheError) in
            precondition((0...progress.length).contains(length), "truncation does not make a part longer")
            guard ftruncate(file.raw, off_t(length)) == 0 else {
                throw .storage(StorageFailure("truncate", CacheDirectory.part(id)))
            }
            progress.length = length
            progress.durable = min(progress.durable, length)
            if length == 0, progress.note != PartNote() {
                progress.note = PartNote()
                _ = try save(&progress)
            }
        }
    }

    /// Fills the buffer with what is there from that offset on; the number of bytes it got. For checks of what was
    /// received.
    public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(CacheError) -> Int {
        precondition(offset >= 0, "a part has no bytes before its start")
        return try changing { (_) throws(CacheError) in
            let got = file.read(into: buffer, at: offset)
            if got < 0 { throw .storage(StorageFailure("read", CacheDirectory.part(id))) }
            return got
        }
    }

    /// Remembers validator and total, and how much is there; flushes the bytes first unless the cache's durability is
    /// `process`. Call it when the answer's headers are known, and now and then in a long download: after a power cut,
    /// what was appended since the last call is fetched again (after a crash nothing is). With a total beyond the cache's byte
    /// budget it is `tooLarge`, and the part is gone.
    public func checkpoint(_ note: PartNote) throws(CacheError) {
        try changing { (progress) throws(CacheError) in
            try checkFit(note.total ?? 0, &progress)
            progress.note = note
            _ = try save(&progress)
        }
    }

    /// Ends it, keeping the bytes for the next claim of the same fingerprint.
    public func release() throws(CacheError) {
        try changing { (progress) throws(CacheError) in
            if try !save(&progress) { cache.deleteFile(ofPart: id) }
            end(&progress)
        }
        try cache.trimParts()
    }

    /// Ends it and deletes the bytes.
    public func abandon() throws(CacheError) {
        try changing { (progress) throws(CacheError) in
            try cache.deletePart(id)
            end(&progress)
        }
    }

    /// Ends a part that could never be committed, before more of it comes.
    private func checkFit(_ size: Int64, _ progress: inout Progress) throws(CacheError) {
        let budget = cache.configuration.byteBudget
        guard size > budget else { return }
        cache.refusePart(id)
        end(&progress)
        throw .tooLarge(size: size, budget: budget)
    }

    /// Whether a next claim can find it.
    private func save(_ progress: inout Progress) throws(CacheError) -> Bool {
        guard isKept else { return false }
        try flush(with: fdatasync)
        progress.durable = progress.length
        return try cache.describePart(id, progress.note, durable: progress.durable)
    }

    private func flush(with sync: (Int32) -> Int32) throws(CacheError) {
        guard cache.configuration.durability != .process else { return }
        guard retryingInterruptions({ sync(file.raw) }) == 0 else {
            throw .storage(StorageFailure("sync", CacheDirectory.part(id)))
        }
    }

    private func end(_ progress: inout Progress) {
        progress.ended = true
        // Whoever still holds a reference to this object must not keep others out.
        unlock()
    }

    func unlock() { flock(file.raw, LOCK_UN) }

    private func changing<Result: Sendable>(
        _ body: (inout Progress) throws(CacheError) -> Result
    ) throws(CacheError) -> Result {
        try progress.withLock { (progress) throws(CacheError) -> Result in
            if progress.ended { throw .partEnded }
            return try body(&progress)
        }
    }

    // MARK: Commit

    /// Checks, flushes and publishes it. A part that can be resumed survives a refusal, any other does not.
    func commit(
        expecting: BodyExpectation, publish: (Int64) throws(CacheError) -> CacheEntry
    ) throws(CacheError) -> CacheEntry {
        try changing { (progress) throws(CacheError) in
            do throws(CacheError) {
                try check(progress.length, expecting)
                try flush(with: cache.configuration.durability == .full ? fsync : fdatasync)
                let entry = try publish(progress.length)
                end(&progress)
                return entry
            } catch {
                switch error {
                case .corrupt, .empty, .tooLarge, .cleared:
                    try? cache.deletePart(id)
                    end(&progress)
                case .storage, .busy, .incomplete, .partInUse, .partEnded: break
                }
                throw error
            }
        }
    }

    private func check(_ length: Int64, _ expecting: BodyExpectation) throws(CacheError) {
        // The file is what is published, so the file is what is measured.
        guard let status = file.status, Int64(status.st_size) == length else {
            throw .corrupt("the part's file was changed by somebody else")
        }
        if let expected = expecting.length {
            if length < expected { throw .incomplete(expected: expected, got: length) }
            if length > expected { throw .corrupt("\(length) bytes instead of \(expected)") }
        }
        if length == 0 { throw .empty }
        let budget = cache.configuration.byteBudget
        if length > budget { throw .tooLarge(size: length, budget: budget) }
        if let expected = expecting.digest {
            let found = try digest(length)
            if found != expected { throw .corrupt("SHA-256 is \(found), not \(expected)") }
        }
    }

    private func digest(_ length: Int64) throws(CacheError) -> BodyDigest {
        var hash = SHA256()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 256 << 10, alignment: 16)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < length {
            let got = file.read(into: buffer, at: offset)
            guard got > 0 else { throw .storage(StorageFailure("read", CacheDirectory.part(id))) }
            hash.update(UnsafeRawBufferPointer(rebasing: buffer[..<got]))
            offset += Int64(got)
        }
        return BodyDigest(finishing: hash)
    }
}
