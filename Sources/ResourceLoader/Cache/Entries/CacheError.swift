import Glibc

/// Why a cache could not do what was asked. Whatever was visible before is still visible and whole.
public enum CacheError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The file system or the index said no: disk full (after something was evicted once), read-only, I/O error.
    case storage(StorageFailure)

    /// Other processes kept the index locked for longer than the configuration's `patience`. Try again.
    case busy

    /// The body is shorter than announced. The part is kept: resume it.
    case incomplete(expected: Int64, got: Int64)

    /// The body is longer than announced, or its digest is wrong. The part is gone: start over.
    case corrupt(String)

    /// A body of no bytes is no resource. The part is gone.
    case empty

    /// The body is larger than the whole byte budget, which could only be met by throwing everything away. The part is
    /// gone.
    case tooLarge(size: Int64, budget: Int64)

    /// The cache was cleared, or its damaged index replaced, after this download had begun. The part is gone.
    case cleared

    /// Another claim, in this process or another, holds the part for this fingerprint.
    case partInUse

    /// The part was already committed, released or abandoned.
    case partEnded

    /// What to do about it, in words.
    public var description: String {
        switch self {
        case .storage(let failure): "cache storage: \(failure)"
        case .busy: "the cache's index is locked by another process; try again"
        case .incomplete(let expected, let got): "the body has \(got) of \(expected) bytes; resume it"
        case .corrupt(let why): "the body is not what was announced (\(why)); fetch it again"
        case .empty: "the body is empty and was not stored"
        case .tooLarge(let size, let budget): "the body of \(size) bytes exceeds the cache's budget of \(budget) bytes"
        case .cleared: "the cache was cleared while this was downloading; fetch it again if it is still wanted"
        case .partInUse: "another download of the same resource holds its part file; wait for that one"
        case .partEnded: "this part was already committed, released or abandoned; claim it anew"
        }
    }
}

/// What the file system or the index refused to do.
public struct StorageFailure: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was tried: `write`, `rename`, `index`, ...
    public let operation: String

    /// The file or folder, relative to the cache's directory where it lies inside.
    public let path: String

    /// The errno, zero if there is none.
    public let code: Int32

    /// SQLite's words, where it was the index.
    public let detail: String?

    init(_ operation: String, _ path: String, code: Int32 = errno, detail: String? = nil) {
        self.operation = operation
        self.path = path
        self.code = code
        self.detail = detail
    }

    /// The disk or the quota is full.
    public var isFull: Bool { Self.isFull(code) }

    static func isFull(_ code: Int32) -> Bool { code == ENOSPC || code == EDQUOT }

    /// What failed, on what, and why.
    public var description: String {
        let reason = detail ?? String(cString: strerror(code))
        let advice = isFull ? "; free some space or lower the cache's budget" : ""
        return "\(operation) \(path): \(reason)\(advice)"
    }
}
