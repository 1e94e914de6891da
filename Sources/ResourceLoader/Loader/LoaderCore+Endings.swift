import DownloadPolicy

/// How transfers end.
extension LoaderCore {
    func retire(_ key: DownloadKey, _ download: Download) {
        downloads[key] = nil
        for id in download.demands.keys { loads[id]?.joined.remove(key) }
    }

    func revalidated(
        _ key: DownloadKey, _ download: Download, _ entry: CacheEntry, _ head: ResponseHead
    ) {
        do throws(CacheError) {
            _ = try cache.revalidate(entry, metadata: CacheMetadata(head))
        } catch {
            return failed(key, download, TransferFailure(.storage))
        }
        succeeded(key, download)
    }

    func succeeded(_ key: DownloadKey, _ download: Download) {
        retire(key, download)
        let measured = download.sink.measurement
        advisor.report(
            .succeeded(bytes: measured.bytes, in: measured.to - measured.from, on: measured.network),
            of: download.resource.identity)
        for id in download.demands.keys {
            loads[id]?.failure = nil
            lookIntoCache(id)
            reconcile(id)
            emit(id)
        }
    }

    /// There is no such data: not of this rung, and if it is the lowest, of none.
    func cameEmpty(_ key: DownloadKey, _ download: Download) {
        retire(key, download)
        advisor.report(.succeeded(bytes: 0, in: .zero, on: nil), of: download.resource.identity)
        if download.quality > .lowest { ladders.leaveOut(key.variant, of: download.resource, for: nil) }
        for id in download.demands.keys {
            loads[id]?.failure = nil
            loads[id]?.empty.insert(key.variant)
            reconcile(id)
            emit(id)
        }
    }

    func failed(_ key: DownloadKey, _ download: Download, _ failed: TransferFailure) {
        retire(key, download)
        let failure = failed.failure
        let resource = download.resource
        let present = download.demands.keys.lazy.compactMap { self.loads[$0]?.resource }.first
        if let present, present.rendition(download.quality) != resource.rendition(download.quality) {
            // Asked for where it no longer is.
            for id in download.demands.keys {
                reconcile(id)
                emit(id)
            }
            return
        }
        for id in download.demands.keys { loads[id]?.failure = failure }
        switch failure {
        case .tooLarge, .missing:
            if download.quality > .lowest {
                ladders.leaveOut(key.variant, of: resource, for: failure.remembered)
                // Of which there is a copy is not left out, and no other decision follows.
                if let ladder = ladders.ladder(of: resource.identity), ladder.top >= download.quality {
                    giveUp(key.variant, for: download.demands.keys)
                }
            } else {
                giveUp(key.variant, for: download.demands.keys)
                if failure == .missing, !download.demands.keys.contains(where: { isBusy($0) }) {
                    advisor.report(.unavailable(for: failure.remembered ?? .zero), of: resource.identity)
                }
            }
        case .insecure, .unauthorized, .corrupt, .storage, .rejected:
            giveUp(key.variant, for: download.demands.keys)
        case .hostNotFound, .refused, .timeout, .interrupted, .server, .captivePortal, .offlineSuspected:
            for id in download.demands.keys { loads[id]?.tried.insert(key.variant) }
            advisor.report(.failed(retryAfter: failed.retryAfter), of: resource.identity)
        case .offline, .cancelled:
            for id in download.demands.keys { loads[id]?.tried.insert(key.variant) }
        }
        for id in download.demands.keys {
            // A tap knows no back-off: no other decision comes that would begin what is left.
            if loads[id]?.trigger.isUser == true { reconcile(id) }
            emit(id)
        }
    }

    private func giveUp(_ variant: CacheVariant, for ids: some Sequence<Int>) {
        for id in ids {
            loads[id]?.givenUp.insert(variant)
            reconcile(id)
        }
    }

    private func isBusy(_ id: Int) -> Bool { loads[id]?.joined.isEmpty == false }
}
