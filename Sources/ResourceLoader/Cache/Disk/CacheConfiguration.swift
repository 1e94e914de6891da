/// How much a commit is written through to the disk before it is visible. All of them survive `kill -9` at any moment:
/// what the page cache holds outlives the process. They differ in what a power cut may do.
public enum CacheDurability: Hashable, Sendable {
    /// Nothing is flushed. After a power cut an entry may hold zeros that only its digest gives away.
    case process
    /// The body is flushed (fdatasync) before it becomes visible. A power cut may lose the latest entries, and leaves
    /// no broken one.
    case body
    /// Folder and index are flushed as well: an entry whose commit has returned is there after a power cut.
    case full

    /// SQLite's word for it (its documentation of `PRAGMA synchronous` in WAL mode).
    var synchronous: String {
        switch self {
        case .process: "OFF"
        case .body: "NORMAL"
        case .full: "FULL"
        }
    }
}

/// The limits of a disk cache. Processes that share a folder should agree on them; where they don't, each applies its
/// own.
public struct CacheConfiguration: Hashable, Sendable {
    /// What the entries may occupy: body and key of each, rounded up to blocks of 4 KiB. Beyond it the least recently
    /// used ones go, except those somebody is reading.
    public var byteBudget: Int64 = 256 << 20

    /// Entries neither stored nor revalidated for this long are gone. `nil`: they may grow old.
    public var ageLimit: Duration? = .seconds(90 * 86_400)

    /// How long a body is fresh whose metadata name no lifetime.
    public var assumedLifetime: Duration = .seconds(3600)

    /// What is written through to the disk, and when.
    public var durability: CacheDurability = .body

    /// What the parts of unfinished downloads that nobody is working on may occupy. Beyond it the oldest go.
    public var partsByteBudget: Int64 = 512 << 20

    /// Parts nobody has worked on for this long are gone.
    public var partsAgeLimit: Duration = .seconds(7 * 86_400)

    /// How long to wait for another process that is writing to the index.
    public var patience: Duration = .seconds(10)

    /// The defaults.
    public init() {}
}
