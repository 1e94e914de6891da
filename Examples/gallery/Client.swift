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
            // In tens, so that a terminal can still be read.
            "\(variant) \(Int64(10 * Double(received) / Double(max(1, total))) * 10) %"
        case .fetching(let variant, 0, nil): "\(variant) asked for"
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
        // Before anything is begun, so that a URL that cannot be used is all there is to read.
        let resources = try Picture.names.map { try gallery.resource($0) }
        say("showing the pictures of \(server) as the network changes; end it by ctrl-C")
        say("what has come is kept in \(folder), and shown from there the next time")
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await path in monitor { say("  network: \(path)") } }
            for resource in resources { group.addTask { await follow(resource, gallery) } }
        }
    }

    private func follow(_ resource: Resource, _ gallery: Gallery) async {
        let name = resource.id.name
        var (last, decision): (String, PolicyDecision?) = ("", nil)
        for await display in gallery.loader.load(resource) {
            let line = "\(name): \(display.picture)\(display.progress.isEmpty ? "" : ", \(display.progress)")"
            var lines = line == last ? [] : [line]
            last = line
            if display.decision != decision {
                decision = display.decision
                if let why = gallery.loader.advisor.explain(resource.identity, trigger: .visible) {
                    if lines.isEmpty { lines.append(line) }
                    lines.append("    \(why.summary)")
                    lines += why.reasons.map { "      because \($0)" }
                    lines += why.alternatives.map { "      \($0)" }
                }
            }
            // At once, so that no other picture's lines come between.
            if !lines.isEmpty { say(lines.joined(separator: "\n")) }
        }
    }
}
