import DownloadPolicy

/// Whether a transfer that a decision no longer asks for is kept, or given up.
///
/// The engine itself stops what the network no longer allows, and resumes it by the table of running transfers
/// (``ReactionInput/reaction``). So a transfer stays with it while only the network stands in the way; what anything else
/// forbids is given up, and the part stays in the cache.
struct Retention {
    var kind: TransferKind
    var plan: Plan
    var mode: DownloadPreferences.Mode

    var isKept: Bool {
        guard case .comeBack(_, let conditions) = plan else { return false }
        switch mode {
        case .cachedOnly: return false
        case .lowest where kind == .original: return false
        case .lowest, .automatic, .alwaysOriginal: break
        }
        return conditions.allSatisfy { condition in
            switch condition {
            case .statusKnown, .online, .unconstrained, .notRoaming, .unmetered, .stable: true
            // The engine lets small bodies travel whatever they cost.
            case .budget: kind != .thumbnail
            case .preferencesAllow, .notBefore: false
            }
        }
    }
}
