import Glibc

extension SimulatedKernel {
    /// The kernel refused a change, with the error number that Linux would give.
    public struct Refusal: Error, Sendable, Hashable, CustomStringConvertible {
        /// One of `errno.h`.
        public let errno: CInt
        /// What was wrong.
        public let description: String

        init(_ errno: CInt, _ description: String) {
            self.errno = errno
            self.description = description
        }

        static func invalid(_ description: String) -> Refusal { Refusal(EINVAL, description) }
        static func noDevice(_ name: String) -> Refusal { Refusal(ENODEV, "there is no link \(name)") }
        static func exists(_ description: String) -> Refusal { Refusal(EEXIST, description) }
        static let noSuchRoute = Refusal(ESRCH, "there is no such route")
        static let unreachableGateway = Refusal(ENETUNREACH, "no link leads to the gateway")
        static let linkDown = Refusal(ENETDOWN, "the link is down")
    }
}
