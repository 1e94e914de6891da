extension DiskStore {
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

    mutating func writeUses() throws(IndexFailure) {
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
}
