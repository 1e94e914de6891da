import CSQLite

/// All the SQL of the cache: which bodies are visible, under what, and in which order they were used.
///
/// A body is visible exactly when it has a row. `used` counts accesses rather than telling time, so that a clock set
/// back does not upset the order of eviction.
struct CacheIndex {
    private let database: Database
    private static let format: Int64 = 1

    /// Opens the file, or makes it. Throws a failure of kind `damaged` for anything that is not such an index.
    init(path: String, durability: CacheDurability, patience: Duration) throws(IndexFailure) {
        database = try Database(path: path, patience: patience)
        try database.script("PRAGMA journal_mode=WAL")
        try database.script("PRAGMA synchronous=\(durability.synchronous); PRAGMA temp_store=MEMORY")
        let found = try database.number("PRAGMA user_version")
        if found == Self.format { return }
        guard found == 0 else {
            let failure = DatabaseFailure(
                code: SQLITE_FORMAT, systemError: 0,
                message: "the index has format \(found), this version reads \(Self.format)")
            throw .database(failure)
        }
        try database.transaction { () throws(IndexFailure) in
            try database.script(Self.schema)
            try database.run("INSERT INTO state VALUES (1, 0, 0)")
            try database.script("PRAGMA user_version=\(Self.format)")
        }
    }

    private static let schema = """
        CREATE TABLE state (
            one INTEGER PRIMARY KEY CHECK (one = 1),
            uses INTEGER NOT NULL, charged INTEGER NOT NULL
        );
        CREATE TABLE entries (
            id INTEGER PRIMARY KEY, resource BLOB NOT NULL, variant BLOB NOT NULL,
            size INTEGER NOT NULL, charge INTEGER NOT NULL, used INTEGER NOT NULL,
            validated INTEGER NOT NULL, lifetime INTEGER NOT NULL, told INTEGER NOT NULL,
            type TEXT, etag TEXT, modified TEXT, digest BLOB
        );
        CREATE UNIQUE INDEX entry_of ON entries (resource, variant);
        CREATE INDEX entry_used ON entries (used);
        CREATE INDEX entry_validated ON entries (validated);
        CREATE TRIGGER charge AFTER INSERT ON entries
            BEGIN UPDATE state SET charged = charged + new.charge; END;
        CREATE TRIGGER discharge AFTER DELETE ON entries
            BEGIN UPDATE state SET charged = charged - old.charge; END;
        CREATE TABLE parts (
            id INTEGER PRIMARY KEY, fingerprint BLOB NOT NULL UNIQUE,
            validator TEXT, total INTEGER, durable INTEGER NOT NULL, boot TEXT NOT NULL, touched INTEGER NOT NULL
        );
        """

    func transaction<Result>(_ body: () throws(IndexFailure) -> Result) throws(IndexFailure) -> Result {
        try database.transaction(body)
    }

    /// Gives back the disk space of the write-ahead log, if nobody is reading from it.
    func shrink() {
        _ = try? database.run("PRAGMA wal_checkpoint(TRUNCATE)")
    }

    // MARK: State

    /// What all bodies together occupy.
    func charged() throws(IndexFailure) -> Int64 {
        try database.number("SELECT charged FROM state")
    }

    func count() throws(IndexFailure) -> Int64 {
        try database.number("SELECT count(*) FROM entries")
    }

    // MARK: Entries

    private static let columns = """
        id, resource, variant, size, validated, lifetime, told, type, etag, modified, digest
        """

    func entries(of key: CacheKey) throws(IndexFailure) -> [CacheEntry] {
        try entries("WHERE resource = ?", [.blob(key.bytes)])
    }

    func entry(of key: CacheKey, _ variant: CacheVariant) throws(IndexFailure) -> CacheEntry? {
        try entries("WHERE resource = ? AND variant = ?", [.blob(key.bytes), .blob(Array(variant.name.utf8))]).first
    }

    func entry(_ id: FileID) throws(IndexFailure) -> CacheEntry? {
        try entries("WHERE id = ?", [.integer(id.number)]).first
    }

    func allEntries() throws(IndexFailure) -> [CacheEntry] {
        try entries("", [])
    }

    func entries(validatedBefore limit: WallTime) throws(IndexFailure) -> [CacheEntry] {
        try entries("WHERE validated < ?", [.integer(limit.milliseconds)])
    }

    private func entries(_ condition: String, _ values: [SQLValue]) throws(IndexFailure) -> [CacheEntry] {
        var found: [CacheEntry] = []
        try database.run("SELECT \(Self.columns) FROM entries \(condition)", values) { row in
            found.append(Self.entry(row))
            return true
        }
        return found
    }

    private static func entry(_ row: Row) -> CacheEntry {
        let validated = WallTime(milliseconds: row.integer(4))
        let lifetime = Duration.milliseconds(row.integer(5))
        return CacheEntry(
            id: CacheEntry.ID(file: FileID(number: row.integer(0))),
            key: CacheKey(row.blob(1)),
            variant: CacheVariant(String(decoding: row.blob(2), as: UTF8.self)),
            size: row.integer(3),
            digest: row.optionalBlob(10).flatMap { BodyDigest($0) },
            metadata: CacheMetadata(
                contentType: row.optionalText(7), etag: row.optionalText(8), lastModified: row.optionalText(9),
                lifetime: row.integer(6) == 0 ? nil : lifetime),
            validated: validated,
            freshUntil: validated.advanced(by: lifetime))
    }

    func insert(_ entry: CacheEntry, charge: Int64) throws(IndexFailure) {
        try database.run(
            "INSERT INTO entries VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [
                .integer(entry.id.file.number), .blob(entry.key.bytes), .blob(Array(entry.variant.name.utf8)),
                .integer(entry.size), .integer(charge), .integer(try nextUse()),
                .integer(entry.validated.milliseconds), .integer(entry.storedLifetime),
                .integer(entry.metadata.lifetime == nil ? 0 : 1),
                .optional(entry.metadata.contentType), .optional(entry.metadata.etag),
                .optional(entry.metadata.lastModified), .optional(entry.digest?.bytes),
            ])
    }

    func update(_ entry: CacheEntry) throws(IndexFailure) {
        try database.run(
            "UPDATE entries SET validated = ?, lifetime = ?, told = ?, type = ?, etag = ?, modified = ? WHERE id = ?",
            [
                .integer(entry.validated.milliseconds), .integer(entry.storedLifetime),
                .integer(entry.metadata.lifetime == nil ? 0 : 1),
                .optional(entry.metadata.contentType), .optional(entry.metadata.etag),
                .optional(entry.metadata.lastModified), .integer(entry.id.file.number),
            ])
    }

    /// Whether it was there.
    @discardableResult
    func delete(_ id: FileID) throws(IndexFailure) -> Bool {
        try database.run("DELETE FROM entries WHERE id = ?", [.integer(id.number)]) > 0
    }

    /// Marks as used now, in this order. Ids that are gone do no harm.
    func touch(_ ids: [FileID]) throws(IndexFailure) {
        for id in ids {
            try database.run(
                "UPDATE entries SET used = ? WHERE id = ?", [.integer(try nextUse()), .integer(id.number)])
        }
    }

    private func nextUse() throws(IndexFailure) -> Int64 {
        try database.run("UPDATE state SET uses = uses + 1")
        return try database.number("SELECT uses FROM state")
    }

    struct Candidate {
        let id: FileID
        let key: CacheKey
        let charge: Int64
    }

    /// The least recently used first, until `take` says `false`.
    func leastRecentlyUsed(_ take: (Candidate) -> Bool) throws(IndexFailure) {
        try database.run("SELECT id, resource, charge FROM entries ORDER BY used") { row in
            take(Candidate(id: FileID(number: row.integer(0)), key: CacheKey(row.blob(1)), charge: row.integer(2)))
        }
    }

    /// Forgets everything, parts included.
    func clear() throws(IndexFailure) {
        try database.run("DELETE FROM entries")
        try database.run("DELETE FROM parts")
    }

    // MARK: Parts

    struct PartRow {
        let id: FileID
        let note: PartNote
        /// How much of the file was known to be on the disk itself.
        let durable: Int64
        /// Under which boot of the machine it was last written.
        let boot: String
        let touched: WallTime
    }

    func part(for fingerprint: [UInt8]) throws(IndexFailure) -> PartRow? {
        try parts("WHERE fingerprint = ?", [.blob(fingerprint)]).first
    }

    /// The most recently touched first.
    func allParts() throws(IndexFailure) -> [PartRow] {
        try parts("ORDER BY touched DESC, id", [])
    }

    func hasPart(_ id: FileID) throws(IndexFailure) -> Bool {
        try database.number("SELECT count(*) FROM parts WHERE id = ?", [.integer(id.number)]) > 0
    }

    private func parts(_ condition: String, _ values: [SQLValue]) throws(IndexFailure) -> [PartRow] {
        var found: [PartRow] = []
        let sql = "SELECT id, validator, total, durable, boot, touched FROM parts \(condition)"
        try database.run(sql, values) { row in
            found.append(
                PartRow(
                    id: FileID(number: row.integer(0)),
                    note: PartNote(validator: row.optionalText(1), total: row.optionalInteger(2)),
                    durable: row.integer(3), boot: row.optionalText(4) ?? "",
                    touched: WallTime(milliseconds: row.integer(5))))
            return true
        }
        return found
    }

    func insertPart(_ id: FileID, for fingerprint: [UInt8], boot: String, at now: WallTime) throws(IndexFailure) {
        try database.run(
            "INSERT INTO parts VALUES (?, ?, NULL, NULL, 0, ?, ?)",
            [.integer(id.number), .blob(fingerprint), .text(boot), .integer(now.milliseconds)])
    }

    /// Whether it was still there.
    @discardableResult
    func updatePart(
        _ id: FileID, _ note: PartNote, durable: Int64, boot: String, at now: WallTime
    ) throws(IndexFailure) -> Bool {
        try database.run(
            "UPDATE parts SET validator = ?, total = ?, durable = ?, boot = ?, touched = ? WHERE id = ?",
            [
                .optional(note.validator), .optional(note.total), .integer(durable), .text(boot),
                .integer(now.milliseconds), .integer(id.number),
            ]) > 0
    }

    func deletePart(_ id: FileID) throws(IndexFailure) {
        try database.run("DELETE FROM parts WHERE id = ?", [.integer(id.number)])
    }
}

extension CacheEntry {
    fileprivate var storedLifetime: Int64 {
        freshUntil.milliseconds.subtractingReportingOverflow(validated.milliseconds).partialValue
    }
}
