// Another process for the tests: one that changes a file until it is killed, does one thing to it, or follows the
// network of a namespace of its own.

import DownloadPolicy
import Glibc
import Reachability

/// Tells the test, which reads a pipe, at once.
func say(_ word: String) {
    let bytes = Array("\(word)\n".utf8)
    _ = write(STDOUT_FILENO, bytes, bytes.count)
}

let arguments = CommandLine.arguments
guard arguments.count >= 3 else { exit(64) }
let path = arguments[2]

switch arguments[1] {
case "set-mode":
    guard arguments.count == 4, let mode = DownloadPreferences.Mode(rawValue: arguments[3]) else { exit(64) }
    try PreferencesStore(path: path).update { $0.mode = mode }
case "flip-preferences":
    let store = try PreferencesStore(path: path)
    while true {
        try store.update { preferences in
            preferences = DownloadPreferences(
                preferences.mode == .lowest ? .alwaysOriginal : .lowest, allowsRoaming: preferences.mode == .lowest)
        }
        say("changed")
    }
case "spend":
    let budget = try DataBudget(
        path: path, limit: 1 << 40, assumedSize: 1, period: BillingPeriod(startingOn: 1, zone: .utcOffset(seconds: 0)))
    while true {
        let reservation = try budget.reserve(100)
        say("reserved")
        try budget.commit(reservation, used: 100)
        say("committed")
    }
case "local-offset":
    say("\(BillingZone.local.offset(at: Int(path) ?? 0))")
case "open-many":
    func entries(of directory: String) -> Int {
        guard let stream = opendir(directory) else { return -1 }
        defer { closedir(stream) }
        var count = 0
        while readdir(stream) != nil { count += 1 }
        return count
    }
    let descriptors = entries(of: "/proc/self/fd")
    for _ in 0..<300 {
        let store = try PreferencesStore(path: path)
        _ = store.changes()
        // The watcher's thread closes its descriptors when it has noticed; then there is room for the next one.
        withExtendedLifetime(store) {}
        while entries(of: "/proc/self/fd") > descriptors + 40 { sched_yield() }
    }
    while entries(of: "/proc/self/fd") > descriptors { sched_yield() }
    while entries(of: "/proc/self/task") > 3 { sched_yield() }
    say("nothing left")
case "hold-lock":
    // Stands in for a process that is stopped in the middle of a change.
    let descriptor = open("\(path).lock", O_RDWR | O_CREAT, 0o600)
    guard descriptor >= 0, flock(descriptor, LOCK_EX) == 0 else { exit(70) }
    say("locked")
    while true { pause() }
case "follow":
    // The app of a few lines: which picture to show, which one to load.
    struct Cache: LadderSource {
        let thumbnail: CacheState
        func ladders(of resource: ResourceID) -> AsyncStream<Ladder> {
            AsyncStream { $0.yield(Ladder(thumbnail: Rung(thumbnail))) }
        }
    }
    Task.detached {
        // The test says what happens to the network.
        while let command = readLine() { say(system(command) == 0 ? "done" : "failed") }
        exit(0)
    }
    let advisor = PolicyAdvisor(
        monitor: ReachabilityMonitor(), preferences: try PreferencesStore(path: path),
        ladders: Cache(thumbnail: arguments.contains("thumbnail") ? .fresh : .absent))
    for await decision in advisor.decisions(for: "picture", trigger: .visible) {
        let shown = decision.display.quality.map { $0 == .original ? "original" : "thumbnail" } ?? "placeholder"
        let loaded = decision.fetches.last.map { $0.quality == .original ? "original" : "thumbnail" } ?? "nothing"
        say("show \(shown), load \(loaded)")
    }
default:
    exit(64)
}
