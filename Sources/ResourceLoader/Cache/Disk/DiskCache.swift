import Synchronization

/// Bodies on disk, each verbatim in a file of its own, with an index in SQLite.
///
/// Several objects and several processes may open one folder. Killed at any moment, it leaves every visible entry
/// whole. A damaged index or body is moved to the folder's `aside` and reported in `incidents`; the cache goes on
/// without it. It must lie on a local file system (SQLite's write-ahead log needs shared memory).
public final class DiskCache: ResourceCache {
    /// The limits it was opened with.
    public let configuration: CacheConfiguration

    private let state: Mutex<DiskStore>
    private let hub = ChangeHub<CacheKey>()

    /// Opens the folder, making it if need be, and sweeps what killed processes left there: some 40 ms for 30,000
    /// entries. Throws `storage` where the folder cannot be used. `now` is the wall clock, for tests.
    public init(
        directory: String, configuration: CacheConfiguration = CacheConfiguration(),
        now: @escaping @Sendable () -> WallTime = WallTime.now
    ) throws(CacheError) {
        self.configuration = configuration
        state = Mutex(try DiskStore(path: directory, configuration: configuration, now: now))
    }

    deinit {
        hub.finish()
        // Without them the order of eviction is a little less exact.
        _ = try? state.withLock { (store) throws(IndexFailure) in try store.flushUses() }
    }

    private func perform<Result: Sendable>(
        _ body: @Sendable (inout DiskStore) throws(IndexFailure) -> Result
    ) throws(CacheError) -> Result {
        defer {
            let changes = state.withLock { store in
                let changes = store.changes
                store.changes = DiskStore.Changes()
                return changes
            }
            if changes.everything { hub.tickAll() } else { hub.tick(changes.keys) }
        }
        return try state.withLock { (store) throws(CacheError) in try store.attempt(body) }
    }

    // MARK: Asking

    /// What there is of each of these rungs, at this moment: one look into the index, and one at each file. Not counted
    /// as use.
    public func holdings(of key: CacheKey, variants: [CacheVariant]) throws(CacheError) -> CacheHoldings {
        try perform { (store) throws(IndexFailure) in try store.holdings(of: key, variants) }
    }

    /// The body, open for reading and leased for as long as the value lives; `nil` if there is none. It counts as use.
    public func body(of key: CacheKey, variant: CacheVariant) throws(CacheError) -> CachedBody? {
        try perform { (store) throws(IndexFailure) in try store.body(of: key, variant) }
    }

    /// The same without a lease, for those who would rather have it evicted than stand in the way of others.
    func unleasedBody(of key: CacheKey, variant: CacheVariant) throws(CacheError) -> CachedBody? {
        try perform { (store) throws(IndexFailure) in try store.body(of: key, variant, isLeased: false) }
    }

    /// What is in the index under this key and variant, without opening the body. It counts as use.
    public func entry(of key: CacheKey, variant: CacheVariant) throws(CacheError) -> CacheEntry? {
        try perform { (store) throws(IndexFailure) in try store.entry(of: key, variant) }
    }

    /// What there is of these rungs: now, and after every change made through this object.
    public func changes(of key: CacheKey, variants: [CacheVariant]) -> CacheChanges {
        CacheChanges(hub: hub, key: key) { [weak self] () throws(CacheError) in
            try self?.holdings(of: key, variants: variants)
        }
    }

    /// Counts since opening. `bytes` and `entries` are those of the folder, zero if it cannot be asked.
    public var statistics: CacheStatistics {
        let levels = try? perform { (store) throws(IndexFailure) in try store.levels() }
        var statistics = state.withLock { $0.statistics }
        (statistics.bytes, statistics.entries) = levels ?? (0, 0)
        return statistics
    }

    /// The latest things that were wrong on disk, the newest last; at most 32.
    public var incidents: [CacheIncident] { state.withLock { $0.incidents } }

    /// Everything in the index, in no order.
    package func allEntries() throws(CacheError) -> [CacheEntry] {
        try perform { (store) throws(IndexFailure) in try store.index.allEntries() }
    }

    /// Keeps eviction off an entry for as long as the descriptor lives; `nil` if its file is gone or cannot be opened.
    func lease(on entry: CacheEntry) -> FileDescriptor? {
        state.withLock { $0.lease(on: entry.id.file) }
    }

    // MARK: Changing

    /// Makes a finished part visible under this key and variant, in place of what was there.
    ///
    /// The order: checks (length, digest, not empty, fits the budget), flush by durability, rename, index. Until the
    /// index has it nothing is visible. Refused with `cleared` if the cache was cleared after the part was claimed.
    /// After `incomplete`, `storage` and `busy` the part is still there and can be resumed or committed again; after
    /// the other errors it is gone.
    @discardableResult
    public func commit(
        _ part: ResumablePart, as key: CacheKey, variant: CacheVariant = .original,
        metadata: CacheMetadata = CacheMetadata(), expecting: BodyExpectation = BodyExpectation()
    ) throws(CacheError) -> CacheEntry {
        precondition(part.cache === self, "a part is committed to the cache it was claimed from")
        do throws(CacheError) {
            return try part.commit(expecting: expecting) { (size) throws(CacheError) in
                let description = DiskStore.EntryDescription(
                    key: key, variant: variant, size: size, digest: expecting.digest, metadata: metadata)
                return try perform { (store) throws(IndexFailure) in
                    let entry = try store.publish(part.id, begunIn: part.generation, as: description)
                    // Before anybody can ask for the body: a reader could not lease it while the part's lock is on it.
                    part.unlock()
                    return entry
                }
            }
        } catch {
            state.withLock { $0.statistics.refusedCommits += 1 }
            throw error
        }
    }

    /// Stores bytes that are all here already, with the checks and the order of `commit`.
    @discardableResult
    public func store(
        _ bytes: [UInt8], as key: CacheKey, variant: CacheVariant = .original,
        metadata: CacheMetadata = CacheMetadata(), expecting: BodyExpectation = BodyExpectation()
    ) throws(CacheError) -> CacheEntry {
        let part = try scratchPart()
        try part.append(bytes)
        return try commit(part, as: key, variant: variant, metadata: metadata, expecting: expecting)
    }

    /// Counts the entry as good from now on (304). Metadata left out are kept. `nil` if that very body is no longer
    /// there.
    @discardableResult
    public func revalidate(_ entry: CacheEntry, metadata: CacheMetadata = CacheMetadata()) throws(CacheError)
        -> CacheEntry?
    {
        try perform { (store) throws(IndexFailure) in try store.revalidate(entry, metadata) }
    }

    /// Forgets one variant, or all where `variant` is `nil`. Open bodies stay readable.
    public func remove(_ key: CacheKey, variant: CacheVariant? = nil) throws(CacheError) {
        try perform { (store) throws(IndexFailure) in try store.remove(key, variant) }
    }

    /// Forgets everything, parts included, and refuses what began to be downloaded before. Open bodies stay readable.
    public func removeAll() throws(CacheError) {
        try perform { (store) throws(IndexFailure) in try store.removeAll() }
    }

    /// Moves a body aside that turned out to be unusable (it could not be read, its digest is wrong, it does not
    /// decode), and forgets its entry. Nothing happens if that very body is no longer there.
    public func setAside(_ entry: CacheEntry, because reason: String) throws(CacheError) {
        try perform { (store) throws(IndexFailure) in try store.setAside(entry, because: reason) }
    }

    // MARK: Parts

    /// The part kept for a download's fingerprint (method, URL, body, varying headers; any bytes), with what it holds
    /// already, or a new empty one. It is the caller's alone until it ends; `partInUse` while somebody else has it.
    public func claimPart(for fingerprint: [UInt8]) throws(CacheError) -> ResumablePart {
        let claimed = try perform { (store) throws(IndexFailure) in try store.claimPart(for: fingerprint) }
        return ResumablePart(claimed, of: self, isKept: true)
    }

    /// A new part that nobody can resume: for answers that have no strong validator. It is deleted unless it is
    /// committed.
    public func scratchPart() throws(CacheError) -> ResumablePart {
        let claimed = try perform { (store) throws(IndexFailure) in try store.scratchPart() }
        return ResumablePart(claimed, of: self, isKept: false)
    }

    func trimParts() throws(CacheError) {
        try perform { (store) throws(IndexFailure) in try store.trimParts() }
    }

    func describePart(_ id: FileID, _ note: PartNote, durable: Int64) throws(CacheError) -> Bool {
        try perform { (store) throws(IndexFailure) in try store.describePart(id, note, durable: durable) }
    }

    func deletePart(_ id: FileID) throws(CacheError) {
        try perform { (store) throws(IndexFailure) in try store.deletePart(id) }
    }

    /// Forgets a part that will not be committed.
    func refusePart(_ id: FileID) {
        try? deletePart(id)
        state.withLock { $0.statistics.refusedCommits += 1 }
    }

    func deleteFile(ofPart id: FileID) {
        state.withLock { store in _ = store.directory.delete(CacheDirectory.part(id)) }
    }

    /// Frees that many bytes on a full disk, if it can; whoever needs them tries again.
    func makeRoom(for bytes: Int64) {
        try? perform { (store) throws(IndexFailure) in store.makeRoom(for: bytes) }
    }
}
