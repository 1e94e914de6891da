/// A network interface as a way out: what it is, what it costs, and how that is known.
public struct NetworkInterface: Sendable, Hashable {
    /// The kind of medium.
    public enum InterfaceType: String, Sendable, Hashable, Codable, CaseIterable {
        case wifi
        /// A modem: cellular, or a dial-up line.
        case wwan
        /// Ethernet, and what is stacked on it.
        case wired
        /// A tunnel, or a medium that cannot be told.
        case other
        /// This machine itself. Never a way out; seen only in paths to the machine's own addresses.
        case loopback
    }

    /// The kernel's ifindex: the identity of the interface, where names can be swapped.
    public let index: Int

    /// The name at this moment, such as `wlan0`.
    public let name: String

    /// The kind of medium. For a bridge, bond, VLAN and the like it is that of the physical link beneath.
    public let type: InterfaceType

    /// How ``type`` is known.
    public let evidence: Evidence

    /// Traffic costs money by volume: modems, tethered phones, and what the program says is (``InterfaceRule``).
    public let isExpensive: Bool

    /// How it is known that the interface is, or isn't, expensive.
    public let costEvidence: Evidence

    /// The program has marked it as one to be sparing on (``InterfaceRule``). The kernel knows nothing of the kind.
    public let isConstrained: Bool

    package init(
        index: Int, name: String, type: InterfaceType, evidence: Evidence, isExpensive: Bool = false,
        costEvidence: Evidence = .nothing, isConstrained: Bool = false
    ) {
        self.index = index
        self.name = name
        self.type = type
        self.evidence = evidence
        self.isExpensive = isExpensive
        self.costEvidence = costEvidence
        self.isConstrained = isConstrained
    }
}

extension NetworkPath.Status {
    /// The status that a way out over such a medium gives.
    package init(_ type: NetworkInterface.InterfaceType) {
        switch type {
        case .wifi: self = .wifi
        case .wwan: self = .wwan
        case .wired: self = .wired
        case .other, .loopback: self = .other
        }
    }
}
