/// What the cache has of one rung.
public enum CacheState: UInt8, Sendable, Hashable, Codable, CaseIterable {
    /// Nothing that could be shown.
    case absent
    /// A whole copy that has outlived its freshness: it is shown, and asked about again when that is allowed.
    case stale
    /// A whole copy that needs no question.
    case fresh
}

/// One rung of a ladder: what the cache has of it and how large it is said to be.
public struct Rung: Sendable, Hashable, Codable {
    /// What the cache has of it.
    public var cache: CacheState

    /// The size of a transfer of this rung in bytes, where a manifest, an earlier answer or a guess tells; `nil` when
    /// nobody knows. A negative number says nothing and counts as unknown.
    public var size: Int64?

    /// A rung; by default nothing is known of it and nothing is cached.
    public init(_ cache: CacheState = .absent, size: Int64? = nil) {
        self.cache = cache
        self.size = size
    }

    /// The size where it is known and makes sense.
    var knownSize: Int64? {
        guard let size, size >= 0 else { return nil }
        return size
    }
}

/// The renditions of one resource in ascending order of quality; there is at least one.
public struct Ladder: Sendable, Hashable {
    /// The rungs, the lowest first.
    public private(set) var rungs: [Rung]

    /// A ladder of any number of rungs, from the lowest to the highest.
    public init(_ lowest: Rung, _ higher: Rung...) {
        rungs = [lowest] + higher
    }

    /// The two-rung ladder.
    public init(thumbnail: Rung = Rung(), original: Rung = Rung()) {
        rungs = [thumbnail, original]
    }

    /// A ladder from a list.
    ///
    /// - Throws: ``LadderError`` if the list is empty or has more than 256 rungs, the most a ``Quality`` can name.
    public init(rungs: [Rung]) throws(LadderError) {
        guard !rungs.isEmpty else { throw .empty }
        guard rungs.count <= 256 else { throw .tooLong(rungs.count) }
        self.rungs = rungs
    }

    /// The highest rung: the original.
    public var top: Quality { Quality(rung: UInt8(truncatingIfNeeded: rungs.count - 1)) }

    /// The rung of a quality; a quality above the ladder reads and writes its top.
    public subscript(quality: Quality) -> Rung {
        get { rungs[min(Int(quality.rung), rungs.count - 1)] }
        set { rungs[min(Int(quality.rung), rungs.count - 1)] = newValue }
    }

    /// The highest rung of which the cache has a copy, fresh or stale.
    public var bestCached: Quality? {
        var index = rungs.count - 1
        while index >= 0 {
            if rungs[index].cache != .absent { return Quality(rung: UInt8(truncatingIfNeeded: index)) }
            index -= 1
        }
        return nil
    }

    /// Adds a rung on top; the caller keeps to 256.
    mutating func append(_ rung: Rung) {
        rungs.append(rung)
    }

    /// The words people use for a rung of this ladder: thumbnail, original, or its place between them.
    public func name(of quality: Quality) -> String {
        if quality >= top { return "original" }
        if quality == .lowest { return "thumbnail" }
        return "rendition \(quality.rung + 1) of \(rungs.count)"
    }
}

/// Why a list of rungs is no ladder.
public enum LadderError: Error, Sendable, Hashable, CustomStringConvertible {
    /// There is no rung.
    case empty
    /// There are more rungs than a ``Quality`` can name.
    case tooLong(Int)

    public var description: String {
        switch self {
        case .empty: "A ladder needs at least one rung: name the one rendition the resource has."
        case .tooLong(let count): "A ladder has at most 256 rungs, this one has \(count): leave some renditions out."
        }
    }
}

extension Ladder: Codable {
    public init(from decoder: any Decoder) throws {
        let rungs = try decoder.singleValueContainer().decode([Rung].self)
        do {
            try self.init(rungs: rungs)
        } catch {
            throw DecodingError.dataCorrupted(
                .init(codingPath: decoder.codingPath, debugDescription: error.description, underlyingError: error))
        }
    }

    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(rungs)
    }
}
