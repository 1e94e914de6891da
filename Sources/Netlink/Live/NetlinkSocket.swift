import CNetlink
import Glibc

/// A netlink socket, closed exactly once, when its owner goes.
struct NetlinkSocket: ~Copyable {
    /// libnl's socket: the owner of the descriptor.
    let handle: OpaquePointer

    init(protocol number: CInt) throws(NetlinkError) {
        guard let handle = nl_socket_alloc() else { throw NetlinkError(.openSocket, errno: ENOMEM) }
        // libnl's own error numbers lose the system's, which is still in errno. nl_connect sets O_CLOEXEC.
        Glibc.errno = 0
        guard nl_connect(handle, number) == 0 else {
            let error = NetlinkError(.openSocket, errno: Glibc.errno == 0 ? EPROTO : Glibc.errno)
            nl_socket_free(handle)
            throw error
        }
        self.handle = handle
    }

    deinit { nl_socket_free(handle) }

    var descriptor: CInt { nl_socket_get_fd(handle) }

    /// Has to come after the connection: nl_connect sets 32 KiB, which is 78 events.
    func setReceiveBuffer(bytes: CInt) throws(NetlinkError) {
        // SO_RCVBUFFORCE goes beyond net.core.rmem_max, but wants CAP_NET_ADMIN.
        if setOption(SOL_SOCKET, SO_RCVBUFFORCE, bytes) { return }
        guard setOption(SOL_SOCKET, SO_RCVBUF, bytes) else {
            throw NetlinkError(.sizeReceiveBuffer, errno: Glibc.errno)
        }
    }

    func setOption(_ level: CInt, _ name: CInt, _ value: CInt) -> Bool {
        withUnsafeBytes(of: value) { setsockopt(descriptor, level, name, $0.baseAddress, socklen_t($0.count)) == 0 }
    }

    /// Makes the kernel (port 0) the only one to send to and to hear from: it turns away what other processes send here.
    func connectToKernel() throws(NetlinkError) {
        var kernel = sockaddr_nl()
        kernel.nl_family = UInt16(AF_NETLINK)
        let connected = withUnsafePointer(to: kernel) { kernel in
            kernel.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_nl>.size))
            }
        }
        guard connected == 0 else { throw NetlinkError(.openSocket, errno: Glibc.errno) }
    }

    func attachFilter(_ program: [sock_filter]) throws(NetlinkError) {
        var program = program
        let attached = program.withUnsafeMutableBufferPointer { instructions in
            var header = sock_fprog(len: UInt16(instructions.count), filter: instructions.baseAddress)
            return setsockopt(
                descriptor, SOL_SOCKET, SO_ATTACH_FILTER, &header, socklen_t(MemoryLayout<sock_fprog>.size)) == 0
        }
        guard attached else { throw NetlinkError(.attachFilter, errno: Glibc.errno) }
    }

    func join(group: CInt) throws(NetlinkError) {
        guard setOption(SOL_NETLINK, NETLINK_ADD_MEMBERSHIP, group) else {
            throw NetlinkError(.joinGroup, errno: Glibc.errno)
        }
    }

    /// Joins a group that this kernel may be too old to have: it refuses numbers beyond its own with EINVAL.
    func joinIfKnown(group: CInt) throws(NetlinkError) {
        do throws(NetlinkError) { try join(group: group) } catch { if error.errno != EINVAL { throw error } }
    }
}
