import Glibc
import Reachability
import Synchronization

/// Bytes received so far on the two uplinks.
struct Received: Sendable, Hashable {
    var wifi: Int64 = 0
    var cellular: Int64 = 0

    /// From /proc/net/dev, which is that of this process's network namespace.
    static func now() -> Received {
        var received = Received()
        for line in text(of: "/proc/self/net/dev").split(separator: "\n") {
            let words = line.split { $0 == " " || $0 == ":" }
            guard words.count > 1, let count = Int64(words[1]) else { continue }
            if words[0] == "wlan0" { received.wifi = count }
            if words[0] == "wwan0" { received.cellular = count }
        }
        return received
    }

    static func - (one: Received, other: Received) -> Received {
        Received(wifi: one.wifi - other.wifi, cellular: one.cellular - other.cellular)
    }

    private static func text(of path: String) -> String {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return "" }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            let count = read(file, &buffer, buffer.count)
            guard count > 0 else { return String(decoding: bytes, as: UTF8.self) }
            bytes += buffer[..<count]
        }
    }
}

/// Everything that happens in the story, with its time.
final class Diary: Sendable {
    struct Chapter: Sendable {
        var time: Double
        var title: String
        var checks: [(what: String, holds: Bool)] = []
    }

    struct Screen: Sendable {
        var time: Double
        /// `original`, `thumbnail`, or a placeholder in brackets.
        var picture: String
        var progress: String
        var why: String
    }

    struct Entries: Sendable {
        var chapters: [Chapter] = []
        var statuses: [(time: Double, status: String, words: String)] = []
        var screens: [String: [Screen]] = [:]
        var samples: [(time: Double, received: Received)] = []
        var facts: [(String, String)] = []
        var end = 0.0
    }

    private let began = monotonicSeconds()
    private let state = Mutex(Entries())

    var entries: Entries { state.withLock { $0 } }
    var now: Double { monotonicSeconds() - began }

    func open(_ title: String) {
        let time = now
        state.withLock { $0.chapters.append(Chapter(time: time, title: title)) }
        say("\n\(stamp(time))  \(title)")
    }

    /// Something that must hold for the story to be true.
    func check(_ what: String, _ holds: Bool) {
        state.withLock { state in
            if !state.chapters.isEmpty { state.chapters[state.chapters.count - 1].checks.append((what, holds)) }
        }
        say("           \(holds ? "ok   " : "WRONG") \(what)")
    }

    func note(_ path: NetworkPath) {
        let time = now
        state.withLock { $0.statuses.append((time, path.status.rawValue, path.description)) }
        say("\(stamp(time))    network  \(path)")
    }

    func note(_ name: String, _ screen: Screen) {
        let isNews = state.withLock { state in
            let last = state.screens[name]?.last
            state.screens[name, default: []].append(screen)
            return last?.picture != screen.picture || last?.why != screen.why
        }
        guard isNews else { return }
        say(
            "\(stamp(screen.time))    \(name): \(screen.picture)\(screen.progress.isEmpty ? "" : " (\(screen.progress))")"
        )
        say("                    \(screen.why)")
    }

    func sample() {
        let (time, received) = (now, Received.now())
        state.withLock { $0.samples.append((time, received)) }
    }

    func fact(_ name: String, _ value: String) {
        state.withLock { $0.facts.append((name, value)) }
        say("           \(name): \(value)")
    }

    func close() {
        let time = now
        state.withLock { $0.end = time }
    }

    private func stamp(_ time: Double) -> String {
        let text = time.fixed(2) + " s"
        return String(repeating: " ", count: max(0, 8 - text.count)) + text
    }
}
