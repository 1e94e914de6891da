import CNetlink
import Glibc

/// resolv.conf: which name servers it lists, and when that may have changed.
struct ResolverFile: ~Copyable {
    /// Readable when a file of one of the two folders changed: the one of resolv.conf, and the one it is a link into.
    let descriptor: CInt
    private let path: String

    init(path: String) throws(NetlinkError) {
        let descriptor = inotify_init1(CInt(IN_NONBLOCK | IN_CLOEXEC))
        guard descriptor >= 0 else { throw NetlinkError(.watchResolver, errno: Glibc.errno) }
        self.descriptor = descriptor
        self.path = path
        watchFolders()
    }

    deinit { close(descriptor) }

    /// The folders, not the file: it is replaced by renaming far more often than it is written.
    private func watchFolders() {
        let changes = UInt32(IN_CLOSE_WRITE | IN_MOVED_TO | IN_MOVED_FROM | IN_CREATE | IN_DELETE)
        var paths = [path]
        if let resolved = realpath(path, nil) {
            paths.append(String(cString: resolved))
            free(resolved)
        }
        for path in paths {
            let folder = path.split(separator: "/", omittingEmptySubsequences: false).dropLast().joined(separator: "/")
            // A folder that cannot be watched leaves the list of servers as old as the last look at it.
            _ = inotify_add_watch(descriptor, folder.isEmpty ? "/" : folder, changes)
        }
    }

    /// Takes the notices; `true` if one was about a file of such a name.
    func hasChanged() -> Bool {
        var buffer = [UInt8](repeating: 0, count: 4096)
        var changed = false
        while true {
            let count = read(descriptor, &buffer, buffer.count)
            guard count > 0 else { break }
            // Names in /etc and /run/systemd/resolve; whatever else happens there is none of ours. An overflow has no name.
            changed = changed || buffer.prefix(count).contains(subsequence: Array("resolv".utf8)) || count <= 16
        }
        if changed { watchFolders() }
        return changed
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

extension Collection where Element: Equatable {
    fileprivate func contains(subsequence other: [Element]) -> Bool {
        var rest = self[...]
        while rest.count >= other.count {
            if rest.starts(with: other) { return true }
            rest = rest.dropFirst()
        }
        return false
    }
}
