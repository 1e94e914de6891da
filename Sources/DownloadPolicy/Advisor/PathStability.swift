/// How long a path has to hold before what waits for it goes on: 3 s, and while it flaps (3 changes in 30 s) 5 s, doubling
/// to 60 s with each further change. It starts over once there have been fewer than 3 in 30 s.
///
/// What counts as a change is the caller's business. The first path ever known is none.
package struct PathStability: Sendable, Hashable {
    /// How long a path has to hold that does not flap.
    package static let stability = Duration.seconds(3)
    private static let flapWindow = Duration.seconds(30)
    private static let flapChanges = 3
    private static let shortestFlapHold = Duration.seconds(5)
    private static let longestFlapHold = Duration.seconds(60)

    /// The last changes, no more than tell whether the path flaps.
    private var changes: [Duration] = []
    private var flaps = 0

    /// A path that has not changed yet.
    package init() {}

    /// Whether the last change was one too many.
    package var isFlapping: Bool { flaps > 0 }

    /// Counts a change and returns how long the path has to hold after it.
    package mutating func changed(at now: Duration) -> Duration {
        changes = (changes + [now]).suffix(Self.flapChanges).filter { $0 + Self.flapWindow > now }
        guard changes.count >= Self.flapChanges else {
            flaps = 0
            return Self.stability
        }
        let longest = Int(Self.longestFlapHold / Self.shortestFlapHold)
        let factor = min(longest, 1 << min(flaps, longest))
        flaps += 1
        return Self.shortestFlapHold * factor
    }
}
