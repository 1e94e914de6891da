/// What the loader asks of a cache, be it the disk's or memory in front of it.
///
/// The calls block on the disk, some of them on its flushing: not for the main actor. They may be made from any thread.
public protocol ResourceCache: Sendable {
    /// What there is of each of these rungs, at this moment. Not counted as use.
    func holdings(of key: CacheKey, variants: [CacheVariant]) throws(CacheError) -> CacheHoldings

    /// The body, open for reading, or `nil`. Stale ones too: being shown needs no freshness.
    func body(of key: CacheKey, variant: CacheVariant) throws(CacheError) -> CachedBody?

    /// Makes a finished part visible under this key and variant, in place of what was there. See `DiskCache`.
    func commit(
        _ part: ResumablePart, as key: CacheKey, variant: CacheVariant, metadata: CacheMetadata,
        expecting: BodyExpectation
    ) throws(CacheError) -> CacheEntry

    /// Stores bytes that are all here already, like `commit`.
    func store(
        _ bytes: [UInt8], as key: CacheKey, variant: CacheVariant, metadata: CacheMetadata, expecting: BodyExpectation
    ) throws(CacheError) -> CacheEntry

    /// Counts the entry as good from now on, after the server has said it is unchanged (304). Metadata left out are
    /// kept. `nil` if that very body is no longer there, and then nothing happens.
    func revalidate(_ entry: CacheEntry, metadata: CacheMetadata) throws(CacheError) -> CacheEntry?

    /// Forgets one variant, or all where `variant` is `nil`. Open bodies stay readable.
    func remove(_ key: CacheKey, variant: CacheVariant?) throws(CacheError)

    /// Forgets everything, parts of downloads included; a download that has begun before is refused when it is to be
    /// committed.
    func removeAll() throws(CacheError)

    /// What there is of these rungs: now, and after every change made through this object. See `CacheChanges`.
    func changes(of key: CacheKey, variants: [CacheVariant]) -> CacheChanges

    /// Counts since opening, and what is held now.
    var statistics: CacheStatistics { get }
}

extension ResourceCache {
    /// The first of these variants that is there; its entry tells which. Name the best first.
    public func best(of key: CacheKey, among variants: [CacheVariant]) throws(CacheError) -> CachedBody? {
        let holdings = try holdings(of: key, variants: variants)
        for rung in holdings.rungs where rung.freshness != .absent {
            if let body = try body(of: key, variant: rung.variant) { return body }
        }
        return nil
    }
}

/// What is known of a body beforehand, to be checked when it is committed.
public struct BodyExpectation: Hashable, Sendable {
    /// The announced length in bytes.
    public var length: Int64?

    /// The announced SHA-256. It is kept with the entry.
    public var digest: BodyDigest?

    /// Either may be left out.
    public init(length: Int64? = nil, digest: BodyDigest? = nil) {
        self.length = length
        self.digest = digest
    }
}
