import Glibc

/// A small HTTP server: `/original/NAME` and `/thumbnail/NAME`, with ranges and entity tags, each connection at a fixed
/// rate, so that a transfer lasts for seconds.
final class PictureServer: Sendable {
    private struct File: Sendable {
        let bytes: [UInt8]
        let tag: String
    }

    private let files: [String: File]
    private let listener: CInt
    private let bytesPerSecond: Int
    private let port: UInt16

    init(port: UInt16, bytesPerSecond: Int) throws {
        self.bytesPerSecond = bytesPerSecond
        self.port = port
        say("painting the pictures, which takes a moment")
        var files: [String: File] = [:]
        for (seed, name) in Picture.names.enumerated() {
            for (size, picture) in [("original", Picture.original(seed)), ("thumbnail", Picture.thumbnail(seed))] {
                let bytes = picture.png
                files["/\(size)/\(name)"] = File(bytes: bytes, tag: "\"\(name)-\(bytes.count)\"")
            }
        }
        self.files = files
        listener = socket(AF_INET, CInt(SOCK_STREAM.rawValue) | CInt(SOCK_CLOEXEC.rawValue), 0)
        var yes: CInt = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, socklen_t(MemoryLayout<CInt>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        let isBound = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(listener, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0 && listen(listener, 64) == 0
            }
        }
        guard isBound else { throw Trouble("cannot listen on port \(port): \(String(cString: strerror(errno)))") }
    }

    /// Serves until the process ends.
    func serve() throws {
        say("serving \(files.count) pictures on port \(port); now try 'gallery client http://127.0.0.1:\(port)'")
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else {
                if errno == EINTR || errno == ECONNABORTED { continue }
                throw Trouble("cannot accept connections: \(String(cString: strerror(errno)))")
            }
            let visit = Unmanaged.passRetained(Visit(self, connection))
            var thread = pthread_t()
            if pthread_create(&thread, nil, serveVisit, visit.toOpaque()) == 0 {
                pthread_detach(thread)
            } else {
                visit.release()
                close(connection)
            }
        }
    }

    fileprivate func converse(_ connection: CInt) {
        defer { close(connection) }
        var pending: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 4096)
        while true {
            guard let end = pending.firstRange(of: Array("\r\n\r\n".utf8)) else {
                let count = recv(connection, &buffer, buffer.count, 0)
                // A head larger than this is none of ours.
                guard count > 0, pending.count < 65_536 else { return }
                pending += buffer[..<count]
                continue
            }
            let head = String(decoding: pending[..<end.lowerBound], as: UTF8.self)
            pending.removeFirst(end.upperBound)
            guard answer(head, connection) else { return }
        }
    }

    private func answer(_ head: String, _ connection: CInt) -> Bool {
        let lines = head.split(separator: "\r\n")
        let words = lines.first?.split(separator: " ") ?? []
        func header(_ name: String) -> String? {
            lines.dropFirst().first { $0.lowercased().hasPrefix(name + ":") }
                .map { String($0.dropFirst(name.count + 1).drop { $0 == " " }) }
        }
        guard words.count == 3, words[0] == "GET", let file = files[String(words[1])] else {
            return send("HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n", connection)
        }
        let shared = "ETag: \(file.tag)\r\nCache-Control: max-age=86400\r\n"
        if header("if-none-match") == file.tag { return send("HTTP/1.1 304 Not Modified\r\n\(shared)\r\n", connection) }
        var (status, range, rest) = ("200 OK", "", file.bytes[...])
        if let asked = header("range"), asked.hasPrefix("bytes="), header("if-range") ?? file.tag == file.tag,
            let first = Int(asked.dropFirst(6).prefix { $0 != "-" }), first < file.bytes.count
        {
            (status, rest) = ("206 Partial Content", file.bytes[first...])
            range = "Content-Range: bytes \(first)-\(file.bytes.count - 1)/\(file.bytes.count)\r\n"
        }
        let answer =
            "HTTP/1.1 \(status)\r\nContent-Type: image/png\r\nContent-Length: \(rest.count)\r\n\(range)\(shared)\r\n"
        return send(answer, connection) && trickle(rest, connection)
    }

    /// Sends in small pieces, each when its time has come.
    private func trickle(_ bytes: ArraySlice<UInt8>, _ connection: CInt) -> Bool {
        // Some hundred pieces a second, so that the stream looks even.
        let piece = max(1024, bytesPerSecond / 500)
        let began = monotonicSeconds()
        var sent = 0
        while sent < bytes.count {
            let next = bytes.dropFirst(sent).prefix(piece)
            guard send(next, connection) else { return false }
            sent += next.count
            let ahead = Double(sent) / Double(bytesPerSecond) - (monotonicSeconds() - began)
            if ahead > 0 { usleep(UInt32(min(ahead, 1) * 1e6)) }
        }
        return true
    }

    private func send(_ text: String, _ connection: CInt) -> Bool { send(Array(text.utf8)[...], connection) }

    private func send(_ bytes: ArraySlice<UInt8>, _ connection: CInt) -> Bool {
        var rest = bytes
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, CInt(MSG_NOSIGNAL)) }
            guard count > 0 else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }
}

/// One connection and who serves it, on its way to a thread.
private final class Visit {
    let server: PictureServer
    let connection: CInt

    init(_ server: PictureServer, _ connection: CInt) {
        self.server = server
        self.connection = connection
    }
}

private func serveVisit(_ context: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    guard let context else { return nil }
    let visit = Unmanaged<Visit>.fromOpaque(context).takeRetainedValue()
    visit.server.converse(visit.connection)
    return nil
}
