import Foundation
import Synchronization

/// A server on raw sockets that does to each connection what its script says, faults above all.
final class FaultServer: Sendable {
    /// A request as it came over the wire.
    struct Request: Sendable {
        let line: String
        let headers: [(name: String, value: String)]
        let body: [UInt8]

        var method: String { String(line.prefix { $0 != " " }) }
        var target: String { line.split(separator: " ").dropFirst().first.map(String.init) ?? "" }
        subscript(name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }
        /// The first byte asked for with Range.
        var rangeStart: Int? {
            self["Range"].flatMap { $0.hasPrefix("bytes=") ? Int($0.dropFirst(6).prefix { $0 != "-" }) : nil }
        }
    }

    /// One request and the connection it came on.
    struct Exchange: Sendable {
        let request: Request
        /// Counted over all connections, from 0.
        let number: Int
        fileprivate let socket: Int32

        /// - Returns: whether the peer still took it.
        @discardableResult
        func send(_ bytes: some Collection<UInt8>) -> Bool {
            let bytes = Array(bytes)
            var sent = 0
            while sent < bytes.count {
                let count = bytes.withUnsafeBytes {
                    Glibc.send(socket, $0.baseAddress! + sent, bytes.count - sent, Int32(MSG_NOSIGNAL))
                }
                if count <= 0 { return false }
                sent += count
            }
            return true
        }

        @discardableResult
        func send(_ text: String) -> Bool { send(Array(text.utf8)) }

        /// A head with Content-Length and these lines, then the body.
        func answer(_ status: String, _ lines: [String] = [], body: [UInt8] = []) {
            let head = ["HTTP/1.1 \(status)", "Content-Length: \(body.count)"] + lines
            send(head.joined(separator: "\r\n") + "\r\n\r\n")
            send(body)
        }

        /// Ends the connection in good order.
        func close() { shutdown(socket, Int32(SHUT_RDWR)) }

        /// Ends it with a reset.
        func reset() {
            var linger = linger(l_onoff: 1, l_linger: 0)
            setsockopt(socket, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
            // Closing is what sends the reset; the descriptor's number is kept until the thread is done with it.
            let null = open("/dev/null", O_RDWR)
            dup2(null, socket)
            Glibc.close(null)
        }

        /// Says nothing more until the peer goes away.
        func hang() {
            var buffer = [UInt8](repeating: 0, count: 4096)
            while recv(socket, &buffer, buffer.count, 0) > 0 {}
        }
    }

    typealias Script = @Sendable (Exchange) -> Void

    private struct State {
        var requests: [Request] = []
        var connections: Set<Int32> = []
        var accepted = 0
        var isStopped = false
    }

    let port: UInt16
    let host: String
    private let listener: Int32
    private let script: Script
    private let state = Mutex(State())
    /// Every request as it arrives.
    let arrivals: AsyncStream<Request>
    private let arrived: AsyncStream<Request>.Continuation

    init(host: String = "127.0.0.1", _ script: @escaping Script) throws {
        self.script = script
        self.host = host
        (arrivals, arrived) = AsyncStream.makeStream(of: Request.self)
        let made = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        guard made >= 0 else { throw POSIXError(.EIO) }
        listener = made
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = inet_addr(host)
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(made, $0, length) == 0 && listen(made, 512) == 0 && getsockname(made, $0, &length) == 0
            }
        }
        guard isBound else { throw POSIXError(.EADDRINUSE) }
        port = UInt16(bigEndian: address.sin_port)
        Thread { [self] in serve() }.start()
    }

    /// A port on which nothing listens.
    static func closedPort() throws -> UInt16 {
        let server = try FaultServer { _ in }
        server.stop()
        return server.port
    }

    func url(_ path: String = "/body") -> String { "http://\(host):\(port)\(path)" }

    var requests: [Request] { state.withLock { $0.requests } }
    var connectionsAccepted: Int { state.withLock { $0.accepted } }

    /// Ends all connections and the threads that serve them.
    func stop() {
        let open = state.withLock { state in
            state.isStopped = true
            return state.connections
        }
        shutdown(listener, Int32(SHUT_RDWR))
        for connection in open { shutdown(connection, Int32(SHUT_RDWR)) }
        arrived.finish()
    }

    private func serve() {
        while true {
            let connection = accept(listener, nil, nil)
            guard connection >= 0 else { break }
            let isWelcome = state.withLock { state in
                guard !state.isStopped else { return false }
                state.connections.insert(connection)
                state.accepted += 1
                return true
            }
            guard isWelcome else {
                close(connection)
                break
            }
            Thread { [self] in
                converse(connection)
                state.withLock { _ = $0.connections.remove(connection) }
                close(connection)
            }.start()
        }
        close(listener)
    }

    private func converse(_ connection: Int32) {
        var one: Int32 = 1
        setsockopt(connection, Int32(IPPROTO_TCP), TCP_NODELAY, &one, socklen_t(MemoryLayout<Int32>.size))
        var pending: [UInt8] = []
        while let request = read(connection, &pending) {
            let number = state.withLock { state in
                state.requests.append(request)
                return state.requests.count - 1
            }
            arrived.yield(request)
            script(Exchange(request: request, number: number, socket: connection))
        }
    }

    private func read(_ connection: Int32, _ pending: inout [UInt8]) -> Request? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        func more() -> Bool {
            let count = recv(connection, &buffer, buffer.count, 0)
            if count > 0 { pending += buffer[..<count] }
            return count > 0
        }
        let blank = Array("\r\n\r\n".utf8)
        var end = pending.firstRange(of: blank)
        while end == nil {
            guard more() else { return nil }
            end = pending.firstRange(of: blank)
        }
        let lines = String(decoding: pending[..<end!.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        pending.removeFirst(end!.upperBound)
        let headers = lines.dropFirst().map { line in
            let parts = line.split(separator: ":", maxSplits: 1)
            return (name: String(parts[0]), value: parts.count > 1 ? parts[1].trimmingCharacters(in: .whitespaces) : "")
        }
        let length = headers.first { $0.name.lowercased() == "content-length" }.flatMap { Int($0.value) } ?? 0
        while pending.count < length { guard more() else { return nil } }
        let body = Array(pending.prefix(length))
        pending.removeFirst(length)
        return Request(line: lines[0], headers: headers, body: body)
    }
}
