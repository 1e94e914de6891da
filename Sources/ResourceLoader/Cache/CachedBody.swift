/// A stored body, open for reading.
///
/// It stays readable and unchanged for as long as this value (or a copy) lives, whatever happens to the entry:
/// replaced, evicted, removed or cleared, by this process or another. It holds one file descriptor and a lease, be its bytes
/// on disk or in memory: while it lives, eviction passes the entry over.
public struct CachedBody: Sendable {
    enum Content {
        /// The lease is `nil` where there was no file or no descriptor to be had.
        case memory([UInt8], lease: FileDescriptor?)
        case file(FileDescriptor)
    }

    /// What this is, its variant included.
    public let entry: CacheEntry

    let content: Content

    /// Whether it was served from memory.
    public var isInMemory: Bool {
        if case .memory = content { true } else { false }
    }

    /// All of it. Blocks on the disk.
    public func bytes() throws(CacheError) -> [UInt8] {
        switch content {
        case .memory(let bytes, _): return bytes
        case .file:
            var failure: CacheError?
            let bytes = [UInt8](unsafeUninitializedCapacity: Int(entry.size)) { buffer, filled in
                do throws(CacheError) {
                    filled = try read(into: UnsafeMutableRawBufferPointer(buffer), at: 0)
                } catch {
                    failure = error
                }
            }
            if let failure { throw failure }
            return bytes
        }
    }

    /// Fills the buffer from that offset on; the number of bytes it got, less than asked for only at the end. Blocks on
    /// the disk.
    public func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) throws(CacheError) -> Int {
        precondition(offset >= 0, "a body has no bytes before its start")
        switch content {
        case .memory(let bytes, _):
            let rest = bytes.dropFirst(Int(clamping: offset)).prefix(buffer.count)
            buffer.copyBytes(from: rest)
            return rest.count
        case .file(let file):
            let got = file.read(into: buffer, at: offset)
            if got < 0 { throw .storage(StorageFailure("read", CacheDirectory.body(entry.id.file))) }
            // The file's length was compared when it was opened; shorter now means it was damaged meanwhile.
            let due = min(Int64(buffer.count), max(0, entry.size - offset))
            if got < due { throw .corrupt("the file ends after \(offset + Int64(got)) of \(entry.size) bytes") }
            return Int(due)
        }
    }

    /// Reads it all and compares it with the digest it was committed with; throws `corrupt` if it differs. Nothing
    /// happens where there is none.
    public func verify() throws(CacheError) {
        guard let digest = entry.digest else { return }
        let found = BodyDigest(of: try bytes())
        if found != digest { throw .corrupt("SHA-256 is \(found), not \(digest)") }
    }
}
