import Glibc

extension DiskStore {
    struct ClaimedPart {
        let id: FileID
        let file: FileDescriptor
        let generation: String
        let length: Int64
        let note: PartNote
    }

    /// The part kept for this fingerprint, or a new one.
    mutating func claimPart(for fingerprint: [UInt8]) throws(IndexFailure) -> ClaimedPart {
        let claimed = try index.transaction { () throws(IndexFailure) -> ClaimedPart in
            let generation = try directory.generation()
            if let row = try index.part(for: fingerprint) {
                if let file = directory.open(CacheDirectory.part(row.id), O_RDWR) {
                    guard file.tryLock(.exclusive) else { throw .cache(.partInUse) }
                    let length = try Self.cutToWhatIsSure(row, file, boot: Self.bootID)
                    try index.updatePart(
                        row.id, row.note, durable: min(row.durable, length), boot: Self.bootID, at: now())
                    return ClaimedPart(
                        id: row.id, file: file, generation: generation, length: length, note: row.note)
                }
                guard errno == ENOENT else {
                    throw .cache(.storage(StorageFailure("open", CacheDirectory.part(row.id))))
                }
                // Lost, or another process is moving it into place at this moment.
                try index.deletePart(row.id)
            }
            let (id, file) = try makeLockedFile()
            try index.insertPart(id, for: fingerprint, boot: Self.bootID, at: now())
            return ClaimedPart(
                id: id, file: file, generation: generation, length: 0, note: PartNote())
        }
        try trimParts()
        return claimed
    }

    /// A part that is not kept for later.
    func scratchPart() throws(IndexFailure) -> ClaimedPart {
        let generation = try directory.generation()
        let (id, file) = try makeLockedFile()
        return ClaimedPart(id: id, file: file, generation: generation, length: 0, note: PartNote())
    }

    private func makeLockedFile() throws(IndexFailure) -> (FileID, FileDescriptor) {
        while true {
            let id = FileID.random()
            let name = CacheDirectory.part(id)
            guard let file = directory.open(name, O_RDWR | O_CREAT | O_EXCL) else {
                if errno == EEXIST { continue }
                throw .cache(.storage(StorageFailure("create", name)))
            }
            // A sweep may have taken it for an orphan between the two calls; then it is locked, or deleted already.
            if file.tryLock(.exclusive), let status = file.status, status.st_nlink > 0 { return (id, file) }
        }
    }

    /// After a reboot only what was flushed is sure to be on the disk; a file's length may be there before its bytes
    /// are.
    private static func cutToWhatIsSure(
        _ row: CacheIndex.PartRow, _ file: FileDescriptor, boot: String
    ) throws(IndexFailure) -> Int64 {
        let size = file.status.map { Int64($0.st_size) } ?? 0
        var sure = row.boot == boot ? size : min(size, row.durable)
        if let total = row.note.total, sure > total { sure = 0 }
        if sure < size, ftruncate(file.raw, off_t(sure)) != 0 {
            throw .cache(.storage(StorageFailure("truncate", CacheDirectory.part(row.id))))
        }
        return sure
    }

    /// The kernel's name for this boot; empty where /proc is not there, and then every boot looks the same.
    private static let bootID: String = {
        guard let file = FileDescriptor(open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)) else {
            return ""
        }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = bytes.withUnsafeMutableBytes { file.read(into: $0, at: 0) }
        return String(decoding: bytes.prefix(max(0, count)).prefix { $0 != 0x0a }, as: UTF8.self)
    }()

    /// Whether it is still known; a clear or a new index forgets it.
    mutating func describePart(_ id: FileID, _ note: PartNote, durable: Int64) throws(IndexFailure) -> Bool {
        try index.transaction { () throws(IndexFailure) in
            try index.updatePart(id, note, durable: durable, boot: Self.bootID, at: now())
        }
    }

    mutating func deletePart(_ id: FileID) throws(IndexFailure) {
        try index.transaction { () throws(IndexFailure) in try index.deletePart(id) }
        directory.delete(CacheDirectory.part(id))
    }

    /// Throws out parts nobody works on that are too old, or too much together, the oldest first.
    mutating func trimParts() throws(IndexFailure) {
        let oldest = now().advanced(by: .zero - configuration.partsAgeLimit)
        var total: Int64 = 0
        for row in try index.allParts() {
            let size = Int64(directory.status(CacheDirectory.part(row.id))?.st_size ?? 0)
            total += size
            guard total > configuration.partsByteBudget || row.touched < oldest else { continue }
            if try dropIfIdle(row.id) { total -= size }
        }
    }

    /// For a full disk: the oldest first, until that many bytes are free.
    mutating func dropIdleParts(until needed: Int64) {
        var freed: Int64 = 0
        for row in ((try? index.allParts()) ?? []).reversed() where freed < needed {
            let size = Int64(directory.status(CacheDirectory.part(row.id))?.st_size ?? 0)
            if (try? dropIfIdle(row.id)) == true { freed += size }
        }
    }

    private mutating func dropIfIdle(_ id: FileID) throws(IndexFailure) -> Bool {
        let name = CacheDirectory.part(id)
        guard let file = directory.open(name, O_RDWR), file.tryLock(.exclusive) else { return false }
        // Still under its name: else it has been committed meanwhile, and what is locked here is a body.
        guard directory.status(name)?.st_ino == file.status?.st_ino else { return false }
        directory.delete(name)
        statistics.droppedParts += 1
        try index.transaction { () throws(IndexFailure) in try index.deletePart(id) }
        return true
    }

    mutating func sweepParts() throws(IndexFailure) {
        let index = index
        let rows = try index.allParts()
        for name in directory.list(CacheDirectory.parts) {
            guard let id = FileID(name: name), !rows.contains(where: { $0.id == id }) else { continue }
            try sweepOrphan(CacheDirectory.part(id)) { () throws(IndexFailure) in try index.hasPart(id) }
        }
        for row in rows where directory.status(CacheDirectory.part(row.id)) == nil {
            try index.transaction { () throws(IndexFailure) in try index.deletePart(row.id) }
        }
    }
}
