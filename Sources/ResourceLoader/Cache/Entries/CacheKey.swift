/// What a cached resource is stored under: any bytes at all, of any number (none included), compared byte by byte.
///
/// File names are never made from it, so that it may hold slashes, dots, NUL, or secrets.
public struct CacheKey: Hashable, Sendable {
    /// The key itself.
    public let bytes: [UInt8]

    /// A key of arbitrary bytes, such as the fingerprint of a request.
    public init(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
    }

    /// A key of the UTF-8 bytes of a text, such as a stable id.
    public init(_ text: String) {
        bytes = Array(text.utf8)
    }
}

/// Which rung of a quality ladder a body is, by its name: `thumbnail`, `original`, ...
///
/// A name rather than a number, because it is written to disk: a ladder that gains a rung in the next version of an app
/// renumbers, and must not take yesterday's thumbnails for originals.
public struct CacheVariant: Hashable, Sendable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The rung's name. Any text, compared by its UTF-8 bytes.
    public let name: String

    /// The variant of that name.
    public init(_ name: String) {
        self.name = name
    }

    /// The variant of that name.
    public init(stringLiteral name: String) {
        self.name = name
    }

    /// The lower of the two rungs of the usual ladder.
    public static let thumbnail: CacheVariant = "thumbnail"

    /// The top of the usual ladder; also what a resource that has only one form is stored as.
    public static let original: CacheVariant = "original"

    /// Byte-wise: Swift's own comparison takes different bytes for equal where Unicode does, the index on disk does
    /// not.
    public static func == (one: CacheVariant, other: CacheVariant) -> Bool {
        one.name.utf8.elementsEqual(other.name.utf8)
    }

    /// Agrees with `==`.
    public func hash(into hasher: inout Hasher) {
        for byte in name.utf8 { hasher.combine(byte) }
    }

    /// The name.
    public var description: String { name }
}
