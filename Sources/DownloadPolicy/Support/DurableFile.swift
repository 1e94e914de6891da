import Glibc

/// A small file that is replaced as a whole.
///
/// Readers see the old bytes or the new ones and never a part, at whatever moment a writer dies or the power goes: the
/// new bytes are written beside the file, brought to the disk, and take the file's name, and then the folder is brought
/// to the disk. Writers of all processes take turns by a lock file, which the kernel releases when its holder dies.
struct DurableFile: Sendable {
    let directory: String
    let name: String
    /// How long to wait for the lock: long enough for any writer that is alive, short enough to report one that was
    /// stopped.
    let patience: Duration

    /// Larger files are refused, so that a device or somebody's film in this place does no harm.
    static let sizeLimit = 1 << 20

    var path: String { "\(directory)/\(name)" }
    private var lockPath: String { "\(path).lock" }
    private var newPath: String { "\(path).new" }

    init(path: String, patience: Duration = .seconds(10)) {
        self.patience = patience
        // A link is followed once, or replacing it would cut off whoever keeps the file elsewhere.
        let path = Self.target(of: path) ?? path
        if let slash = path.lastIndex(of: "/") {
            let directory = String(path[..<slash])
            self.directory = directory.isEmpty ? "/" : directory
            name = String(path[path.index(after: slash)...])
        } else {
            directory = "."
            name = path
        }
    }

    private static func target(of path: String) -> String? {
        guard let target = realpath(path, nil) else { return nil }
        defer { free(target) }
        return String(cString: target)
    }

    /// The bytes; `nil` if there is no file.
    func read() throws(StoreError) -> [UInt8]? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
        guard descriptor >= 0 else {
            if errno == ENOENT { return nil }
            throw .last("open", path)
        }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = Glibc.read(descriptor, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count < 0 {
                if errno == EINTR { continue }
                throw .last("read", path)
            }
            bytes += chunk[..<count]
            guard bytes.count <= Self.sizeLimit else { throw .tooLarge(path: path, limit: Self.sizeLimit) }
        }
    }

    /// Puts bytes in the place of what is there. Only under ``withLock(_:)``.
    func replace(with bytes: [UInt8]) throws(StoreError) {
        // One name for all writers, since they take turns: what a dead one left behind is overwritten, not collected.
        let descriptor = open(newPath, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .last("create", newPath) }
        do throws(StoreError) {
            defer { close(descriptor) }
            var written = 0
            while written < bytes.count {
                let count = bytes[written...].withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
                if count < 0 {
                    if errno == EINTR { continue }
                    throw .last("write", newPath)
                }
                written += count
            }
            guard fsync(descriptor) == 0 else { throw .last("sync", newPath) }
        } catch {
            unlink(newPath)
            throw error
        }
        guard rename(newPath, path) == 0 else { throw .last("replace", path) }
        try syncDirectory()
    }

    /// Puts bytes in the place of what is there, and keeps that under a name which nobody reads. Returns the name. Only
    /// under ``withLock(_:)``.
    func replaceKeepingOld(with bytes: [UInt8]) throws(StoreError) -> String {
        var number = 1
        while access("\(path).damaged-\(number)", F_OK) == 0 { number += 1 }
        let aside = "\(path).damaged-\(number)"
        // A second name first, so that there is a file at every moment; where the file system has no second names, move
        // it.
        let isLinked = link(path, aside) == 0
        if !isLinked {
            guard rename(path, aside) == 0 else { throw .last("set aside", path) }
        }
        do throws(StoreError) {
            try replace(with: bytes)
        } catch {
            if isLinked { unlink(aside) }
            throw error
        }
        return aside
    }

    /// Runs with the lock that all processes share. Waits for it, but not for ever.
    func withLock<Result>(_ body: () throws(StoreError) -> Result) throws(StoreError) -> Result {
        try createDirectory(directory)
        let descriptor = open(lockPath, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .last("create", lockPath) }
        defer { close(descriptor) }
        // flock(2) belongs to the open file, so it keeps out other threads of this process as well as other processes.
        let deadline = ContinuousClock.now + patience
        while flock(descriptor, LOCK_EX | LOCK_NB) != 0 {
            if errno == EINTR { continue }
            guard errno == EWOULDBLOCK else { throw .last("lock", lockPath) }
            guard ContinuousClock.now < deadline else { throw .locked(path: path) }
            var pause = timespec(tv_sec: 0, tv_nsec: 2_000_000)
            nanosleep(&pause, nil)
        }
        // A child that is being started has the descriptor, too, and would keep the lock until it execs.
        defer { flock(descriptor, LOCK_UN) }
        return try body()
    }

    func createDirectory() throws(StoreError) {
        try createDirectory(directory)
    }

    private func createDirectory(_ directory: String) throws(StoreError) {
        if mkdir(directory, 0o700) == 0 || errno == EEXIST { return }
        guard errno == ENOENT, let slash = directory.lastIndex(of: "/"), slash != directory.startIndex else {
            throw .last("create", directory)
        }
        try createDirectory(String(directory[..<slash]))
        guard mkdir(directory, 0o700) == 0 || errno == EEXIST else { throw .last("create", directory) }
    }

    private func syncDirectory() throws(StoreError) {
        let descriptor = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { throw .last("open", directory) }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw .last("sync", directory) }
    }
}
