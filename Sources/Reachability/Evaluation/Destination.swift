import Netlink

/// Where a path leads.
enum Destination: Sendable, Hashable {
    /// Out into the Internet: the probes stand for it, two a family, so that one blackholed prefix does not read as offline.
    case anywhere(probes: [IPAddress])
    case address(IPAddress)
}
