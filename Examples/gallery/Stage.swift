import Glibc

/// Builds the stage for the story: a phone with a Wi-Fi and a cellular uplink, and a world with a server, each in a network
/// namespace of its own. All of it is gone afterwards.
struct Stage {
    let page: String

    private let phone = "gallery-phone-\(getpid())"
    private let world = "gallery-world-\(getpid())"

    init(page: String) { self.page = page }

    /// The exit status of the story.
    func perform() throws -> CInt {
        guard geteuid() == 0 else { throw Trouble("the story makes network namespaces, which takes root") }
        let program = try ownPath()
        defer { strike() }
        try build()
        let server = try start(["ip", "netns", "exec", world, program, "server", "--port", "8080", "--rate", "1500000"])
        defer {
            kill(server, SIGTERM)
            _ = exitStatus(of: server)
        }
        let story = try start([
            "ip", "netns", "exec", phone, program, "inside-story", "--page", page, "--world", world,
        ])
        // From here on an interrupt ends the story first, and the stage is struck all the same.
        signal(SIGINT, SIG_IGN)
        signal(SIGTERM, SIG_IGN)
        return exitStatus(of: story)
    }

    private func build() throws {
        for name in [phone, world] {
            try run("ip", "netns", "add", name)
            try run("ip", "-n", name, "link", "set", "lo", "up")
        }
        try run("ip", "-n", world, "address", "add", "10.99.0.1/32", "dev", "lo")
        for (link, network) in [("wlan0", 1), ("wwan0", 2)] {
            let far = "peer-\(link)"
            try run(
                "ip", "-n", phone, "link", "add", link, "type", "veth", "peer", "name", far, "netns", world)
            for (side, name, host) in [(phone, link, 2), (world, far, 1)] {
                // No IPv6 addresses, whose own traffic would be counted.
                try run("ip", "-n", side, "link", "set", name, "addrgenmode", "none")
                try run("ip", "-n", side, "address", "add", "10.\(network).0.\(host)/24", "dev", name)
                try run("ip", "-n", side, "link", "set", name, "up")
            }
        }
    }

    private func strike() {
        for name in [phone, world] { try? run("ip", "netns", "delete", name) }
    }

    private func ownPath() throws -> String {
        var buffer = [CChar](repeating: 0, count: 4096)
        let count = readlink("/proc/self/exe", &buffer, buffer.count)
        guard count > 0 else { throw Trouble("cannot find this program's own file") }
        return String(decoding: buffer[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
