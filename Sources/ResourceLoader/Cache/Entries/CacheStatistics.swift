/// What a cache has done since it was opened (counts), and what it holds now (levels).
public struct CacheStatistics: Hashable, Sendable {
    /// Bodies asked for and found.
    public var hits = 0
    /// Bodies asked for and not found.
    public var misses = 0
    /// Bodies committed.
    public var commits = 0
    /// Commits refused: incomplete, corrupt, empty, too large, or begun before a clear. For memory: bodies too large to
    /// keep there.
    public var refusedCommits = 0
    /// Entries thrown out for the byte budget or for a full disk.
    public var evictions = 0
    /// Entries thrown out for the age limit.
    public var expirations = 0
    /// Files found without an entry, left by a process that was killed, and deleted.
    public var sweptOrphans = 0
    /// Entries found without their file, and forgotten.
    public var lostBodies = 0
    /// Damaged indexes and unreadable bodies that were moved to the folder `aside`.
    public var setAside = 0
    /// Abandoned parts thrown out for their byte budget or age limit.
    public var droppedParts = 0
    /// Bytes the entries occupy now: for disk, whole blocks of 4 KiB for body and key; for memory, the bodies' bytes.
    public var bytes: Int64 = 0
    /// Entries now.
    public var entries = 0

    /// All zero.
    public init() {}
}

/// Something that was wrong on disk and was dealt with, for the log.
public struct CacheIncident: Hashable, Sendable, CustomStringConvertible {
    /// What was wrong.
    public enum Kind: Hashable, Sendable {
        /// SQLite could not make sense of the index; a new, empty one was begun.
        case damagedIndex
        /// A body's file could not be opened, or has another length than was committed.
        case unreadableBody
    }

    /// What was wrong.
    public let kind: Kind

    /// How it showed.
    public let detail: String

    /// Where the file was moved, relative to the cache's directory; `nil` if it could not be moved and was deleted.
    public let movedTo: String?

    /// In one line.
    public var description: String {
        let what = kind == .damagedIndex ? "damaged index" : "unreadable body"
        return "\(what): \(detail); \(movedTo.map { "moved to \($0)" } ?? "deleted")"
    }
}
