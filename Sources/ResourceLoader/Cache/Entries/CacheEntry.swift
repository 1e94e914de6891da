/// One stored body: what it is, not the bytes. A value that stays as it was, whatever becomes of the entry.
public struct CacheEntry: Hashable, Sendable {
    /// Names this very body: a replacement under the same key and variant has another, and none is used twice.
    public struct ID: Hashable, Sendable {
        let file: FileID
    }

    /// Which body this is.
    public let id: ID

    /// What it is stored under.
    public let key: CacheKey

    /// Which rung it is.
    public let variant: CacheVariant

    /// The body's length in bytes; never zero.
    public let size: Int64

    /// The SHA-256 it was checked against when it was committed; `nil` if none was given.
    public let digest: BodyDigest?

    /// What the server said about it; after a revalidation, what it said last.
    public let metadata: CacheMetadata

    /// When it was stored or last revalidated.
    public let validated: WallTime

    /// Until when it is fresh.
    public let freshUntil: WallTime

    /// Fresh or stale at that moment. Stale too while the clock stands before `validated`: it was set back, and the age
    /// is unknown.
    public func freshness(at now: WallTime) -> CacheFreshness {
        now >= validated && now < freshUntil ? .fresh : .stale
    }
}

/// What a cache has of one variant, in the words of the download policy.
public enum CacheFreshness: Hashable, Sendable {
    /// Nothing that could be shown.
    case absent
    /// There, but to be revalidated when that is allowed.
    case stale
    /// There, and not to be fetched again.
    case fresh
}

/// What a cache has of each rung of one resource, at one moment.
public struct CacheHoldings: Hashable, Sendable {
    /// One rung: its variant, and what there is of it.
    public struct Rung: Hashable, Sendable {
        /// Which rung.
        public let variant: CacheVariant
        /// Absent, stale or fresh, at the moment of asking.
        public let freshness: CacheFreshness
        /// The entry, unless absent.
        public let entry: CacheEntry?
    }

    /// The resource asked about.
    public let key: CacheKey

    /// The rungs asked about, in the order asked.
    public let rungs: [Rung]

    /// What there is of a variant; absent if it was not asked about.
    public subscript(variant: CacheVariant) -> CacheFreshness {
        rungs.first { $0.variant == variant }?.freshness ?? .absent
    }

    /// The next moment at which a fresh rung turns stale by itself, which is not announced as a change; `nil` if none
    /// will.
    public func nextExpiry(after now: WallTime) -> WallTime? {
        rungs.compactMap { $0.freshness == .fresh ? $0.entry?.freshUntil : nil }.filter { $0 > now }.min()
    }
}
