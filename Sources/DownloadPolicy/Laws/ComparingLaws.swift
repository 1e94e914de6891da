extension PolicyLaws {
    /// Checks the laws that compare two inputs, for every input of a block as the first one.
    static func compare(
        _ policy: some DownloadPolicy, _ block: Int, of space: InputSpace, _ table: [Digest]
    ) -> LawReport {
        var report = LawReport()
        let ladder = space.ladder(ofBlock: block)
        let best = ladder.bestCached.map { Int($0.rung) + 1 } ?? 0
        let costs = space.costDimensions
        let thrift = space.prefetchAndVisible
        let strides = (0..<space.rungs).map(space.cacheStride)
        // How many states each rung is away from fresh, the last of them.
        let missing = ladder.rungs.map { Int(CacheState.fresh.rawValue) - Int($0.cache.rawValue) }

        func broken(_ law: PolicyLaw, _ place: Int, _ other: Int, _ explanation: String) {
            report.add(
                {
                    let input = space.input(at: place)
                    let otherInput = space.input(at: other)
                    return LawViolation(
                        law: law, input: input, decision: policy.decide(input), otherInput: otherInput,
                        otherDecision: policy.decide(otherInput), explanation: explanation)
                }(), of: law)
        }

        for place in block * space.blockSize..<(block + 1) * space.blockSize {
            let digest = table[place]
            let reached = max(best, digest.highestFetched)
            for cost in costs where place / cost.stride % cost.count + 1 < cost.count {
                let worse = table[place + cost.stride]
                if worse.highestFetched > digest.highestFetched || max(best, worse.highestFetched) > reached {
                    broken(.isMonotone, place, place + cost.stride, "worse \(cost.name) raises what is fetched")
                }
            }
            if let thrift, place / thrift.stride % thrift.count == thrift.prefetch {
                let visible = place + (thrift.visible - thrift.prefetch) * thrift.stride
                if !spendsNoMore(digest, than: table[visible], ladder) {
                    broken(.prefetchIsThrifty, place, visible, "prefetch spends more than visible")
                }
            }
            var arrived = place
            for rung in 0..<space.rungs where missing[rung] > 0 {
                let one = place + missing[rung] * strides[rung]
                if table[one].shown < digest.shown {
                    broken(.arrivalNeverLowers, place, one, "the arrival of rung \(rung) lowers what is shown")
                }
                if digest.fetched & (1 << UInt16(rung)) != 0 { arrived += missing[rung] * strides[rung] }
            }
            if table[arrived].fetched != 0 {
                // Where nothing could arrive the second input is the first one: it fetches what is fresh.
                broken(.comesToRest, place, arrived, "what was decided has arrived and more is fetched")
            }
        }
        return report
    }

    /// Whether fetching one set of rungs costs no more than another, in rungs, known bytes and unknown sizes.
    private static func spendsNoMore(_ left: Digest, than right: Digest, _ ladder: Ladder) -> Bool {
        if left.fetched & ~right.fetched == 0 { return true }
        func cost(_ digest: Digest) -> (known: Int64, unknown: Int) {
            var cost: (known: Int64, unknown: Int) = (0, 0)
            for (rung, facts) in ladder.rungs.enumerated() where digest.fetched & (1 << UInt16(rung)) != 0 {
                if let size = facts.knownSize {
                    cost.known = cost.known.addingSaturated(size)
                } else {
                    cost.unknown += 1
                }
            }
            return cost
        }
        let (less, more) = (cost(left), cost(right))
        return left.highestFetched <= right.highestFetched && less.known <= more.known && less.unknown <= more.unknown
    }
}

extension InputSpace {
    /// A dimension whose values get worse one by one.
    struct CostDimension {
        var name: String
        /// The distance between neighbours.
        var stride: Int
        /// The number of values.
        var count: Int
    }

    /// The dimensions the monotone law walks along.
    var costDimensions: [CostDimension] {
        let status = roaming.count * constrained.count * metered.count
        return [
            CostDimension(name: "roaming", stride: 1, count: roaming.count),
            CostDimension(name: "constraint", stride: roaming.count, count: constrained.count),
            CostDimension(name: "meter", stride: roaming.count * constrained.count, count: metered.count),
            CostDimension(name: "status", stride: status, count: statuses.count),
            CostDimension(name: "budget", stride: blockSize / budgets.count, count: budgets.count),
        ]
    }

    /// Where prefetch and visible stand among the triggers, if both are there.
    var prefetchAndVisible: (prefetch: Int, visible: Int, stride: Int, count: Int)? {
        guard let prefetch = triggers.firstIndex(of: .prefetch), let visible = triggers.firstIndex(of: .visible) else {
            return nil
        }
        return (prefetch, visible, pathCount, triggers.count)
    }
}
