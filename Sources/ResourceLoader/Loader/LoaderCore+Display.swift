import DownloadPolicy

/// What each load shows.
extension LoaderCore {
    func lookIntoCache(_ id: Int) {
        guard let load = loads[id] else { return }
        let variants = Array(load.resource.variants.reversed())
        let key = load.resource.cacheKey
        // A cache that cannot be asked has nothing better.
        guard let holdings = try? cache.holdings(of: key, variants: variants) else { return }
        // What is shown stays until there is something else to show, whatever becomes of its entry.
        guard let best = holdings.rungs.first(where: { $0.freshness != .absent })?.entry, best.id != load.entry?.id
        else { return }
        if load.trigger == .prefetch {
            loads[id]?.entry = best
            loads[id]?.prefetched.insert(best.variant)
        } else if let body = try? cache.best(of: key, among: variants) {
            loads[id]?.entry = body.entry
            loads[id]?.body = body
        }
    }

    func emit(_ id: Int) {
        guard let load = loads[id], let decision = load.decision else { return }
        let activity = activity(of: load)
        let isAtRest = isAtRest(load, activity)
        var body = load.body
        if load.trigger == .prefetch, let entry = load.entry {
            body = (try? cache.disk.unleasedBody(of: entry.key, variant: entry.variant)) ?? nil
        }
        let content: ResourceDisplay.Content
        if let body {
            content = .body(body, load.resource.quality(of: body.entry.variant))
        } else if isAtRest, load.empty.contains(load.resource.renditions[0].variant) {
            content = .empty
        } else {
            content = .placeholder(placeholder(decision, isAtRest, load.failure))
        }
        let display = ResourceDisplay(
            resource: load.resource.id, content: content, activity: activity, isAtRest: isAtRest,
            failure: load.failure, decision: decision)
        guard display.fingerprint != load.shown else { return }
        loads[id]?.shown = display.fingerprint
        load.displays.yield(display)
    }

    /// Whether nothing runs, and nothing that is decided will.
    private func isAtRest(_ load: Load, _ activity: ResourceDisplay.Activity) -> Bool {
        guard !activity.isRunning else { return false }
        // A tap's one attempt without a network has been made, or waits with the transfers for a network.
        guard load.decision?.fetches.isEmpty == false else { return true }
        return ladders.ladder(of: load.resource.identity).map { next(load, $0) == nil } ?? true
    }

    private func placeholder(_ decision: PolicyDecision, _ isAtRest: Bool, _ failure: FailureClass?) -> Placeholder {
        guard case .placeholder(let placeholder) = decision.display else { return .loading }
        // What was decided has failed, and nothing is under way in its place.
        if placeholder == .loading, failure != nil, isAtRest { return .failed }
        return placeholder
    }

    /// What runs, the best of it first; else what waits.
    private func activity(of load: Load) -> ResourceDisplay.Activity {
        let mine = load.joined.compactMap { downloads[$0] }.sorted { $0.quality > $1.quality }
        let activities = mine.map { download -> ResourceDisplay.Activity in
            let variant = download.resource.rendition(download.quality).variant
            switch download.state {
            case .queued: return .queued(variant)
            case .running(let progress):
                return .fetching(variant, received: progress.received, total: progress.total)
            case .waiting(let condition): return .waiting(variant, for: condition)
            case .backingOff(_, let failure): return .backingOff(variant, after: failure)
            case .finished, .failed, .cancelled: return .none
            }
        }
        return activities.first(where: \.isRunning) ?? activities.first ?? .none
    }
}
