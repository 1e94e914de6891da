/// The user's ``DownloadPreferences`` in a file that survives the process.
///
/// Any number of processes may read and change the same file: changes take turns, none is lost, and each process is
/// told of those of the others within a moment (by inotify(7)). A change is on the disk when ``update(_:)`` returns,
/// and a reader sees the old or the new preferences whole at whatever moment a writer dies. A damaged file is kept
/// under another name, the defaults take its place, and ``problem`` tells. The file is text for people:
///
///     version = 1
///     mode = alwaysOriginal
///     allow-roaming = no
///     end
///
/// Safe to use from any thread. Reading ``current`` never blocks; ``update(_:)`` waits for the disk.
public final class PreferencesStore: Sendable {
    private let document: StoredDocument<DownloadPreferences>

    /// The store of an application, at the place of the XDG Base Directory Specification:
    /// `$XDG_CONFIG_HOME/APPLICATION/download-preferences`, where `~/.config` stands in for a variable that is unset,
    /// empty or no absolute path.
    ///
    /// - Parameter application: a name for the application's folder.
    /// - Throws: ``StoreError`` if the name cannot name a folder, or the folder cannot be made.
    public convenience init(application: String) throws(StoreError) {
        try self.init(path: XDG.config.path(application: application, file: "download-preferences"))
    }

    /// The store in a file of your choice. Its folder is created; a lock file stands beside it.
    public init(path: String) throws(StoreError) {
        document = try StoredDocument(path: path, format: .preferences)
    }

    /// Where the preferences are stored.
    public var path: String { document.file.path }

    /// The preferences as last read: the defaults where nothing has been stored.
    public var current: DownloadPreferences { document.value }

    /// What is wrong with the file, if anything is.
    public var problem: StoreProblem? { document.problem }

    /// Changes the preferences, durably.
    ///
    /// - Parameter change: gets what is stored at that moment, whoever stored it. It runs under a lock all processes
    ///   share: it must be quick and must not come back to the store.
    /// - Returns: the preferences as stored.
    /// - Throws: ``StoreError``; then nothing has changed.
    @discardableResult
    public func update(_ change: (inout DownloadPreferences) -> Void) throws(StoreError) -> DownloadPreferences {
        try document.update { preferences in
            change(&preferences)
            return preferences
        }
    }

    /// The present preferences first, then every change of any process; a slow consumer gets the newest. Each call
    /// makes a stream of its own, which keeps the store alive.
    public func changes() -> AsyncStream<DownloadPreferences> {
        document.stream(keeping: self)
    }

    /// The present problem or `nil` first, then every change of that.
    public func problems() -> AsyncStream<StoreProblem?> {
        document.problemStream(keeping: self)
    }

    /// Reads the file again: for the case that ``StoreProblem/notWatching(_:)`` is reported.
    public func reload() {
        document.reload()
    }
}

extension DocumentFormat<DownloadPreferences> {
    fileprivate static let preferences = DocumentFormat(
        comments: [
            "What to download. May be edited; programs that use it notice.",
            "mode: automatic, alwaysOriginal, lowest, cachedOnly. allow-roaming: yes, no.",
        ],
        initial: { DownloadPreferences() },
        afterDamage: { DownloadPreferences() },
        decode: { (text) throws(DocumentDamage) -> DownloadPreferences in
            var preferences = DownloadPreferences()
            if let word = text["mode"] {
                guard let mode = DownloadPreferences.Mode(rawValue: word) else {
                    throw DocumentDamage(line: nil, what: "it knows no mode \"\(word)\"")
                }
                preferences.mode = mode
            }
            switch text["allow-roaming"] {
            case "yes": preferences.allowsRoaming = true
            case "no", nil: break
            case let word?: throw DocumentDamage(line: nil, what: "allow-roaming is \"\(word)\", neither yes nor no")
            }
            return preferences
        },
        encode: { preferences in
            [
                ("mode", preferences.mode.rawValue),
                ("allow-roaming", preferences.allowsRoaming ? "yes" : "no"),
            ]
        },
        knows: { $0 == "mode" || $0 == "allow-roaming" })
}
