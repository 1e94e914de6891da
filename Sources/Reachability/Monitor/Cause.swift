/// What made the monitor ask again. Several causes can come together, when one batch of messages brings them.
public struct Cause: OptionSet, Sendable, Hashable {
    public let rawValue: Int

    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The monitor was started.
    public static let start = Cause(rawValue: 1 << 0)
    /// A link changed.
    public static let link = Cause(rawValue: 1 << 1)
    /// An address came or went.
    public static let address = Cause(rawValue: 1 << 2)
    /// A route changed.
    public static let route = Cause(rawValue: 1 << 3)
    /// A routing rule changed.
    public static let rule = Cause(rawValue: 1 << 4)
    /// A nexthop object changed.
    public static let nexthop = Cause(rawValue: 1 << 5)
    /// nl80211 had news of a wireless interface.
    public static let wireless = Cause(rawValue: 1 << 6)
    /// The list of name servers changed.
    public static let resolver = Cause(rawValue: 1 << 7)
    /// Messages were lost, so that a new snapshot was taken.
    public static let overrun = Cause(rawValue: 1 << 8)
    /// The machine slept.
    public static let resume = Cause(rawValue: 1 << 9)
    /// The program asked.
    public static let refresh = Cause(rawValue: 1 << 10)
    /// The poll interval was over, where the kernel sends no notifications.
    public static let poll = Cause(rawValue: 1 << 11)
    /// The conversation with the kernel broke off.
    public static let failure = Cause(rawValue: 1 << 12)

    private static let words: [(Cause, String)] = [
        (.start, "start"), (.link, "link"), (.address, "address"), (.route, "route"), (.rule, "rule"),
        (.nexthop, "nexthop"), (.wireless, "wireless"), (.resolver, "resolver"), (.overrun, "overrun"),
        (.resume, "resume"), (.refresh, "refresh"), (.poll, "poll"), (.failure, "failure"),
    ]
}

extension Cause: CustomStringConvertible {
    /// The causes in words, such as `link, route`.
    public var description: String {
        Self.words.filter { contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}
