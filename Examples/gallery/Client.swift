import DownloadPolicy
import Glibc
import Reachability
import ResourceLoader

/// The pictures of a server, and a loader for them.
struct Gallery: Sendable {
    let loader: ResourceLoader
    let preferences: PreferencesStore
    let server: String

    init(server: String, folder: String, monitor: ReachabilityMonitor) throws {
        self.server = server
        preferences = try PreferencesStore(path: "\(folder)/preferences")
        loader = try ResourceLoader(
            monitor: monitor, preferences: preferences, cache: try DiskCache(directory: "\(folder)/cache"))
    }

    func resource(_ name: String) throws -> Resource {
        try Resource(ResourceID(name), thumbnail: "\(server)/thumbnail/\(name)", original: "\(server)/original/\(name)")
    }
}

extension ResourceDisplay {
    /// What is on the screen, in a word.
    var picture: String {
        switch content {
        case .body(let body, _): body.entry.variant.name
        case .placeholder(let placeholder): "[\(placeholder.rawValue)]"
        case .empty: "[nothing]"
        }
    }

    /// What is done meanwhile.
    var progress: String {
        switch activity {
        case .none: ""
        case .queued(let variant): "\(variant) in line"
        case .fetching(let variant, let received, let total?):
            "\(variant) \(Int64(100 * Double(received) / Double(max(1, total)))) %"
        case .fetching(let variant, let received, nil): "\(variant) \(bytes(received))"
        case .waiting(let variant, .online): "\(variant) waits for a network"
        case .waiting(let variant, .unmetered): "\(variant) waits for a cheaper network"
        case .backingOff(let variant, let failure): "\(variant) tries again (\(failure))"
        }
    }
}

/// Follows all pictures in a terminal.
struct Client {
    let server: String
    let folder: String

    func run() async throws {
        let monitor = ReachabilityMonitor()
        try monitor.start()
        let gallery = try Gallery(server: server, folder: folder, monitor: monitor)
        await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { for await path in monitor { say("  network: \(path)") } }
            for name in Picture.names {
                group.addTask { try await follow(name, gallery) }
            }
        }
    }

    private func follow(_ name: String, _ gallery: Gallery) async throws {
        var (last, decision): (String, PolicyDecision?) = ("", nil)
        for await display in gallery.loader.load(try gallery.resource(name)) {
            let line = "\(name): \(display.picture)\(display.progress.isEmpty ? "" : ", \(display.progress)")"
            if line != last { say(line) }
            last = line
            guard display.decision != decision else { continue }
            decision = display.decision
            guard let why = gallery.loader.advisor.explain(ResourceID(name), trigger: .visible) else { continue }
            say("    \(why.summary)")
            for reason in why.reasons { say("      because \(reason)") }
            for alternative in why.alternatives { say("      \(alternative)") }
        }
    }
}
