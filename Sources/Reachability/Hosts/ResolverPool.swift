import Glibc
import Netlink
import Synchronization
import Threads

/// A few threads that do nothing but wait for getaddrinfo, which can't be told to give up.
///
/// A thread starts when there is something to ask, and ends when there is nothing left. There are never more than the limit, so that
/// name servers that do not answer tie up that many at most; what is asked meanwhile waits. A single name never has more than
/// two threads: the second for the network of now, while the first is still stuck with the one of before.
package final class ResolverPool: HostResolver {
    /// What asks the system, and waits for it.
    package typealias LookUp = @Sendable (_ name: String) -> [IPAddress]

    /// The pool of this process.
    package static let shared = ResolverPool(limit: 8, lookUp: askSystem)

    private static let threadsPerName = 2

    private struct Request {
        let name: String
        let answer: @Sendable ([IPAddress]) -> Void
    }

    private struct State {
        var requests: [Request] = []
        /// The names that threads are waiting for.
        var running: [String: Int] = [:]
        var threads = 0

        mutating func takeRequest() -> Request? {
            let position = requests.firstIndex { running[$0.name, default: 0] < ResolverPool.threadsPerName }
            guard let position else { return nil }
            let request = requests.remove(at: position)
            running[request.name, default: 0] += 1
            return request
        }

        mutating func finish(_ request: Request) {
            let left = running[request.name, default: 1] - 1
            running[request.name] = left > 0 ? left : nil
        }
    }

    private let limit: Int
    private let lookUp: LookUp
    private let state = Mutex(State())

    /// - Parameters:
    ///   - limit: how many threads at most.
    ///   - lookUp: what the threads call; it may block.
    package init(limit: Int, lookUp: @escaping LookUp) {
        self.limit = limit
        self.lookUp = lookUp
    }

    /// The threads there are at this moment.
    package var threads: Int { state.withLock(\.threads) }

    package func resolve(_ name: String, answer: @escaping @Sendable ([IPAddress]) -> Void) {
        let needsThread = state.withLock { state in
            state.requests.append(Request(name: name, answer: answer))
            guard state.threads < limit else { return false }
            state.threads += 1
            return true
        }
        if needsThread { startThread() }
    }

    private func startThread() {
        if DedicatedThread.start("name resolver", { [self] in run() }) == 0 { return }
        // The other threads take the request over. Without any there is no answer to be had.
        let orphans = state.withLock { state -> [Request] in
            state.threads -= 1
            guard state.threads == 0 else { return [] }
            defer { state.requests = [] }
            return state.requests
        }
        for request in orphans { request.answer([]) }
    }

    private func run() {
        var finished: Request?
        while true {
            let request = state.withLock { state -> Request? in
                if let finished { state.finish(finished) }
                let next = state.takeRequest()
                if next == nil { state.threads -= 1 }
                return next
            }
            guard let request else { return }
            request.answer(lookUp(request.name))
            finished = request
        }
    }
}

/// The addresses of a name as the system's resolver has them (hosts file, DNS and what else nsswitch.conf says), in its order
/// (RFC 6724). Both families, whatever the machine has at the moment: which of them has a way out is what paths are for.
private func askSystem(_ name: String) -> [IPAddress] {
    var hints = addrinfo()
    // One entry for each address, not one for each kind of socket.
    hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
    var list: UnsafeMutablePointer<addrinfo>?
    guard getaddrinfo(name, nil, &hints, &list) == 0 else { return [] }
    defer { freeaddrinfo(list) }
    return sequence(first: list, next: { $0?.pointee.ai_next }).compactMap { entry in
        entry?.pointee.ai_addr.flatMap { IPAddress(socketAddress: UnsafeRawPointer($0)) }
    }
}

extension IPAddress {
    /// The address in a `sockaddr_in` or `sockaddr_in6`, which need not be aligned; `nil` for other families.
    package init?(socketAddress pointer: UnsafeRawPointer) {
        let family = pointer.loadUnaligned(
            fromByteOffset: MemoryLayout<sockaddr>.offset(of: \.sa_family) ?? 0, as: sa_family_t.self)
        let (offset, count): (Int?, Int)
        switch Int32(family) {
        case AF_INET: (offset, count) = (MemoryLayout<sockaddr_in>.offset(of: \.sin_addr), 4)
        case AF_INET6: (offset, count) = (MemoryLayout<sockaddr_in6>.offset(of: \.sin6_addr), 16)
        default: return nil
        }
        guard let offset else { return nil }
        self.init(bytes: UnsafeRawBufferPointer(start: pointer + offset, count: count))
    }
}
