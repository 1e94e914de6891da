import Glibc

extension DiskStore {
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

    mutating func body(
        of key: CacheKey, _ variant: CacheVariant, isLeased: Bool = true
    ) throws(IndexFailure) -> CachedBody? {
        // Twice, because the entry may be replaced by another process between the look into the index and the opening.
        for _ in 0..<2 {
            guard let entry = try entry(of: key, variant) else { break }
            let name = CacheDirectory.body(entry.id.file)
            if let file = directory.open(name, O_RDONLY) {
                if let status = file.status, status.st_mode & S_IFMT == S_IFREG, status.st_size == entry.size {
                    // Without the lease (somebody holds the exclusive lock for an instant) it is readable all the same.
                    if isLeased { _ = file.tryLock(.shared) }
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

    func lease(on id: FileID) -> FileDescriptor? {
        let file = directory.open(CacheDirectory.body(id), O_RDONLY)
        _ = file?.tryLock(.shared)
        return file
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

    func delete(_ id: FileID) throws(IndexFailure) -> Bool {
        try index.transaction { () throws(IndexFailure) in try index.delete(id) }
    }

    func levels() throws(IndexFailure) -> (bytes: Int64, entries: Int) {
        (try index.charged(), Int(try index.count()))
    }
}
