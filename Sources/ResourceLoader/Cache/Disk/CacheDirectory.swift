import Glibc

/// The folder of a cache, and where things lie in it:
///
///     lock                  held while an index is opened or replaced
///     generation            a link to a random name, another after each clear
///     index-….sqlite        the index (and SQLite's -wal and -shm)
///     bodies/ab/…           the bodies, spread over 256 folders by the last two digits of their names
///     parts/…               bodies not yet complete
///     aside/…               what was damaged
///
/// Everything is named relative to one descriptor of the folder, so that a change of the working directory does not
/// matter.
struct CacheDirectory: Sendable {
    /// Absolute, for SQLite, which opens by path.
    let path: String
    let root: FileDescriptor

    /// Makes the folder and its parents if they are missing, readable to the owner only.
    init(path: String) throws(IndexFailure) {
        var made = ""
        for component in path.split(separator: "/") {
            made += (made.isEmpty && !path.hasPrefix("/") ? "" : "/") + component
            if mkdir(made, 0o700) != 0, errno != EEXIST {
                // A parent that is there but closed to us answers EACCES or EROFS; only the last one has to be ours.
                var status = stat()
                let code = errno
                guard stat(made, &status) == 0 else {
                    throw .cache(.storage(StorageFailure("create folder", made, code: code)))
                }
            }
        }
        guard let resolved = realpath(path, nil) else { throw .cache(.storage(StorageFailure("find folder", path))) }
        self.path = String(cString: resolved)
        free(resolved)
        guard let root = FileDescriptor(Glibc.open(self.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)) else {
            throw .cache(.storage(StorageFailure("open folder", path)))
        }
        self.root = root
        for folder in [Self.bodies, Self.parts, Self.aside] { try makeFolder(folder) }
    }

    static let bodies = "bodies"
    static let parts = "parts"
    static let aside = "aside"

    static func body(_ id: FileID) -> String { "\(shard(of: id))/\(id.name)" }
    static func part(_ id: FileID) -> String { "\(parts)/\(id.name)" }
    static func shard(of id: FileID) -> String { "\(bodies)/\(id.name.suffix(2))" }

    func makeFolder(_ name: String) throws(IndexFailure) {
        if mkdirat(root.raw, name, 0o700) != 0, errno != EEXIST {
            throw .cache(.storage(StorageFailure("create folder", name)))
        }
    }

    /// `nil` with errno set if it fails.
    func open(_ name: String, _ flags: Int32) -> FileDescriptor? {
        FileDescriptor(retryingInterruptions { openat(root.raw, name, flags | O_CLOEXEC | O_NOFOLLOW, 0o600) })
    }

    func status(_ name: String) -> stat? {
        var status = stat()
        return fstatat(root.raw, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? status : nil
    }

    /// Whether it is a file that may be read and written. It is not opened: closing any descriptor of an index would
    /// drop the locks that SQLite has on it in this process.
    func isUsableFile(_ name: String) -> Bool {
        status(name).map { $0.st_mode & S_IFMT == S_IFREG } == true && faccessat(root.raw, name, R_OK | W_OK, 0) == 0
    }

    /// Whether it is gone now; it may have been gone before.
    @discardableResult
    func delete(_ name: String) -> Bool {
        unlinkat(root.raw, name, 0) == 0 || errno == ENOENT
    }

    /// False with errno set. The new name is a random one, or one that only the caller's lock can have: nothing is
    /// overwritten.
    func move(_ name: String, to newName: String) -> Bool {
        renameat(root.raw, name, root.raw, newName) == 0
    }

    /// The names in a folder, in no order. Nothing if it is not there.
    func list(_ folder: String) -> [String] {
        let descriptor = openat(root.raw, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return [] }
        guard let listing = fdopendir(descriptor) else {
            close(descriptor)
            return []
        }
        defer { closedir(listing) }
        var names: [String] = []
        while let item = readdir(listing) {
            let name = withUnsafePointer(to: &item.pointee.d_name) { tuple in
                tuple.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// Another after each clear of the cache; a commit that has begun under an earlier one is refused. It is not in the
    /// index, so that it outlives a damaged one, and a link rather than a file, so that a full disk does not stand in
    /// the way of a clear.
    func generation() throws(IndexFailure) -> String {
        var target = [UInt8](repeating: 0, count: 64)
        let count = target.withUnsafeMutableBufferPointer { buffer in
            buffer.withMemoryRebound(to: CChar.self) {
                readlinkat(root.raw, Self.generation, $0.baseAddress!, $0.count)
            }
        }
        if count > 0 { return String(decoding: target.prefix(count), as: UTF8.self) }
        if errno == ENOENT { return try renewGeneration() }
        throw .cache(.storage(StorageFailure("read link", Self.generation)))
    }

    /// To be done inside a transaction, as the comparison is, so that they do not cross.
    @discardableResult
    func renewGeneration() throws(IndexFailure) -> String {
        let generation = FileID.random().name
        let temporary = "\(Self.generation)-new"
        delete(temporary)
        guard symlinkat(generation, root.raw, temporary) == 0, move(temporary, to: Self.generation) else {
            throw .cache(.storage(StorageFailure("renew", Self.generation)))
        }
        return generation
    }

    private static let generation = "generation"

    /// Writes a folder's names through to the disk.
    func sync(folder: String) throws(IndexFailure) {
        guard let handle = FileDescriptor(openat(root.raw, folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)),
            retryingInterruptions({ fsync(handle.raw) }) == 0
        else { throw .cache(.storage(StorageFailure("sync folder", folder))) }
    }

    /// Moves a damaged thing out of the way, keeping the few latest ones for whoever wants to look into it. Where it
    /// lies now; `nil` if it could only be deleted.
    func setAside(_ name: String) -> String? {
        let kept = list(Self.aside).compactMap { item in status("\(Self.aside)/\(item)").map { (item, $0) } }
        let oldestFirst = kept.sorted {
            ($0.1.st_ctim.tv_sec, $0.1.st_ctim.tv_nsec) < ($1.1.st_ctim.tv_sec, $1.1.st_ctim.tv_nsec)
        }
        for (item, status) in oldestFirst.dropLast(Self.mostKeptAside - 1) {
            unlinkat(root.raw, "\(Self.aside)/\(item)", status.st_mode & S_IFMT == S_IFDIR ? AT_REMOVEDIR : 0)
        }
        let short = name.split(separator: "/").last.map(String.init) ?? name
        let target = "\(Self.aside)/\(FileID.random().name)-\(short)"
        if move(name, to: target) { return target }
        delete(name)
        return nil
    }

    private static let mostKeptAside = 8
}
