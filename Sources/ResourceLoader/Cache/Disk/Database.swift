import CSQLite
import Glibc

/// Why something inside the disk cache stopped: the index refused, or an answer for the caller is already known.
enum IndexFailure: Error {
    case database(DatabaseFailure)
    case cache(CacheError)

    var isFullDisk: Bool {
        switch self {
        case .database(let failure): failure.kind == .full
        case .cache(.storage(let failure)): failure.isFull
        case .cache: false
        }
    }
}

struct DatabaseFailure {
    enum Kind {
        case busy
        case full
        case damaged
        case moved
        case other
    }

    let code: Int32
    let systemError: Int32
    let message: String

    var kind: Kind {
        switch code & 0xff {
        case SQLITE_BUSY, SQLITE_LOCKED: .busy
        case SQLITE_FULL: .full
        case SQLITE_CORRUPT, SQLITE_NOTADB, SQLITE_FORMAT, SQLITE_ERROR, SQLITE_MISMATCH, SQLITE_CONSTRAINT: .damaged
        case SQLITE_READONLY where code == Self.databaseMoved: .moved
        case SQLITE_IOERR where StorageFailure.isFull(systemError): .full
        // What a truncated index or write-ahead log looks like.
        case SQLITE_IOERR where code == Self.shortRead: .damaged
        default: .other
        }
    }

    /// SQLITE_IOERR_SHORT_READ and SQLITE_READONLY_DBMOVED, macros that are not imported.
    private static let shortRead = SQLITE_IOERR | (2 << 8)
    private static let databaseMoved = SQLITE_READONLY | (4 << 8)

    /// As an error for the caller.
    var error: CacheError {
        switch kind {
        case .busy: .busy
        case .full: .storage(StorageFailure("index", "index", code: ENOSPC, detail: message))
        case .damaged, .moved, .other: .storage(StorageFailure("index", "index", code: systemError, detail: message))
        }
    }
}

enum SQLValue {
    case integer(Int64)
    case blob([UInt8])
    case text(String)
    case null

    static func optional(_ number: Int64?) -> SQLValue { number.map { .integer($0) } ?? .null }
    static func optional(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }
    static func optional(_ bytes: [UInt8]?) -> SQLValue { bytes.map { .blob($0) } ?? .null }
}

/// One connection to an SQLite file. Used by one thread at a time, which `DiskCache`'s lock sees to.
final class Database {
    private let handle: OpaquePointer
    private var prepared: [String: OpaquePointer] = [:]

    init(path: String, patience: Duration) throws(IndexFailure) {
        var handle: OpaquePointer?
        let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_NOFOLLOW
        let code = sqlite3_open_v2(path, &handle, flags, nil)
        guard code == SQLITE_OK, let handle else {
            let failure = Self.failure(handle, code)
            sqlite3_close_v2(handle)
            throw failure
        }
        self.handle = handle
        sqlite3_extended_result_codes(handle, 1)
        sqlite3_busy_timeout(handle, Int32(clamping: patience.wholeMilliseconds))
    }

    deinit {
        for statement in prepared.values { sqlite3_finalize(statement) }
        sqlite3_close_v2(handle)
    }

    /// Any number of statements, without values and without answers.
    func script(_ sql: String) throws(IndexFailure) {
        let code = sqlite3_exec(handle, sql, nil, nil, nil)
        guard code == SQLITE_OK else { throw Self.failure(handle, code) }
    }

    /// Runs one statement and calls `visit` with each row until it says `false`. The number of rows changed, for those
    /// that do.
    @discardableResult
    func run(
        _ sql: String, _ values: [SQLValue] = [], visit: (Row) -> Bool = { _ in true }
    ) throws(IndexFailure) -> Int {
        let statement = try statement(sql)
        defer {
            sqlite3_reset(statement)
            sqlite3_clear_bindings(statement)
        }
        for (index, value) in values.enumerated() {
            let code = Self.bind(value, to: statement, at: Int32(index + 1))
            guard code == SQLITE_OK else { throw Self.failure(handle, code) }
        }
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: if !visit(Row(statement: statement)) { return 0 }
            case SQLITE_DONE: return Int(sqlite3_changes(handle))
            case let code: throw Self.failure(handle, code)
            }
        }
    }

    /// The one number a query answers; zero where it answers nothing.
    func number(_ sql: String, _ values: [SQLValue] = []) throws(IndexFailure) -> Int64 {
        var number: Int64 = 0
        try run(sql, values) { row in
            number = row.integer(0)
            return false
        }
        return number
    }

    /// All of it or nothing. It holds the index's write lock from the start, so that what is read in it stays true in
    /// it.
    func transaction<Result>(_ body: () throws(IndexFailure) -> Result) throws(IndexFailure) -> Result {
        try run("BEGIN IMMEDIATE")
        do {
            let result = try body()
            try run("COMMIT")
            return result
        } catch {
            // SQLite rolls back by itself for some errors; a second time is refused without harm.
            if sqlite3_get_autocommit(handle) == 0 { _ = try? run("ROLLBACK") }
            throw error
        }
    }

    private func statement(_ sql: String) throws(IndexFailure) -> OpaquePointer {
        if let statement = prepared[sql] { return statement }
        var statement: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &statement, nil)
        guard code == SQLITE_OK, let statement else { throw Self.failure(handle, code) }
        prepared[sql] = statement
        return statement
    }

    private static func bind(_ value: SQLValue, to statement: OpaquePointer, at index: Int32) -> Int32 {
        switch value {
        case .integer(let number): sqlite3_bind_int64(statement, index, number)
        case .blob(let bytes) where bytes.isEmpty: sqlite3_bind_zeroblob(statement, index, 0)
        case .blob(let bytes): csqlite_bind_blob(statement, index, bytes, UInt64(bytes.count))
        case .text(let text): csqlite_bind_text(statement, index, text, UInt64(text.utf8.count))
        case .null: sqlite3_bind_null(statement, index)
        }
    }

    private static func failure(_ handle: OpaquePointer?, _ code: Int32) -> IndexFailure {
        let message = String(cString: handle.map { sqlite3_errmsg($0) } ?? sqlite3_errstr(code))
        return .database(
            DatabaseFailure(code: code, systemError: handle.map { sqlite3_system_errno($0) } ?? 0, message: message))
    }
}

/// The row a statement stands on. Only good inside the call that hands it over.
struct Row {
    fileprivate let statement: OpaquePointer

    func integer(_ column: Int32) -> Int64 {
        sqlite3_column_int64(statement, column)
    }

    func optionalInteger(_ column: Int32) -> Int64? {
        isNull(column) ? nil : integer(column)
    }

    func blob(_ column: Int32) -> [UInt8] {
        let bytes = sqlite3_column_blob(statement, column)
        let count = Int(sqlite3_column_bytes(statement, column))
        return Array(UnsafeRawBufferPointer(start: bytes, count: bytes == nil ? 0 : count))
    }

    func optionalBlob(_ column: Int32) -> [UInt8]? {
        isNull(column) ? nil : blob(column)
    }

    func optionalText(_ column: Int32) -> String? {
        optionalBlob(column).map { String(decoding: $0, as: UTF8.self) }
    }

    private func isNull(_ column: Int32) -> Bool {
        sqlite3_column_type(statement, column) == SQLITE_NULL
    }
}
