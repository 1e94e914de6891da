import DownloadPolicy

/// What to show of a resource at this moment, and why.
public struct ResourceDisplay: Sendable {
    /// What to show.
    public enum Content: Sendable {
        /// The cache has nothing to show.
        case placeholder(Placeholder)
        /// A stored body, open for reading; its entry names the variant. It stays readable for as long as it is held.
        case body(CachedBody, Quality)
        /// The server has answered that there is no such data.
        case empty
    }

    /// What is being done to show something better.
    public enum Activity: Sendable, Hashable {
        /// Nothing.
        case none
        /// This rendition waits for its turn.
        case queued(CacheVariant)
        /// Bytes of this rendition travel: so many are at hand, of so many where the server has told.
        case fetching(CacheVariant, received: Int64, total: Int64?)
        /// This rendition has begun and waits; what has arrived is kept.
        case waiting(CacheVariant, for: WaitCondition)
        /// The last attempt failed in this way, and the next one follows.
        case backingOff(CacheVariant, after: FailureClass)

        /// Whether bytes travel or are about to. Waiting is never shown as running.
        public var isRunning: Bool {
            switch self {
            case .queued, .fetching, .backingOff: true
            case .none, .waiting: false
            }
        }
    }

    /// Of which resource.
    public let resource: ResourceID
    /// What to show.
    public let content: Content
    /// What is being done to show something better.
    public let activity: Activity
    /// Whether nothing more will come as long as network, preferences and cache stay as they are.
    public let isAtRest: Bool
    /// How the last transfer failed, if none has succeeded since.
    public let failure: FailureClass?
    /// The decision behind it: reasons, and what comes later.
    public let decision: PolicyDecision

    /// What is shown, by the name of its rendition; `nil` if no body is.
    public var variant: CacheVariant? {
        if case .body(let body, _) = content { return body.entry.variant }
        return nil
    }

    /// The placeholder, if one is shown.
    public var placeholder: Placeholder? {
        if case .placeholder(let placeholder) = content { return placeholder }
        return nil
    }

    private var isEmpty: Bool {
        if case .empty = content { true } else { false }
    }

    /// Everything that a viewer could tell two displays apart by.
    struct Fingerprint: Hashable {
        var entry: CacheEntry.ID?
        var placeholder: Placeholder?
        var isEmpty: Bool
        var activity: Activity
        var isAtRest: Bool
        var failure: FailureClass?
        var decision: PolicyDecision
    }

    var fingerprint: Fingerprint {
        var entry: CacheEntry.ID?
        if case .body(let body, _) = content { entry = body.entry.id }
        return Fingerprint(
            entry: entry, placeholder: placeholder, isEmpty: isEmpty, activity: activity, isAtRest: isAtRest,
            failure: failure, decision: decision)
    }
}
