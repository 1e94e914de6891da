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
    private var uses: [FileID] = []

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
    private static let roomForIndex: Int64 = 128 << 10

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

    private mutating func note(_ new: [CacheIncident]) {
        statistics.setAside += new.count
        incidents = (incidents + new).suffix(Self.mostIncidents)
    }

    private static let mostIncidents = 32

    // MARK: Asking

    mutating func holdings(of key: CacheKey, _ variants: [CacheVariant]) throws(IndexFailure) -> CacheHoldings {
        let moment = now()
        let entries = try index.entries(of: key).filter { !hasExpired($0, at: moment) && hasWholeFile($0) }
        return CacheHoldings(
            key: key,
            rungs: variants.map { variant in
                let entry = entries.first { $0.variant == variant }
                return CacheHoldings.Rung(
                    variant: variant, freshness: entry?.freshness(at: moment) ?? .absent, entry: entry)
            })
    }

    /// The entry, counted as used.
    mutating func entry(of key: CacheKey, _ variant: CacheVariant) throws(IndexFailure) -> CacheEntry? {
        guard let entry = try index.entry(of: key, variant), !hasExpired(entry, at: now()) else { return nil }
        uses.append(entry.id.file)
        if uses.count >= Self.mostUnwrittenUses {
            do throws(IndexFailure) {
                try index.transaction { () throws(IndexFailure) in try writeUses() }
            } catch {
                // A disk that is full or read-only must not keep anybody from reading; the order of eviction is the
                // poorer for it, no more.
                if case .database(let failure) = error, failure.kind == .damaged || failure.kind == .moved {
                    throw error
                }
                uses = uses.suffix(Self.mostUnwrittenUses / 2)
            }
        }
        return entry
    }

    private static let mostUnwrittenUses = 64

    mutating func body(of key: CacheKey, _ variant: CacheVariant) throws(IndexFailure) -> CachedBody? {
        // Twice, because the entry may be replaced by another process between the look into the index and the opening.
        for _ in 0..<2 {
            guard let entry = try entry(of: key, variant) else { break }
            let name = CacheDirectory.body(entry.id.file)
            if let file = directory.open(name, O_RDONLY) {
                if let status = file.status, status.st_mode & S_IFMT == S_IFREG, status.st_size == entry.size {
                    // Without the lease (somebody holds the exclusive lock for an instant) it is readable all the same.
                    _ = file.tryLock(.shared)
                    statistics.hits += 1
                    return CachedBody(entry: entry, content: .file(file))
                }
                try setAside(entry, because: "not the \(entry.size) bytes that were committed")
            } else if [EACCES, EPERM, EIO, ELOOP, ENOTDIR, EUCLEAN].contains(errno) {
                try setAside(entry, because: String(cString: strerror(errno)))
            } else if errno == ENOENT {
                // Evicted: then the row is gone as well. Else the file was lost.
                if try delete(entry.id.file) {
                    statistics.lostBodies += 1
                    changes.keys.insert(entry.key)
                }
            } else {
                throw .cache(.storage(StorageFailure("open", name)))
            }
        }
        statistics.misses += 1
        return nil
    }

    private func hasWholeFile(_ entry: CacheEntry) -> Bool {
        directory.status(CacheDirectory.body(entry.id.file)).map { Int64($0.st_size) == entry.size } ?? false
    }

    func isLeased(_ id: FileID) -> Bool {
        guard let file = directory.open(CacheDirectory.body(id), O_RDONLY) else { return false }
        return !file.tryLock(.exclusive)
    }

    private func hasExpired(_ entry: CacheEntry, at moment: WallTime) -> Bool {
        guard let limit = configuration.ageLimit else { return false }
        return entry.validated.advanced(by: limit) < moment
    }

    mutating func setAside(_ entry: CacheEntry, because reason: String) throws(IndexFailure) {
        guard try delete(entry.id.file) else { return }
        let name = CacheDirectory.body(entry.id.file)
        note([CacheIncident(kind: .unreadableBody, detail: "\(name): \(reason)", movedTo: directory.setAside(name))])
        changes.keys.insert(entry.key)
    }

    private func delete(_ id: FileID) throws(IndexFailure) -> Bool {
        try index.transaction { () throws(IndexFailure) in try index.delete(id) }
    }

    func levels() throws(IndexFailure) -> (bytes: Int64, entries: Int) {
        (try index.charged(), Int(try index.count()))
    }

    // MARK: Adding

    /// Makes the file of a part visible. The caller holds the part's lock and has checked and flushed it.
    mutating func publish(
        _ part: FileID, begunIn generation: String, as description: EntryDescription
    ) throws(IndexFailure) -> CacheEntry {
        let source = CacheDirectory.part(part)
        let entry = makeEntry(.random(), description)
        while !directory.move(source, to: CacheDirectory.body(entry.id.file)) {
            switch errno {
            case ENOENT where directory.status(source) != nil:
                try directory.makeFolder(CacheDirectory.shard(of: entry.id.file))
                if configuration.durability == .full { try directory.sync(folder: CacheDirectory.bodies) }
            // A clear has deleted the part; the generation says so as well.
            case ENOENT: throw .cache(.cleared)
            default: throw .cache(.storage(StorageFailure("rename", source)))
            }
        }
        do throws(IndexFailure) {
            if configuration.durability == .full { try directory.sync(folder: CacheDirectory.shard(of: entry.id.file)) }
            let gone = try index.transaction { () throws(IndexFailure) in
                guard try directory.generation() == generation else { throw .cache(.cleared) }
                var gone = Departures()
                if let replaced = try index.entry(of: entry.key, entry.variant) {
                    try index.delete(replaced.id.file)
                    gone.replaced.append(replaced.id.file)
                }
                try index.insert(entry, charge: Self.charge(size: entry.size, key: entry.key))
                try index.deletePart(part)
                try writeUses()
                gone.merge(try trim(keeping: entry.id.file))
                return gone
            }
            finish(gone)
            statistics.commits += 1
            changes.keys.insert(entry.key)
            return entry
        } catch {
            // Back, so that the next try, or the next resumption, finds it.
            if !directory.move(CacheDirectory.body(entry.id.file), to: source) {
                directory.delete(CacheDirectory.body(entry.id.file))
            }
            throw error
        }
    }

    /// What an entry is charged: the blocks its file and its key take up.
    static func charge(size: Int64, key: CacheKey) -> Int64 {
        (size + Int64(key.bytes.count) + 4095) / 4096 * 4096
    }

    /// All of an entry but its name and its times.
    struct EntryDescription {
        let key: CacheKey
        let variant: CacheVariant
        let size: Int64
        let digest: BodyDigest?
        let metadata: CacheMetadata
    }

    private func makeEntry(_ file: FileID, _ description: EntryDescription) -> CacheEntry {
        let moment = now()
        return CacheEntry(
            id: CacheEntry.ID(file: file), key: description.key, variant: description.variant, size: description.size,
            digest: description.digest, metadata: description.metadata, validated: moment,
            freshUntil: moment.advanced(by: description.metadata.lifetime ?? configuration.assumedLifetime))
    }

    mutating func revalidate(_ entry: CacheEntry, _ news: CacheMetadata) throws(IndexFailure) -> CacheEntry? {
        let updated = try index.transaction { () throws(IndexFailure) -> CacheEntry? in
            guard let present = try index.entry(entry.id.file), present.key == entry.key else { return nil }
            let old = present.metadata
            let metadata = CacheMetadata(
                contentType: news.contentType ?? old.contentType, etag: news.etag ?? old.etag,
                lastModified: news.lastModified ?? old.lastModified, lifetime: news.lifetime ?? old.lifetime)
            let updated = makeEntry(
                entry.id.file,
                EntryDescription(
                    key: present.key, variant: present.variant, size: present.size, digest: present.digest,
                    metadata: metadata))
            try index.update(updated)
            return updated
        }
        if updated != nil { changes.keys.insert(entry.key) }
        return updated
    }

    // MARK: Taking away

    /// Rows deleted in a transaction, whose files are to go once it is committed.
    struct Departures {
        var replaced: [FileID] = []
        var evicted: [(id: FileID, key: CacheKey)] = []
        var expired: [(id: FileID, key: CacheKey)] = []

        mutating func merge(_ other: Departures) {
            replaced += other.replaced
            evicted += other.evicted
            expired += other.expired
        }
    }

    /// In a transaction: throws out what is too old, then the least recently used until the budget is met.
    func trim(keeping kept: FileID?) throws(IndexFailure) -> Departures {
        var gone = Departures()
        if let limit = configuration.ageLimit {
            for entry in try index.entries(validatedBefore: now().advanced(by: .zero - limit))
            where entry.id.file != kept {
                try index.delete(entry.id.file)
                gone.expired.append((entry.id.file, entry.key))
            }
        }
        var excess = try index.charged() - configuration.byteBudget
        guard excess > 0 else { return gone }
        try index.leastRecentlyUsed { candidate in
            if candidate.id != kept, !isLeased(candidate.id) {
                gone.evicted.append((candidate.id, candidate.key))
                excess -= candidate.charge
            }
            return excess > 0
        }
        for victim in gone.evicted { try index.delete(victim.id) }
        return gone
    }

    mutating func finish(_ gone: Departures) {
        for id in gone.replaced { directory.delete(CacheDirectory.body(id)) }
        for (id, key) in gone.evicted + gone.expired {
            directory.delete(CacheDirectory.body(id))
            changes.keys.insert(key)
        }
        statistics.evictions += gone.evicted.count
        statistics.expirations += gone.expired.count
    }

    private mutating func writeUses() throws(IndexFailure) {
        try index.touch(uses)
        uses = []
    }

    mutating func flushUses() throws(IndexFailure) {
        if !uses.isEmpty { try index.transaction { () throws(IndexFailure) in try writeUses() } }
    }

    mutating func remove(_ key: CacheKey, _ variant: CacheVariant?) throws(IndexFailure) {
        let gone = try index.transaction { () throws(IndexFailure) in
            let entries = try index.entries(of: key).filter { variant == nil || $0.variant == variant }
            for entry in entries { try index.delete(entry.id.file) }
            return entries
        }
        for entry in gone { directory.delete(CacheDirectory.body(entry.id.file)) }
        if !gone.isEmpty { changes.keys.insert(key) }
    }

    mutating func removeAll() throws(IndexFailure) {
        let (bodies, parts) = try index.transaction { () throws(IndexFailure) in
            let gone = (try index.allEntries().map(\.id.file), try index.allParts().map(\.id))
            try directory.renewGeneration()
            try index.clear()
            return gone
        }
        uses = []
        for id in bodies { directory.delete(CacheDirectory.body(id)) }
        for id in parts { directory.delete(CacheDirectory.part(id)) }
        changes.everything = true
    }

    /// For a full disk: deletes the least recently used until that many bytes are free, then parts nobody works on.
    ///
    /// Here the files go first: on a full disk the index may be unable even to write that something is gone. A process
    /// that dies in between leaves a row without a file, which counts as absent everywhere.
    mutating func makeRoom(for needed: Int64) {
        let needed = needed + Self.roomForIndex
        var freed: Int64 = 0
        var victims: [CacheIndex.Candidate] = []
        // Whatever cannot be read from the index cannot be chosen; the caller then reports the full disk.
        try? index.leastRecentlyUsed { candidate in
            if !isLeased(candidate.id) {
                victims.append(candidate)
                freed += candidate.charge
            }
            return freed < needed
        }
        for victim in victims {
            directory.delete(CacheDirectory.body(victim.id))
            changes.keys.insert(victim.key)
        }
        statistics.evictions += victims.count
        try? index.transaction { () throws(IndexFailure) in
            for victim in victims { try index.delete(victim.id) }
        }
        index.shrink()
        if freed < needed { dropIdleParts(until: needed - freed) }
    }

    // MARK: What a killed process left

    /// Deletes files without a row and rows without a file.
    private mutating func sweep() throws(IndexFailure) {
        let index = index
        let rows = try index.allEntries()
        var missing = Dictionary(rows.map { ($0.id.file, $0.key) }) { first, _ in first }
        for shard in directory.list(CacheDirectory.bodies) {
            for name in directory.list("\(CacheDirectory.bodies)/\(shard)") {
                guard let id = FileID(name: name) else { continue }
                if missing.removeValue(forKey: id) != nil { continue }
                try sweepOrphan(CacheDirectory.body(id)) { () throws(IndexFailure) in try index.entry(id) != nil }
            }
        }
        // Rows read before the files: what is missing now was deleted meanwhile, or lost.
        for (id, key) in missing where try delete(id) {
            statistics.lostBodies += 1
            changes.keys.insert(key)
        }
        try sweepParts()
    }

    /// Deletes a file that is neither being committed (then it is locked) nor committed since it was listed (then it
    /// has a row).
    mutating func sweepOrphan(_ name: String, unless isKnown: () throws(IndexFailure) -> Bool) throws(IndexFailure) {
        guard let file = directory.open(name, O_RDONLY), file.tryLock(.exclusive), try !isKnown() else { return }
        if directory.delete(name) { statistics.sweptOrphans += 1 }
    }
}
