import DownloadPolicy

/// What to fetch next, and what no longer.
extension LoaderCore {
    /// Starts what is decided and does not run, and gives up what runs and is not wanted any more.
    func reconcile(_ id: Int) {
        guard let load = loads[id], let decision = load.decision else { return }
        let wanted = Set(load.fetches.map { load.resource.rendition($0.quality).variant })
        let ladder = ladders.ladder(of: load.resource.identity)
        var comesFirst = false
        for key in load.joined where !wanted.contains(key.variant) {
            guard let download = downloads[key], let demand = download.demands[id],
                // What has just been stored is about to end, and its end tells the advisor how fast it was.
                ladder?[download.quality].cache != .fresh
            else { continue }
            if isStopgap(download, for: load) {
                comesFirst = true
                continue
            }
            let retention = Retention(kind: demand.kind, plan: decision.plan, mode: preferences.current.mode)
            if !retention.isKept { leave(key, id) }
        }
        guard !comesFirst, let ladder, let next = next(load, ladder),
            // A rung that the ladder has lost since is not to be had.
            next.quality <= ladder.top, !isNearlyThere(id, beyond: next.quality)
        else { return }
        join(id, next)
    }

    /// The first thing that is decided and neither here nor given up. What has arrived since the decision was made counts.
    func next(_ load: Load, _ ladder: Ladder) -> Fetch? {
        load.fetches.first { fetch in
            let variant = load.resource.rendition(fetch.quality).variant
            let isDone = ladder[fetch.quality].cache == .fresh || ladder.bestCached.map { $0 > fetch.quality } ?? false
            let isOver = fetch.kind == .download && load.prefetched.contains(variant)
            return !isDone && !isOver && !load.givenUp.contains(variant) && !load.tried.contains(variant)
                && !(load.empty.contains(variant) && fetch.quality <= ladder.top)
        }
    }

    /// Whether it runs already and gives something to show sooner than what is wanted in its place, while nothing is shown.
    private func isStopgap(_ download: Download, for load: Load) -> Bool {
        guard load.entry == nil, case .running = download.state else { return false }
        return load.fetches.contains { $0.quality > download.quality }
    }

    /// Whether a better rung is under way and lacks so little that a lesser one would cost more.
    private func isNearlyThere(_ id: Int, beyond quality: Quality) -> Bool {
        loads[id]?.joined.contains { key in
            guard let download = downloads[key], download.quality > quality, let total = download.total else {
                return false
            }
            switch download.state {
            // Queued: it moves to another path.
            case .queued, .running: return ReactionInput.isLittle(total - download.position, of: total)
            case .waiting, .backingOff, .finished, .failed, .cancelled: return false
            }
        } ?? false
    }
}
