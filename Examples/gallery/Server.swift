import Glibc

/// The server as the story sees it.
enum Server {
    /// Waits until somebody accepts connections there.
    static func waitUntilItAnswers(at address: String, port: UInt16) async throws {
        for _ in 0..<600 {
            if accepts(address, port) { return }
            try await Task.sleep(for: .milliseconds(100))
        }
        throw Trouble("the server does not answer")
    }

    private static func accepts(_ text: String, _ port: UInt16) -> Bool {
        let attempt = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        defer { close(attempt) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = inet_addr(text)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(attempt, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }
}
