import DownloadPolicy
import Glibc
import ResourceLoader
import Synchronization

/// The screen of the story: it shows some pictures, and the story waits for what it wants to see.
final class Viewer: Sendable {
    private struct State {
        var displays: [String: ResourceDisplay] = [:]
        var tasks: [String: Task<Void, Never>] = [:]
    }

    let gallery: Gallery
    private let diary: Diary
    private let state = Mutex(State())

    init(_ gallery: Gallery, _ diary: Diary) {
        self.gallery = gallery
        self.diary = diary
    }

    /// Puts a picture on the screen.
    func show(_ name: String) async throws {
        let displays = gallery.loader.load(try gallery.resource(name))
        let task = Task { [self] in
            for await display in displays {
                state.withLock { $0.displays[name] = display }
                let why = display.decision.reasons.map { $0.rule.words }.joined(separator: "; ")
                diary.note(
                    name,
                    Diary.Screen(time: diary.now, picture: display.picture, progress: display.progress, why: why))
            }
        }
        state.withLock { $0.tasks[name] = task }
    }

    /// Takes everything off the screen.
    func clear() {
        let tasks = state.withLock { state in
            defer { state = State() }
            return state.tasks.values
        }
        for task in tasks { task.cancel() }
    }

    /// Waits until a picture is shown like that.
    func wait(_ name: String, until isRight: @Sendable (ResourceDisplay) -> Bool) async throws {
        let end = monotonicSeconds() + 60
        while monotonicSeconds() < end {
            if let display = state.withLock({ $0.displays[name] }), isRight(display) { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        let last = state.withLock { $0.displays[name] }
        throw Trouble("\(name) did not come to what the story needs; it shows \(last?.picture ?? "nothing")")
    }

    /// Lets some time pass in which nothing should happen.
    func hold(for time: Duration) async throws { try await Task.sleep(for: time) }

    /// Whether the thumbnail is shown and the original waits for a cheaper network.
    func isWaiting(_ name: String) -> Bool {
        guard let display = state.withLock({ $0.displays[name] }) else { return false }
        return display.variant == .thumbnail && display.activity == .waiting(.original, for: .unmetered)
    }

    /// The placeholder that is shown, if one is.
    func placeholder(_ name: String) -> Placeholder? { state.withLock { $0.displays[name]?.placeholder } }

    /// Whether exactly these bytes are shown.
    func matches(_ name: String, _ expected: [UInt8]) throws -> Bool {
        guard case .body(let body, _) = state.withLock({ $0.displays[name] })?.content else { return false }
        return try body.bytes() == expected
    }
}

extension ResourceDisplay {
    /// The bytes at hand of a rendition that is being fetched.
    func received(_ variant: CacheVariant) -> Int64 {
        if case .fetching(variant, let received, _) = activity { return received }
        return 0
    }
}
