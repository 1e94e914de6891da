import CCurl
import Glibc

/// Every socket libcurl has open, so that those of a path that is gone can be shut: libcurl keeps idle connections for reuse, and would
/// send the next request over the old path. Lives on the engine's thread, longer than its multi handle.
final class SocketRegistry {
    private var open: Set<Int32> = []

    func attach(to easy: UnsafeMutableRawPointer) {
        let user = Unmanaged.passUnretained(self).toOpaque()
        ccurl_set_open_function(easy, openSocket)
        ccurl_set_pointer(easy, CURLOPT_OPENSOCKETDATA, user)
        ccurl_set_close_function(easy, closeSocket)
        ccurl_set_pointer(easy, CURLOPT_CLOSESOCKETDATA, user)
    }

    /// Ends every connection. libcurl finds a shut one dead before it reuses it.
    func shutAll() {
        for socket in open { shutdown(socket, Int32(SHUT_RDWR)) }
    }

    fileprivate func make(_ address: UnsafeMutablePointer<curl_sockaddr>) -> Int32 {
        let type = address.pointee.socktype | Int32(SOCK_CLOEXEC.rawValue)
        let made = socket(address.pointee.family, type, address.pointee.`protocol`)
        if made >= 0 { open.insert(made) }
        return made
    }

    fileprivate func end(_ socket: Int32) {
        open.remove(socket)
        close(socket)
    }
}

private func openSocket(
    _ user: UnsafeMutableRawPointer?, _ purpose: curlsocktype, _ address: UnsafeMutablePointer<curl_sockaddr>?
) -> curl_socket_t {
    guard let user, let address else { return -1 }
    return Unmanaged<SocketRegistry>.fromOpaque(user).takeUnretainedValue().make(address)
}

private func closeSocket(_ user: UnsafeMutableRawPointer?, _ socket: curl_socket_t) -> Int32 {
    guard let user else { return 1 }
    Unmanaged<SocketRegistry>.fromOpaque(user).takeUnretainedValue().end(socket)
    return 0
}
