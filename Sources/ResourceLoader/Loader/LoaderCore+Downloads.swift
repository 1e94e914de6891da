import DownloadPolicy

/// Transfers that run for loads, and what they say.
extension LoaderCore {
    func join(_ id: Int, _ fetch: Fetch) {
        guard let load = loads[id] else { return }
        let resource = load.resource
        let rendition = resource.rendition(fetch.quality)
        var entry: CacheEntry?
        if fetch.kind == .revalidate {
            entry = (try? cache.disk.entry(of: resource.cacheKey, variant: rendition.variant)) ?? nil
            // Nothing to ask with: the whole body is fetched.
            if let found = entry, !found.metadata.hasValidator || rendition.method.body != nil { entry = nil }
        }
        let key = DownloadKey(resource: resource.identity, variant: rendition.variant, revalidated: entry?.id)
        let demand = Demand(fetch.quality, load.trigger, top: resource.quality(of: rendition.variant))
        if downloads[key] != nil {
            let isNewcomer = downloads[key]?.demands.updateValue(demand, forKey: id) == nil
            let isTap = isNewcomer && load.trigger.isUser
            loads[id]?.joined.insert(key)
            // The advisor's word counts where the engine would wait for longer, since it has a stop-watch of its own, or heard
            // of the path a moment later: a new waiter makes it look again.
            var asksAgain = false
            if case .waiting = downloads[key]?.state, isTap || downloads[key]?.hasAskedAgain == false {
                downloads[key]?.hasAskedAgain = true
                asksAgain = true
            }
            return share(key, anew: asksAgain, isTap: isTap)
        }
        // Renditions are checked when a resource is made.
        guard let request = try? rendition.request(for: resource.identity, demand, revalidating: entry) else { return }
        let meter = meter(of: request, for: resource.identity)
        meter.isCostAccepted = demand.isCostAccepted
        let size = ladders.ladder(of: resource.identity).flatMap { $0[fetch.quality].size }.map { max(0, $0) }
        do throws(BudgetError) {
            try meter.cover(size, begunOn: network.facts)
        } catch {
            // Somebody else was faster: the advisor hears of it and decides anew. What cannot be counted is not spent.
            if case .store = error {
                loads[id]?.failure = .storage
                loads[id]?.tried.insert(rendition.variant)
            }
            return
        }
        let sink = CacheSink(
            cache.disk, resource, rendition.variant, size: size, identity: request.identity, meter: meter,
            ladders: ladders, network: network, now: { [clock] in clock.now() })
        numbers += 1
        downloads[key] = Download(
            resource: resource, quality: fetch.quality, revalidated: entry, sink: sink, meter: meter,
            demands: [id: demand], demand: demand, share: engine.start(request, into: sink), shareNumber: numbers)
        loads[id]?.joined.insert(key)
        follow(key)
    }

    /// The meter of the transfer that still lingers for an equal request, or else a new one: the transfer then goes on with the
    /// sink and the meter it has.
    private func meter(of request: TransferRequest, for resource: ResourceID) -> BudgetMeter {
        if let meter = meters[request.identity]?.meter { return meter }
        let meter = BudgetMeter(budget, for: resource, on: network)
        meters = meters.filter { $0.value.meter != nil }
        meters[request.identity] = WeakMeter(meter: meter)
        return meter
    }

    /// Brings the share in the transfer in line with what those who wait want together.
    private func share(_ key: DownloadKey, anew: Bool = false, isTap: Bool = false) {
        guard let download = downloads[key], let demand = Demand.joined(Array(download.demands.values)),
            anew || demand != download.demand
        else { return }
        let rendition = download.resource.rendition(download.quality)
        guard
            let request = try? rendition.request(
                for: download.resource.identity, demand, revalidating: download.revalidated)
        else { return }
        numbers += 1
        downloads[key]?.demand = demand
        download.meter.isCostAccepted = demand.isCostAccepted
        // Joined before the old share is given up, so that the transfer goes on.
        downloads[key]?.share = engine.start(request, into: download.sink, isRenewal: !isTap)
        downloads[key]?.shareNumber = numbers
        download.share.cancel()
        follow(key)
    }

    private func follow(_ key: DownloadKey) {
        guard let download = downloads[key] else { return }
        let (share, number) = (download.share, download.shareNumber)
        Task { [weak self] in
            for await state in share.states { await self?.took(state, of: key, share: number) }
        }
    }

    func leave(_ key: DownloadKey, _ id: Int) {
        loads[id]?.joined.remove(key)
        guard let download = downloads[key] else { return }
        downloads[key]?.demands[id] = nil
        guard downloads[key]?.demands.isEmpty == true else { return share(key) }
        downloads[key] = nil
        // The engine gives a new waiter a second to turn up; the part is kept.
        download.share.cancel()
    }

    private func took(_ state: TransferState, of key: DownloadKey, share: Int) {
        guard let download = downloads[key], download.shareNumber == share else { return }
        let wasRunning = if case .running = download.state { true } else { false }
        downloads[key]?.state = state
        switch state {
        case .running(let progress):
            downloads[key]?.position = progress.received
            downloads[key]?.hasAskedAgain = false
            if let total = progress.total, total != download.total {
                downloads[key]?.total = total
                ladders.learn(size: total, of: key.variant, in: download.resource)
            }
            for id in download.demands.keys { emit(id) }
        case .queued, .waiting, .backingOff:
            let isWaiting = if case .waiting = state { true } else { false }
            for id in download.demands.keys {
                if wasRunning || isWaiting { reconcile(id) }
                emit(id)
            }
        case .finished(let result):
            if result.body == .notModified, let entry = download.revalidated {
                revalidated(key, download, entry, result.head)
            } else if result.length == 0 {
                cameEmpty(key, download)
            } else {
                succeeded(key, download)
            }
        case .failed(let failure): failed(key, download, failure)
        case .cancelled: retire(key, download)
        }
    }
}
