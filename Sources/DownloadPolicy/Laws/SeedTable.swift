/// The table this package began with: which picture to load, in all 24 combinations of {original cached, thumbnail
/// cached, Wi-Fi / cellular / offline, "always download the original"}.
///
/// Original in the cache: show it. Else on Wi-Fi: fetch the original. Else on cellular: the original if the user has
/// set that, otherwise the thumbnail. Else: the cached thumbnail, or a placeholder. With one refinement: while the
/// original downloads, a cached thumbnail is shown instead of the placeholder.
public struct SeedRow: Sendable, Hashable {
    /// The combination, as an input.
    public var input: PolicyInput
    /// What is to be shown.
    public var display: Display
    /// What is to be fetched.
    public var fetches: [Fetch]

    /// All 24 rows.
    public static let table: [SeedRow] = [PathFacts.Status.wifi, .wwan, .offline].flatMap { status in
        [false, true].flatMap { always in
            [CacheState.absent, .fresh].flatMap { original in
                [CacheState.absent, .fresh].map { thumbnail in
                    row(status: status, always: always, original: original, thumbnail: thumbnail)
                }
            }
        }
    }

    private static func row(
        status: PathFacts.Status, always: Bool, original: CacheState, thumbnail: CacheState
    ) -> SeedRow {
        let input = PolicyInput(
            path: PathFacts(status), preferences: DownloadPreferences(always ? .alwaysOriginal : .automatic),
            ladder: Ladder(thumbnail: Rung(thumbnail), original: Rung(original)))
        if original == .fresh { return SeedRow(input: input, display: .rung(.original), fetches: []) }
        let wanted: [Fetch] =
            switch status {
            case .offline: []
            case .wwan where !always: thumbnail == .fresh ? [] : [Fetch(.thumbnail)]
            default: [Fetch(.original)]
            }
        let display: Display =
            if thumbnail == .fresh {
                .rung(.thumbnail)
            } else {
                .placeholder(status == .offline ? .offline : .loading)
            }
        return SeedRow(input: input, display: display, fetches: wanted)
    }
}
