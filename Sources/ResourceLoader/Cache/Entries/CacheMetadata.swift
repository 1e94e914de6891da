/// What is remembered of a body besides its bytes.
public struct CacheMetadata: Hashable, Sendable {
    /// The Content-Type, as received.
    public var contentType: String?

    /// The ETag, as received, quotes and `W/` included, for If-None-Match.
    public var etag: String?

    /// The Last-Modified date, as received, for If-Modified-Since.
    public var lastModified: String?

    /// How long the body is fresh from the moment it is stored or revalidated. `nil`: the server did not say, and the
    /// cache's `assumedLifetime` counts. Zero or less: stale at once.
    public var lifetime: Duration?

    /// All of it may be left out.
    public init(
        contentType: String? = nil, etag: String? = nil, lastModified: String? = nil, lifetime: Duration? = nil
    ) {
        self.contentType = contentType
        self.etag = etag
        self.lastModified = lastModified
        self.lifetime = lifetime
    }

    /// Whether there is something to revalidate with.
    public var hasValidator: Bool { etag != nil || lastModified != nil }
}
