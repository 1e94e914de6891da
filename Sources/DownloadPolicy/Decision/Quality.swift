/// A rung of a resource's ladder of renditions, counted from the smallest rendition upwards.
///
/// On the two-rung ladder most programs have, rung 0 is the thumbnail and rung 1 the original. A ladder may have up to
/// 256 rungs; qualities of one ladder compare by rung, so `.lowest < .original`.
public struct Quality: Sendable, Hashable, Codable, Comparable {
    /// The rung, counted from 0.
    public let rung: UInt8

    /// The rendition on a rung.
    public init(rung: UInt8) {
        self.rung = rung
    }

    /// The lowest rung of every ladder.
    public static let lowest = Quality(rung: 0)

    /// The lower rung of a two-rung ladder.
    public static let thumbnail = Quality(rung: 0)

    /// The upper rung of a two-rung ladder. On other ladders ask ``Ladder/top``.
    public static let original = Quality(rung: 1)

    public static func < (left: Quality, right: Quality) -> Bool {
        left.rung < right.rung
    }
}

extension Quality: CustomStringConvertible {
    /// The rung as text. ``Ladder/name(of:)`` has better words, since it knows how many rungs there are.
    public var description: String { "rung \(rung)" }
}
