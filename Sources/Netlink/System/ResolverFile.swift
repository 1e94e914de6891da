import CNetlink
import Glibc

/// resolv.conf: which name servers it lists, and when that may have changed.
struct ResolverFile: ~Copyable {
    /// Readable when something changed in a folder of the file; `nil` where no inotify instance is to be had. There are but 128 for
    /// each user by default, and a desktop uses them up: then the file has to be looked at every now and then.
    let descriptor: CInt?
    private let path: String

    init(path: String) {
        let descriptor = inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC))
        self.descriptor = descriptor < 0 ? nil : descriptor
        self.path = path
        watchFolders()
    }

    deinit {
        if let descriptor { close(descriptor) }
    }

    /// The file, and what it is a link to: systemd-resolved and others keep the real one in /run.
    private var files: [String] {
        guard let resolved = realpath(path, nil) else { return [path] }
        defer { free(resolved) }
        return [path, String(cString: resolved)]
    }

    /// The folders, not the files: those are replaced by renaming far more often than they are written.
    private func watchFolders() {
        guard let descriptor else { return }
        let changes = UInt32(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE)
        for file in files {
            let folder = file.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
            // A folder that can't be watched leaves the list of servers as old as the last look at it.
            _ = inotify_add_watch(descriptor, folder.isEmpty ? "/" : folder, changes)
        }
    }

    /// Takes the notices; `true` if one was about the file, or may have been.
    func hasChanged() -> Bool {
        guard let descriptor else { return false }
        let names = files.compactMap { $0.split(separator: "/").last.map(String.init) }
        var changed = false
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            changed = changed || Self.changedNames(in: buffer[..<count]).contains { $0.map(names.contains) ?? true }
        }
        // The link may point into another folder now.
        if changed { watchFolders() }
        return changed
    }

    /// The names in a row of `struct inotify_event`; `nil` for an event without one, which is an overflow.
    private static func changedNames(in bytes: ArraySlice<UInt8>) -> [String?] {
        var names: [String?] = []
        var rest = bytes
        while rest.count >= MemoryLayout<inotify_event>.size {
            let length = rest.withUnsafeBytes { Int($0.loadUnaligned(as: inotify_event.self).len) }
            rest = rest.dropFirst(MemoryLayout<inotify_event>.size)
            // The name is padded with NULs to `len` bytes.
            names.append(length == 0 ? nil : String(decoding: rest.prefix(length).prefix { $0 != 0 }, as: UTF8.self))
            rest = rest.dropFirst(length)
        }
        return names
    }

    func nameservers() -> [IPAddress] { Self.nameservers(in: SmallFile.read(path) ?? "") }

    /// The addresses of `nameserver` lines (resolv.conf(5)), without a zone.
    static func nameservers(in text: String) -> [IPAddress] {
        text.split(separator: "\n").compactMap { line in
            let words = line.split { $0 == " " || $0 == "\t" }
            guard words.count >= 2, words[0] == "nameserver" else { return nil }
            return IPAddress(String(words[1].prefix { $0 != "%" }))
        }
    }
}
