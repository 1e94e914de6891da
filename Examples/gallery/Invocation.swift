import Glibc

/// A mistake on the command line.
struct UsageError: Error, CustomStringConvertible {
    let problem: String
    var description: String { "\(problem); see 'gallery help'" }
}

/// Something the example needs from the machine and does not get.
struct Trouble: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

/// What the command line asks for.
enum Invocation {
    case server(port: UInt16, bytesPerSecond: Int)
    case client(server: String, folder: String)
    case story(page: String)
    /// The story itself, in the namespace that `story` has made; nobody types it.
    case insideStory(page: String, world: String)
    case help

    static let usage = """
        gallery: pictures in two sizes, shown as well as the network allows

          gallery server [--port N] [--rate BYTES]   serves /thumbnail/NAME and /original/NAME to anybody, at so many bytes
                                                     a second for each connection
          gallery client URL [--folder PATH]         shows what it would put on a screen, and why, as the network changes
          gallery story [--page FILE]                a phone between Wi-Fi and cellular, in network namespaces (needs root
                                                     and iproute2); writes a page about it, gallery-story.html
          gallery help

        Exit status of the story: 0 if everything in it held, 1 if not.
        """

    init(_ words: [String]) throws(UsageError) {
        var words = words[...]
        guard let name = words.popFirst() else { throw UsageError(problem: "no command given") }
        var plain: [String] = []
        var options: [String: String] = [:]
        while let word = words.popFirst() {
            guard word.hasPrefix("--") else {
                plain.append(word)
                continue
            }
            guard let value = words.popFirst() else { throw UsageError(problem: "\(word) needs a value") }
            options[word] = value
        }
        func take(_ option: String) -> String? { options.removeValue(forKey: option) }
        switch name {
        case "server":
            guard let port = UInt16(take("--port") ?? "8080"), let rate = Int(take("--rate") ?? "1500000"), rate > 0
            else { throw UsageError(problem: "--port and --rate take numbers") }
            self = .server(port: port, bytesPerSecond: rate)
        case "client":
            guard let server = plain.popLast() else { throw UsageError(problem: "the server's URL is missing") }
            self = .client(
                server: server.hasSuffix("/") ? String(server.dropLast()) : server,
                folder: take("--folder") ?? "/tmp/gallery-\(getuid())")
        case "story": self = .story(page: take("--page") ?? "gallery-story.html")
        case "inside-story": self = .insideStory(page: take("--page") ?? "", world: take("--world") ?? "")
        case "help", "--help", "-h": self = .help
        default: throw UsageError(problem: "there is no command '\(name)'")
        }
        if let left = options.keys.first ?? plain.first { throw UsageError(problem: "'\(left)' means nothing here") }
    }
}
