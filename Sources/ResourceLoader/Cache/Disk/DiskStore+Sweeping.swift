import Glibc

extension DiskStore {
    /// Deletes files without a row and rows without a file.
    mutating func sweep() throws(IndexFailure) {
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
