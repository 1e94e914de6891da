import Glibc

/// How hard a body is pressed onto the disk before it is handed over.
public enum BodyDurability: String, Sendable, Hashable, Codable {
    /// Left to the kernel: a crash of the program loses nothing, a crash of the machine may.
    case kernel
    /// fdatasync(2) before the handover, and before the sidecar claims bytes.
    case synced
}

/// A complete, checked file that waits to be renamed to its place.
public struct VerifiedFile: Sendable {
    /// On the same file system as the directory the caller gave.
    public let path: String
    /// The length of the file in bytes.
    public let length: Int64
    /// The last answer's status and headers.
    public let head: ResponseHead
    /// How hard the file has been pressed onto the disk, and its directory should be.
    public let durability: BodyDurability
}

/// Takes verified files to where they become visible.
public protocol PartCommitter: Sendable {
    /// Renames `file.path` to its place, and syncs the directory if the durability asks for it. A file that is still there afterwards
    /// is removed. Throw ``SinkFailure`` to have the failure classified; any other error counts as one of storage that more room
    /// would not help.
    func commit(_ file: VerifiedFile) async throws
    /// Evicts so many bytes (`nil`: unknown) and says whether it did.
    func makeRoom(for bytes: Int64?) async -> Bool
}

/// Streams a body into a part file in the caller's directory, with a sidecar that lets another attempt, in this process or a
/// later one, go on where this one stopped.
///
/// The part is locked while it is open; a second process on the same part gets one of its own, which nobody resumes.
public actor PartFile: TransferSink {
    private let directory: String
    private let name: String
    private let durability: BodyDurability
    private let committer: any PartCommitter

    private var file: Int32 = -1
    /// The name of the open part; differs from `name` when another process holds that.
    private var openName = ""
    private var part = PartialBody(offset: 0, total: nil, validator: nil)
    /// The bytes the sidecar on disk vouches for.
    private var noted: Int64 = 0

    /// How many bytes a crash may cost.
    private static let noteInterval: Int64 = 8 << 20
    private static let names = 8

    /// - Parameters:
    ///   - directory: exists, and is on the file system of the body's final place.
    ///   - name: a file name without an extension, such as ``RequestIdentity/digest``.
    public init(
        directory: String, name: String, durability: BodyDurability = .kernel, committer: any PartCommitter
    ) {
        self.directory = directory
        self.name = name
        self.durability = durability
        self.committer = committer
    }

    deinit {
        if file >= 0 {
            flock(file, LOCK_UN)
            close(file)
        }
    }

    private var partPath: String { "\(directory)/\(openName).part" }
    private var notePath: String { "\(directory)/\(openName).info" }

    /// Opens and locks the part, and reads its sidecar.
    public func stored() throws(SinkFailure) -> PartialBody? {
        guard file < 0 else { return part.offset > 0 ? part : nil }
        try open()
        guard let noted = readNote()?.part else { return nil }
        var status = stat()
        guard fstat(file, &status) == 0 else { return nil }
        // The note may claim less than the file holds (bytes since the last note), never rightly more.
        part = noted
        part.offset = min(noted.offset, Int64(status.st_size))
        self.noted = part.offset
        return part.offset > 0 ? part : nil
    }

    /// Cuts the part to where the new bytes go.
    public func begin(_ part: PartialBody) throws(SinkFailure) {
        if file < 0 { try open() }
        // The old note goes before the bytes it speaks of; a note never stands beside bytes of another body.
        if part.offset == 0 { unlink(notePath) } else if part.offset < noted { try note(part) }
        guard ftruncate(file, off_t(part.offset)) == 0 else { throw Self.failure("truncate") }
        self.part = part
        if let total = part.total, total > part.offset {
            // Learns of a full disk before any bytes are paid for.
            var volume = statvfs()
            if fstatvfs(file, &volume) == 0, Int64(volume.f_bavail) * Int64(volume.f_frsize) < total - part.offset {
                throw .storage("the file system has no room for \(total - part.offset) bytes", isFull: true)
            }
        }
        if part.offset == 0 { try note(part) }
    }

    /// Writes at the end of the part.
    public func write(_ bytes: [UInt8]) throws(SinkFailure) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                pwrite(file, buffer.baseAddress! + written, bytes.count - written, off_t(part.offset))
            }
            if count < 0 {
                if errno == EINTR { continue }
                throw Self.failure("write")
            }
            written += count
            part.offset += Int64(count)
        }
        if part.offset - noted >= Self.noteInterval { try note(part) }
    }

    /// Writes the sidecar and closes the part; removes it if nobody could go on with it.
    public func pause() {
        guard file >= 0 else { return }
        // Without a validator nobody could go on with it.
        guard part.offset > 0, part.validator != nil else { return discard() }
        // A note that can't be written costs bytes later, not correctness.
        if part.offset != noted { try? note(part) }
        release()
    }

    /// Removes part and sidecar.
    public func discard() {
        guard file >= 0 || (try? open()) != nil else { return }
        // Once the file is renamed, its old name may already be another process's part.
        if isStill(partPath, file) {
            unlink(notePath)
            unlink(partPath)
        }
        release()
        part = PartialBody(offset: 0, total: nil, validator: nil)
        noted = 0
    }

    /// Checks the whole file, syncs it as the durability asks, and gives it to the committer.
    public func complete(_ checks: BodyChecks, head: ResponseHead) async throws(SinkFailure) -> DeliveredBody {
        guard part.offset > 0 else { throw .unfit(.emptyBody) }
        try verify(checks)
        if durability == .synced, fdatasync(file) != 0 { throw Self.failure("sync") }
        let verified = VerifiedFile(path: partPath, length: part.offset, head: head, durability: durability)
        // Before the file leaves its name, so that no note is left to speak of whatever takes that name next.
        unlink(notePath)
        noted = -1
        do {
            try await committer.commit(verified)
        } catch let failure as SinkFailure {
            throw failure
        } catch {
            throw .storage("\(error)")
        }
        discard()
        return .committed(length: verified.length)
    }

    /// Asks the committer.
    public func makeRoom(for bytes: Int64?) async -> Bool { await committer.makeRoom(for: bytes) }

    // MARK: - The files

    private func open() throws(SinkFailure) {
        for attempt in 0..<Self.names {
            openName = attempt == 0 ? name : "\(name)-\(attempt)"
            let opened = Glibc.open(partPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard opened >= 0 else { throw Self.failure("open") }
            if flock(opened, LOCK_EX | LOCK_NB) == 0, isStill(partPath, opened) {
                file = opened
                part = PartialBody(offset: 0, total: nil, validator: nil)
                noted = 0
                return
            }
            close(opened)
        }
        throw .storage("every name for the part is in use by other processes")
    }

    /// Unlocks and closes the part. A child that is being started has the descriptor, too, until it execs, and with it the lock:
    /// closing alone would keep the part locked for that long.
    private func release() {
        flock(file, LOCK_UN)
        close(file)
        file = -1
    }

    /// Whether the path still leads to the open file: its holder may have renamed it before the lock was ours.
    private func isStill(_ path: String, _ opened: Int32) -> Bool {
        var (byPath, byFile) = (stat(), stat())
        return lstat(path, &byPath) == 0 && fstat(opened, &byFile) == 0 && byPath.st_ino == byFile.st_ino
            && byPath.st_dev == byFile.st_dev
    }

    private func verify(_ checks: BodyChecks) throws(SinkFailure) {
        var status = stat()
        guard fstat(file, &status) == 0 else { throw Self.failure("stat") }
        guard Int64(status.st_size) == part.offset else { throw .unfit(.lengthMismatch) }
        var verifier = BodyVerifier(checks)
        var buffer = [UInt8](repeating: 0, count: 1 << 17)
        var offset: Int64 = 0
        while offset < part.offset {
            if verifier.needsOnlyLength {
                verifier.skip(part.offset - offset)
                break
            }
            let count = buffer.withUnsafeMutableBytes { pread(file, $0.baseAddress!, $0.count, off_t(offset)) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw Self.failure("read") }
            buffer.withUnsafeBytes { verifier.feed(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
            offset += Int64(count)
        }
        if let failure = verifier.failure() { throw failure }
    }

    private func readNote() -> PartSidecar? {
        let opened = Glibc.open(notePath, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
        guard opened >= 0 else { return nil }
        defer { close(opened) }
        // A note is a few hundred bytes; what is longer is none of ours.
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        let count = read(opened, &buffer, buffer.count)
        guard count > 0, count < buffer.count else { return nil }
        return PartSidecar(String(decoding: buffer[..<count], as: UTF8.self))
    }

    private func note(_ part: PartialBody) throws(SinkFailure) {
        if durability == .synced, fdatasync(file) != 0 { throw Self.failure("sync") }
        let draft = "\(notePath).new"
        let opened = Glibc.open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard opened >= 0 else { throw Self.failure("note") }
        let bytes = Array(PartSidecar(part).text.utf8)
        let count = Glibc.write(opened, bytes, bytes.count)
        let isSynced = durability == .kernel || fdatasync(opened) == 0
        close(opened)
        guard count == bytes.count, isSynced, rename(draft, notePath) == 0 else {
            let failure = Self.failure("note")
            unlink(draft)
            throw failure
        }
        noted = part.offset
    }

    private static func failure(_ what: String) -> SinkFailure {
        let code = errno
        return .storage("\(what): \(String(cString: strerror(code)))", isFull: StorageFailure.isFull(code))
    }
}
