import Glibc
import ResourceLoader

/// What a disk that runs full does to a cache: run on a file system of 1 MiB, with a budget much larger than that.
struct FullDisk {
    let folder: String

    func run() throws {
        var configuration = CacheConfiguration()
        configuration.byteBudget = 64 << 20
        configuration.durability = .body
        let cache = try DiskCache(directory: folder, configuration: configuration)
        try storeMoreThanFits(in: cache)
        try failWhereNothingCanBeEvicted(in: cache)
        try openAndWork(configuration, onADiskFilledBySomebodyElse: cache)
    }

    /// Every commit succeeds, because evicting makes room.
    private func storeMoreThanFits(in cache: DiskCache) throws {
        for number in 0..<200 { try store(number, in: cache) }
        try expect(cache.statistics.evictions > 0, "nothing was evicted on a full disk")
        try expect(try wholeEntries(of: cache) >= 10, "less than a fifth of the disk is used")
        try expect(try isPresent(199, in: cache), "what was stored last is not there")
    }

    private func failWhereNothingCanBeEvicted(in cache: DiskCache) throws {
        let part = try cache.claimPart(for: [1])
        do {
            let readers = try cache.allEntries().compactMap { try cache.body(of: $0.key, variant: $0.variant) }
            try expectFull("a part of 2 MB") {
                for _ in 0..<100 { try part.append(Array(repeating: 7, count: 20_000)) }
            }
            for reader in readers { try CacheTorture.verify(reader) }
        }
        // Nobody reads any more: it goes on where it stopped.
        let length = part.length
        try part.append(Array(repeating: 7, count: 60_000))
        try expect(part.length == length + 60_000, "the part has \(part.length) bytes after \(length) and 60,000")
        try cache.commit(part, as: CacheKey("part"), expecting: BodyExpectation(length: length + 60_000))
        _ = try wholeEntries(of: cache)
    }

    private func openAndWork(
        _ configuration: CacheConfiguration, onADiskFilledBySomebodyElse cache: DiskCache
    ) throws {
        try cache.removeAll()
        for number in 0..<8 { try store(number, in: cache) }
        let filler = open("\(folder)/../filler", O_WRONLY | O_CREAT, 0o600)
        let zeros = [UInt8](repeating: 0, count: 4096)
        while write(filler, zeros, zeros.count) > 0 {}
        close(filler)

        let opened = try DiskCache(directory: folder, configuration: configuration)
        try expect(try wholeEntries(of: opened) == 8, "a full disk hides entries")
        try store(300, in: opened)
        try expect(try isPresent(300, in: opened), "what was stored on a full disk is not there")
        _ = try wholeEntries(of: opened)
        try opened.removeAll()
        try expect(try cache.allEntries().isEmpty, "a clear on a full disk left something")
    }

    private func store(_ number: Int, in cache: DiskCache) throws {
        let body = TortureBody(key: number, variant: "original", size: 20_000, fill: UInt8(truncatingIfNeeded: number))
        try cache.store(body.bytes, as: CacheTorture.key(number), variant: "original")
    }

    private func isPresent(_ number: Int, in cache: DiskCache) throws -> Bool {
        try cache.body(of: CacheTorture.key(number), variant: "original") != nil
    }

    /// How many there are; throws if one of them is not whole.
    private func wholeEntries(of cache: DiskCache) throws -> Int {
        let bodies = try cache.allEntries().compactMap { entry in
            entry.key == CacheKey("part") ? nil : try cache.body(of: entry.key, variant: entry.variant)
        }
        for body in bodies { try CacheTorture.verify(body) }
        return bodies.count
    }

    private func expectFull(_ what: String, _ work: () throws -> Void) throws {
        do {
            try work()
        } catch let error as CacheError {
            if case .storage(let failure) = error, failure.isFull { return }
            throw CacheTorture.Wrong(what: "\(what) on a full disk: \(error)")
        }
        throw CacheTorture.Wrong(what: "a full disk took \(what)")
    }

    private func expect(_ holds: @autoclosure () throws -> Bool, _ otherwise: String) throws {
        if try !holds() { throw CacheTorture.Wrong(what: otherwise) }
    }
}
