import Synchronization

/// Keeps the bodies used last in memory, in front of a disk cache.
///
/// Each look-up still asks the index (some microseconds), so that it sees what other processes do, and freshness is the
/// index's: memory only saves opening and reading files. Should the index not answer, it serves what it has.
public final class MemoryCache: ResourceCache {
    private struct Slot: Hashable {
        let key: CacheKey
        let variant: CacheVariant
    }

    private struct Kept {
        var bodies: ByteBoundedLRU<Slot, CacheEntry>
        var statistics = CacheStatistics()
    }

    /// The cache behind this one.
    public let disk: DiskCache

    private let kept: Mutex<Kept>

    /// Keeps at most that many bytes of bodies. One that would take more than a quarter of them is not kept, so that a
    /// single large one does not push out all others.
    public init(over disk: DiskCache, byteBudget: Int) {
        self.disk = disk
        kept = Mutex(Kept(bodies: ByteBoundedLRU(budget: byteBudget)))
    }

    /// The body from memory, or else from disk and then kept in memory if it is not too large.
    public func body(of key: CacheKey, variant: CacheVariant) throws(CacheError) -> CachedBody? {
        let slot = Slot(key: key, variant: variant)
        let entry: CacheEntry?
        do throws(CacheError) {
            entry = try disk.entry(of: key, variant: variant)
        } catch {
            guard let kept = take(slot, ifIdentical: nil) else { throw error }
            return kept
        }
        guard let entry else {
            kept.withLock { kept in
                kept.bodies.remove(slot)
                kept.statistics.misses += 1
            }
            return nil
        }
        if let kept = take(slot, ifIdentical: entry) { return kept }
        kept.withLock { $0.statistics.misses += 1 }
        guard let onDisk = try disk.body(of: key, variant: variant) else { return nil }
        guard isKept(onDisk.entry.size) else {
            kept.withLock { $0.statistics.refusedCommits += 1 }
            return onDisk
        }
        let bytes: [UInt8]
        do throws(CacheError) {
            bytes = try onDisk.bytes()
        } catch {
            try disk.setAside(onDisk.entry, because: error.description)
            return nil
        }
        keep(onDisk.entry, bytes)
        let lease: FileDescriptor? = if case .file(let file) = onDisk.content { file } else { nil }
        return CachedBody(entry: onDisk.entry, content: .memory(bytes, lease: lease))
    }

    /// With the present entry, so that a revalidated body is not told to be stale; `nil` stands for "whatever it was".
    private func take(_ slot: Slot, ifIdentical entry: CacheEntry?) -> CachedBody? {
        let found = kept.withLock { kept -> (entry: CacheEntry, bytes: [UInt8])? in
            guard let (known, bytes) = kept.bodies.take(slot) else { return nil }
            guard entry == nil || entry?.id == known.id else { return nil }
            kept.statistics.hits += 1
            return (entry ?? known, bytes)
        }
        // What is shown from memory is in use on disk as well.
        return found.map { CachedBody(entry: $0.entry, content: .memory($0.bytes, lease: disk.lease(on: $0.entry))) }
    }

    private func isKept(_ size: Int64) -> Bool {
        kept.withLock { size <= Int64($0.bodies.budget / 4) }
    }

    private func keep(_ entry: CacheEntry, _ bytes: [UInt8]) {
        kept.withLock { kept in
            kept.statistics.commits += 1
            kept.statistics.evictions += kept.bodies.put(Slot(key: entry.key, variant: entry.variant), entry, bytes)
        }
    }

    /// Stores it on disk, and keeps it in memory as well if it is not too large.
    @discardableResult
    public func store(
        _ bytes: [UInt8], as key: CacheKey, variant: CacheVariant = .original,
        metadata: CacheMetadata = CacheMetadata(), expecting: BodyExpectation = BodyExpectation()
    ) throws(CacheError) -> CacheEntry {
        let entry = try disk.store(bytes, as: key, variant: variant, metadata: metadata, expecting: expecting)
        if isKept(entry.size) { keep(entry, bytes) }
        return entry
    }

    /// On disk. It comes to memory when it is first asked for.
    @discardableResult
    public func commit(
        _ part: ResumablePart, as key: CacheKey, variant: CacheVariant = .original,
        metadata: CacheMetadata = CacheMetadata(), expecting: BodyExpectation = BodyExpectation()
    ) throws(CacheError) -> CacheEntry {
        try disk.commit(part, as: key, variant: variant, metadata: metadata, expecting: expecting)
    }

    /// What the disk has of each of these rungs.
    public func holdings(of key: CacheKey, variants: [CacheVariant]) throws(CacheError) -> CacheHoldings {
        try disk.holdings(of: key, variants: variants)
    }

    /// What the disk has of these rungs: now, and after every change made through this object or the one behind it.
    public func changes(of key: CacheKey, variants: [CacheVariant]) -> CacheChanges {
        disk.changes(of: key, variants: variants)
    }

    /// Counts the entry as good from now on; the body in memory goes by it at once.
    @discardableResult
    public func revalidate(_ entry: CacheEntry, metadata: CacheMetadata = CacheMetadata()) throws(CacheError)
        -> CacheEntry?
    {
        try disk.revalidate(entry, metadata: metadata)
    }

    /// Forgets one variant, or all, here and on disk.
    public func remove(_ key: CacheKey, variant: CacheVariant? = nil) throws(CacheError) {
        // Memory first: should the disk refuse, nothing that was to go is served from here.
        kept.withLock { kept in
            kept.bodies.removeAll { $0.key == key && (variant == nil || $0.variant == variant) }
        }
        try disk.remove(key, variant: variant)
    }

    /// Forgets everything, here and on disk.
    public func removeAll() throws(CacheError) {
        kept.withLock { $0.bodies.removeAll() }
        try disk.removeAll()
    }

    /// Of memory alone; the disk has its own.
    public var statistics: CacheStatistics {
        kept.withLock { kept in
            var statistics = kept.statistics
            (statistics.bytes, statistics.entries) = (Int64(kept.bodies.total), kept.bodies.count)
            return statistics
        }
    }
}
