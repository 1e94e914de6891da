import Glibc

/// Overrides the detected type or cost of some interfaces. The first rule that says something wins.
///
/// ```swift
/// InterfaceRule("usb*", type: .wwan)                       // this machine's modem looks like a plain USB network card
/// InterfaceRule("wlan1", isExpensive: true)                // a phone's hotspot
/// InterfaceRule("tailscale0", isConstrained: true)
/// ```
public struct InterfaceRule: Sendable {
    /// What a predicate may look at.
    public struct Facts: Sendable, Hashable {
        /// The name at this moment.
        public let name: String
        /// The kernel's ifindex.
        public let index: Int
        /// IFLA_INFO_KIND, `nil` for hardware.
        public let kind: String?
        /// The name of the driver in sysfs, `nil` where none is known.
        public let driver: String?
        /// `ifi_type`, a number of `if_arp.h`.
        public let hardwareType: Int
    }

    /// The type such interfaces have; `nil` leaves it to the evidence.
    public let type: NetworkInterface.InterfaceType?
    /// Whether such interfaces cost money by volume; `nil` leaves it to the evidence.
    public let isExpensive: Bool?
    /// Whether to be sparing on such interfaces; `nil` says nothing.
    public let isConstrained: Bool?
    /// The pattern or description, as it appears in ``Evidence/rule(_:)``.
    public let description: String

    private let matches: @Sendable (Facts) -> Bool

    /// A rule for names.
    ///
    /// - Parameter pattern: a name, with `*`, `?` and `[…]` as in a shell (fnmatch(3)).
    public init(
        _ pattern: String, type: NetworkInterface.InterfaceType? = nil, isExpensive: Bool? = nil,
        isConstrained: Bool? = nil
    ) {
        self.init(pattern, type: type, isExpensive: isExpensive, isConstrained: isConstrained) { facts in
            fnmatch(pattern, facts.name, 0) == 0
        }
    }

    /// A rule for whatever a predicate accepts.
    ///
    /// - Parameters:
    ///   - description: names the rule in evidence.
    ///   - matches: called on the monitor's own thread whenever an interface appears or changes; must neither
    ///     block nor ask the monitor anything.
    public init(
        _ description: String, type: NetworkInterface.InterfaceType? = nil, isExpensive: Bool? = nil,
        isConstrained: Bool? = nil, where matches: @escaping @Sendable (Facts) -> Bool
    ) {
        self.description = description
        self.type = type
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
        self.matches = matches
    }

    func applies(to facts: Facts) -> Bool { matches(facts) }
}
