import Glibc

/// The one place that changes a cache's folder. `DiskCache` lets one thread at a time in; other processes are kept in
/// order by the index's transactions and by locks on files:
///
/// - a part is locked exclusively from its claim until its row is in the index, so that nobody sweeps a body on its
///   way;
/// - a body is locked shared by its readers (the lease), and eviction passes it over;
/// - rows go before files when something is deleted, files come before rows when something is added. Whatever moment
///   the process dies at, a file without a row remains, which the next opening sweeps.
struct DiskStore {
    let configuration: CacheConfiguration
    let now: @Sendable () -> WallTime
    private(set) var directory: CacheDirectory
    private(set) var index: CacheIndex
    private var indexName: String
    private var indexInode: ino_t

    var statistics = CacheStatistics()
    private(set) var incidents: [CacheIncident] = []

    /// Accesses not yet written to the index: one write for many reads.
    var uses: [FileID] = []

    /// What subscribers are to be told, once the lock is released.
    var changes = Changes()

    struct Changes {
        var keys: Set<CacheKey> = []
        var everything = false
    }

    init(
        path: String, configuration: CacheConfiguration, now: @escaping @Sendable () -> WallTime
    ) throws(CacheError) {
        self.configuration = configuration
        self.now = now
        do throws(IndexFailure) {
            directory = try CacheDirectory(path: path)
            let opened = try Self.openIndex(in: directory, configuration)
            (index, indexName, indexInode) = (opened.index, opened.name, opened.inode)
            note(opened.incidents)
        } catch {
            throw Self.error(for: error)
        }
        try attempt { (store) throws(IndexFailure) in try store.sweep() }
        try attempt { (store) throws(IndexFailure) in
            let gone = try store.index.transaction { () throws(IndexFailure) in try store.trim(keeping: nil) }
            store.finish(gone)
            try store.trimParts()
        }
    }

    // MARK: Trying, and what to do when it fails

    /// Runs something against the index. A damaged index is set aside and a new one begun, a full disk gets one
    /// eviction; then it is tried once more, so it must do nothing outside transactions that cannot be done twice.
    mutating func attempt<Result>(
        _ body: (inout DiskStore) throws(IndexFailure) -> Result
    ) throws(CacheError) -> Result {
        var madeRoom = false
        var replaced = false
        var reopened = false
        while true {
            do throws(IndexFailure) {
                if directory.status(indexName)?.st_ino != indexInode { try reopen() }
                return try body(&self)
            } catch {
                switch error {
                case .database(let failure) where failure.kind == .damaged && !replaced:
                    replaced = true
                    do throws(IndexFailure) {
                        try replaceIndex(because: failure)
                    } catch {
                        throw Self.error(for: error)
                    }
                case .database(let failure) where failure.kind == .moved && !reopened:
                    // Replaced by another process since the look at its name.
                    reopened = true
                case _ where error.isFullDisk && !madeRoom:
                    madeRoom = true
                    makeRoom(for: 0)
                default: throw Self.error(for: error)
                }
            }
        }
    }

    /// What saying that something is gone takes, with a margin.
    static let roomForIndex: Int64 = 128 << 10

    private static func error(for failure: IndexFailure) -> CacheError {
        switch failure {
        case .cache(let error): error
        case .database(let failure): failure.error
        }
    }

    // MARK: The index's file

    private struct OpenedIndex {
        let index: CacheIndex
        let name: String
        let inode: ino_t
        let incidents: [CacheIncident]
    }

    /// An index never reuses the name of an earlier one: SQLite deletes its -wal by name when the last connection
    /// closes, and a process that still has a replaced index open must not hit the new one's.
    private static func openIndex(
        in directory: CacheDirectory, _ configuration: CacheConfiguration,
        replacing damaged: (name: String, inode: ino_t, failure: DatabaseFailure)? = nil
    ) throws(IndexFailure) -> OpenedIndex {
        guard let lock = directory.open("lock", O_RDWR | O_CREAT), lock.lockExclusively() else {
            throw .cache(.storage(StorageFailure("lock", "lock")))
        }
        _ = try directory.generation()
        var incidents: [CacheIncident] = []
        // Another process may have replaced it while this one waited.
        if let damaged, directory.status(damaged.name)?.st_ino == damaged.inode {
            incidents.append(setAsideIndex(damaged.name, in: directory, because: damaged.failure))
        }
        while true {
            let present = directory.list(".").filter { $0.hasPrefix("index-") && $0.hasSuffix(".sqlite") }.min()
            let name = present ?? "index-\(FileID.random().name).sqlite"
            // SQLite would make it readable to others, and there are keys in it. Nobody else knows the name yet.
            if present == nil, directory.open(name, O_RDWR | O_CREAT | O_EXCL) == nil {
                throw .cache(.storage(StorageFailure("create", name)))
            }
            do throws(IndexFailure) {
                let index = try CacheIndex(
                    path: "\(directory.path)/\(name)", durability: configuration.durability,
                    patience: configuration.patience)
                guard let status = directory.status(name) else {
                    throw .cache(.storage(StorageFailure("find", name)))
                }
                return OpenedIndex(index: index, name: name, inode: status.st_ino, incidents: incidents)
            } catch {
                guard present != nil, case .database(let failure) = error,
                    failure.kind == .damaged || !directory.isUsableFile(name)
                else { throw error }
                incidents.append(setAsideIndex(name, in: directory, because: failure))
                // Else it would be found again, for ever.
                if directory.status(name) != nil { throw error }
            }
        }
    }

    private static func setAsideIndex(
        _ name: String, in directory: CacheDirectory, because failure: DatabaseFailure
    ) -> CacheIncident {
        for suffix in ["-wal", "-shm"] where directory.status(name + suffix) != nil {
            _ = directory.setAside(name + suffix)
        }
        return CacheIncident(kind: .damagedIndex, detail: failure.message, movedTo: directory.setAside(name))
    }

    private mutating func replaceIndex(because failure: DatabaseFailure) throws(IndexFailure) {
        adopt(try Self.openIndex(in: directory, configuration, replacing: (indexName, indexInode, failure)))
        try sweep()
    }

    /// Somebody has replaced the index, or deleted the whole folder.
    private mutating func reopen() throws(IndexFailure) {
        directory = try CacheDirectory(path: directory.path)
        adopt(try Self.openIndex(in: directory, configuration))
    }

    private mutating func adopt(_ opened: OpenedIndex) {
        (index, indexName, indexInode) = (opened.index, opened.name, opened.inode)
        uses = []
        changes.everything = true
        note(opened.incidents)
    }

    mutating func note(_ new: [CacheIncident]) {
        statistics.setAside += new.count
        incidents = (incidents + new).suffix(Self.mostIncidents)
    }

    private static let mostIncidents = 32
}
