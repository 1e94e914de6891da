import Glibc

/// Why a stored file could not be read, written or watched.
public enum StoreError: Error, Sendable, Hashable, CustomStringConvertible {
    /// The system refused an operation: what was tried, on which file, and `errno`.
    case system(operation: String, path: String, code: Int32)
    /// Another process or call has held the file's lock for 10 s.
    case locked(path: String)
    /// The file is larger than any such file can be.
    case tooLarge(path: String, limit: Int)
    /// A later version of this package wrote the file; it is left as it is.
    case newerVersion(path: String, version: String)
    /// An application's name has to be usable as the name of a folder.
    case badApplicationName(String)
    /// There is neither an XDG variable nor a home folder to put files into.
    case noHome

    public var description: String {
        switch self {
        case .system(let operation, let path, let code):
            "Cannot \(operation) \(path): \(String(cString: strerror(code))) (errno \(code))."
        case .locked(let path):
            "\(path) is locked by another process for too long: look for one that was stopped while changing it."
        case .tooLarge(let path, let limit):
            "\(path) is larger than \(limit) bytes, which no such file is: look whether something else wrote it."
        case .newerVersion(let path, let version):
            "\(path) has version \(version), which this version does not know: update the program to change it."
        case .badApplicationName(let name):
            "\"\(name)\" cannot name a folder: use a name without \"/\" that is neither empty, \".\" nor \"..\"."
        case .noHome:
            "There is no place for files: set HOME or the XDG variable to an absolute path."
        }
    }

    /// The error `errno` tells of. Call it at once after the operation.
    static func last(_ operation: String, _ path: String) -> StoreError {
        .system(operation: operation, path: path, code: errno)
    }
}
