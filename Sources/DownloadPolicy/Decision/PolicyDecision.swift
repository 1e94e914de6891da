/// What stands where a picture would be while the cache has none.
public enum Placeholder: String, Sendable, Hashable, Codable, CaseIterable {
    /// It is being fetched, or will be as soon as the path is known.
    case loading
    /// There is no network; offer to reload.
    case offline
    /// It could be fetched, but not on this path or with these preferences.
    case deferred
    /// Earlier attempts failed and the next one is some time off.
    case failed
}

/// What to show now.
public enum Display: Sendable, Hashable, Codable {
    /// The cached copy of a rung.
    case rung(Quality)
    /// The cache has nothing.
    case placeholder(Placeholder)

    /// The rung that is shown, if one is.
    public var quality: Quality? {
        if case .rung(let quality) = self { return quality }
        return nil
    }
}

/// One thing to fetch.
public struct Fetch: Sendable, Hashable, Codable {
    /// How it is fetched.
    public enum Kind: String, Sendable, Hashable, Codable {
        /// The cache has no copy.
        case download
        /// The cache has a stale copy: ask whether it still holds.
        case revalidate
    }

    /// The rung.
    public var quality: Quality
    /// How.
    public var kind: Kind

    /// A fetch of a rung.
    public init(_ quality: Quality, _ kind: Kind = .download) {
        self.quality = quality
        self.kind = kind
    }
}

/// Something that must come true before it is worth asking again.
public enum Condition: Sendable, Hashable, Codable {
    /// The path is known (or has been unknown for 500 ms).
    case statusKnown
    /// There is a way out.
    case online
    /// The user's preferences allow more.
    case preferencesAllow
    /// The moment has come, on the caller's time line.
    case notBefore(Duration)
    /// Nobody asks to save data.
    case unconstrained
    /// No foreign operator carries the bytes.
    case notRoaming
    /// The path is not expensive.
    case unmetered
    /// The budget has room for it, or the path is no longer charged.
    case budget
    /// The path has held until this moment, on the caller's time line. Only a ``PolicyAdvisor`` says so.
    case stable(until: Duration)
}

/// Whether to come back for more.
public enum Plan: Sendable, Hashable, Codable {
    /// No: with what was decided, the resource is as good as it gets, or as good as the user asked for.
    case settled
    /// Yes, for this rung, once every one of these holds. They are what stood in the way, in the order of the rules;
    /// ask again then, since what lay behind may stand in the way in turn.
    case comeBack(for: Quality, when: [Condition])
}

/// What a ``DownloadPolicy`` makes of a ``PolicyInput``.
public struct PolicyDecision: Sendable, Hashable, Codable {
    /// What to show now.
    public var display: Display
    /// What to fetch, in this order. Empty unless there is a way out.
    public var fetches: [Fetch]
    /// The one attempt a user's tap is worth while the path is said to be offline, made so that it fails fast: no
    /// retry, no waiting. It is not a fetch; if it succeeds, the path was wrong. `nil` in every other case.
    public var offlineAttempt: Fetch?
    /// Whether to come back for more, and when.
    public var plan: Plan
    /// What ``fetches`` are taken to cost in bytes (``PolicyInput/assumedBytes(of:)-(Quality)``), `nil` when that is
    /// unknown.
    public var expectedBytes: Int64?
    /// The rules that fired, in order. Never empty.
    public var reasons: [Reason]

    /// A decision.
    public init(
        display: Display, fetches: [Fetch] = [], offlineAttempt: Fetch? = nil, plan: Plan = .settled,
        expectedBytes: Int64? = 0, reasons: [Reason]
    ) {
        self.display = display
        self.fetches = fetches
        self.offlineAttempt = offlineAttempt
        self.plan = plan
        self.expectedBytes = expectedBytes
        self.reasons = reasons
    }

    /// The best rung that can be shown once everything decided here has arrived.
    public func reached(from ladder: Ladder) -> Quality? {
        var best = ladder.bestCached
        for fetch in fetches where best.map({ fetch.quality > $0 }) ?? true {
            best = fetch.quality
        }
        return best
    }
}
