import Synchronization

/// How a value is written to a file.
struct DocumentFormat<Value: Sendable & Equatable>: Sendable {
    /// Lines at the top, for people.
    var comments: [String]
    /// The value where there is no file.
    var initial: @Sendable () -> Value
    /// The value after damage, and while the file has never been readable.
    var afterDamage: @Sendable () -> Value
    var decode: @Sendable (KeyValueText) throws(DocumentDamage) -> Value
    var encode: @Sendable (Value) -> [(key: String, value: String)]
    /// Whether a key is one that `encode` writes.
    var knows: @Sendable (String) -> Bool
}

/// A value in a file that several processes read and change.
///
/// Reading never waits for another process. Changing takes the lock all processes share, reads what is there, and
/// replaces it, so that no change is lost. Every change, of whichever process, is told to every stream.
final class StoredDocument<Value: Sendable & Equatable>: Sendable {
    private struct State {
        var watcher: FileWatcher?
    }

    /// The only version of the format so far.
    private static var version: String { "1" }

    let file: DurableFile
    private let format: DocumentFormat<Value>
    private let values: Broadcaster<Value>
    private let problems = Broadcaster<StoreProblem?>(nil)
    /// Orders reading the file and posting what was read, so that what was read last is told last.
    private let state = Mutex(State())

    init(path: String, format: DocumentFormat<Value>) throws(StoreError) {
        file = DurableFile(path: path)
        self.format = format
        // What holds if the file cannot be read: whatever it says, it is not nothing.
        values = Broadcaster(format.afterDamage())
        try file.createDirectory()
        reload()
    }

    var value: Value { values.value }
    var problem: StoreProblem? { problems.value }

    func stream(keeping owner: any AnyObject & Sendable) -> AsyncStream<Value> {
        values.stream(keeping: owner)
    }

    func problemStream(keeping owner: any AnyObject & Sendable) -> AsyncStream<StoreProblem?> {
        problems.stream(keeping: owner)
    }

    /// Reads the file again.
    func reload() {
        state.withLock { state in
            watch(&state)
            do throws(StoreError) {
                try values.post(read())
                if case .unreadable = problems.value { problems.post(nil) }
            } catch {
                problems.post(.unreadable(error))
            }
        }
        deliver()
    }

    /// Changes the value, durably, and returns what `change` returned. Nothing is written if nothing changed.
    ///
    /// `change` runs under the locks: it must not come back to this document.
    func update<Result: Sendable>(_ change: (inout Value) -> Result) throws(StoreError) -> Result {
        defer { deliver() }
        return try state.withLock { (state) throws(StoreError) -> Result in
            watch(&state)
            return try file.withLock { () throws(StoreError) -> Result in
                var content = try readUnderLock()
                let before = content.value
                let result = change(&content.value)
                if content.value != before { try file.replace(with: encoded(content)) }
                values.post(content.value)
                return result
            }
        }
    }

    private func deliver() {
        values.deliver()
        problems.deliver()
    }

    /// Watches the folder unless it is being watched.
    private func watch(_ state: inout State) {
        guard state.watcher == nil else { return }
        do throws(StoreError) {
            try file.createDirectory()
            state.watcher = try FileWatcher(directory: file.directory, name: file.name) { [weak self] event in
                self?.noticed(event)
            }
            if case .notWatching = problems.value { problems.post(nil) }
        } catch {
            problems.post(.notWatching(error))
        }
    }

    private func noticed(_ event: FileWatcher.Event) {
        if case .lost = event {
            // Dropped after the lock is let go: the thread that called is on its way out.
            let lost = state.withLock { exchange(&$0.watcher, with: nil) }
            withExtendedLifetime(lost) {}
        }
        reload()
    }

    private func read() throws(StoreError) -> Value {
        if case .success(let content) = try decoded() { return content.value }
        // Whoever writes may have replaced it meanwhile, so it is judged again where nobody writes.
        return try file.withLock { () throws(StoreError) -> Value in try readUnderLock().value }
    }

    /// A file's value, and the entries a later version may have added, which are not ours to lose.
    private typealias Content = (value: Value, others: [(key: String, value: String)])

    private func readUnderLock() throws(StoreError) -> Content {
        switch try decoded() {
        case .success(let content):
            return content
        case .failure(let damage):
            let content: Content = (format.afterDamage(), [])
            let aside = try file.replaceKeepingOld(with: encoded(content))
            problems.post(.damaged(path: file.path, keptAs: aside, damage: damage))
            return content
        }
    }

    private func decoded() throws(StoreError) -> Result<Content, DocumentDamage> {
        guard let bytes = try file.read() else { return .success((format.initial(), [])) }
        let text: KeyValueText
        do throws(DocumentDamage) {
            text = try KeyValueText(parsing: bytes)
        } catch {
            return .failure(error)
        }
        guard let version = text["version"] else {
            return .failure(DocumentDamage(line: nil, what: "it does not say its version"))
        }
        guard version == Self.version else { throw .newerVersion(path: file.path, version: version) }
        do throws(DocumentDamage) {
            let others = text.entries.filter { $0.key != "version" && !format.knows($0.key) }
            return .success((try format.decode(text), others))
        } catch {
            return .failure(error)
        }
    }

    private func encoded(_ content: Content) -> [UInt8] {
        KeyValueText(entries: [("version", Self.version)] + format.encode(content.value) + content.others)
            .bytes(comments: format.comments)
    }
}
