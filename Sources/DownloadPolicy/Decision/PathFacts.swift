public import Reachability

/// Whether something holds, where it is possible that nobody knows.
public enum Certainty: UInt8, Sendable, Hashable, Codable, CaseIterable {
    /// It does not hold.
    case no
    /// Nobody has said.
    case unknown
    /// It holds.
    case yes
}

/// What a policy may know of the way out: how packets leave and what they cost.
///
/// These are the facts of a network path without its interfaces and addresses, so that a policy can be written, tested
/// and replayed without a network.
public struct PathFacts: Sendable, Hashable, Codable {
    /// How packets leave this machine.
    public typealias Status = NetworkPath.Status

    /// How packets leave.
    public var status: Status
    /// Whether bytes are paid for or counted. See ``isExpensive`` for what `unknown` means.
    public var metered: Certainty
    /// Whether the user or the network asks to save data. `unknown` counts as no.
    public var constrained: Certainty
    /// Whether a foreign operator carries the bytes. `unknown` counts as no.
    public var roaming: Certainty
    /// An opaque name for the network the path goes through (say, interface and gateway), by which measured throughput
    /// is kept apart. No rule reads it. `nil` stands for "some network".
    public var network: String?

    /// The facts of a path; what is left out is unknown.
    public init(
        _ status: Status, metered: Certainty = .unknown, constrained: Certainty = .unknown,
        roaming: Certainty = .unknown, network: String? = nil
    ) {
        self.status = status
        self.metered = metered
        self.constrained = constrained
        self.roaming = roaming
        self.network = network
    }

    /// Metered, or of unknown cost on a cellular or an unknown kind of network. Wi-Fi and cable get the benefit of the
    /// doubt.
    public var isExpensive: Bool {
        metered == .yes || (metered == .unknown && (status == .wwan || status == .other))
    }

    /// Whether the data budget counts what flows here: the path is expensive, or it roams.
    public var isCharged: Bool { isExpensive || roaming == .yes }
}
