import Glibc

/// A system call on the way to the kernel failed: what was being asked, and what the kernel answered.
public struct NetlinkError: Error, Sendable, Hashable {
    /// What was being asked when it failed.
    public enum Operation: String, Sendable, Hashable {
        case openSocket = "open a netlink socket"
        case sizeReceiveBuffer = "enlarge the receive buffer"
        case attachFilter = "attach the kernel-side filter"
        case joinGroup = "join a netlink multicast group"
        case watchSuspend = "watch for resume from suspend"
        case createWakeup = "create a wake-up descriptor"
        case watchDescriptor = "wait at a descriptor"
        case createThread = "start the reader thread"
        case dumpLinks = "list the interfaces"
        case dumpAddresses = "list the addresses"
        case dumpRoutes = "list the routes"
        case dumpNexthops = "list the nexthop objects"
        case dumpRules = "list the routing rules"
        case lookUpRoute = "look up a route"
        case findFamily = "find a generic netlink family"
        case askWireless = "ask about wireless interfaces"
        case receive = "read from a netlink socket"
    }

    /// What was being asked.
    public let operation: Operation

    /// The error number of the system call, one of `errno.h`.
    public let errno: CInt

    package init(_ operation: Operation, errno: CInt) {
        self.operation = operation
        self.errno = errno
    }

    /// The process or the system ran out of something; the question itself was fine.
    package var isExhaustion: Bool { [EMFILE, ENFILE, ENOMEM, ENOBUFS].contains(errno) }

    /// The C library's words for the error number, such as `Network is unreachable`.
    package var kernelWords: String { String(cString: strerror(errno)) }

    /// What can be done about it.
    public var advice: String {
        switch errno {
        case EMFILE: "this process has used up its file descriptors: raise its limit (ulimit -n) or close some"
        case ENFILE: "this system has used up its file descriptors"
        case ENOMEM, ENOBUFS: "the system is short of memory: try again later"
        case EPERM, EACCES: "the sandbox denies it: allow AF_NETLINK sockets (no privilege is needed otherwise)"
        case EAFNOSUPPORT, EPROTONOSUPPORT, ENOSYS: "this kernel or sandbox has no rtnetlink: run it where there is one"
        case EAGAIN: "no thread or answer was to be had: check the process limits (ulimit -u)"
        default: "try again; if it persists, the kernel's answer above says why"
        }
    }
}

extension NetlinkError: CustomStringConvertible {
    /// One line for people: what failed, the kernel's word for it, and what to do.
    public var description: String {
        "cannot \(operation.rawValue): \(kernelWords) (errno \(errno)); \(advice)"
    }
}
