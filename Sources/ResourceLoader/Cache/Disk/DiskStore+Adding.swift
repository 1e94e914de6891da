import Glibc

extension DiskStore {
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
}
