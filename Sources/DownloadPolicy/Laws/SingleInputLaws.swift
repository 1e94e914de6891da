extension PolicyLaws {
    /// Asks about every input of a block and checks the laws that look at one input.
    static func ask(
        _ policy: some DownloadPolicy, about block: Int, of space: InputSpace, _ report: inout LawReport
    ) -> [Digest] {
        var digests: [Digest] = []
        digests.reserveCapacity(space.blockSize)
        var input = PolicyInput(path: .assumedWhenUnknown, ladder: space.ladder(ofBlock: block))
        for budget in space.budgets {
            input.budget = budget
            for throughput in space.throughputs {
                input.throughput = throughput
                for notBefore in space.notBefores {
                    input.notBefore = notBefore
                    for preferences in space.preferences {
                        input.preferences = preferences
                        for trigger in space.triggers {
                            input.trigger = trigger
                            askAboutPaths(policy, &input, of: space, &digests, &report)
                        }
                    }
                }
            }
        }
        report.inputs += digests.count
        return digests
    }

    private static func askAboutPaths(
        _ policy: some DownloadPolicy, _ input: inout PolicyInput, of space: InputSpace, _ digests: inout [Digest],
        _ report: inout LawReport
    ) {
        for status in space.statuses {
            for metered in space.metered {
                for constrained in space.constrained {
                    for roaming in space.roaming {
                        input.path.status = status
                        input.path.metered = metered
                        input.path.constrained = constrained
                        input.path.roaming = roaming
                        let decision = policy.decide(input)
                        check(input, decision, &report)
                        if digests.count % 64 == 0, policy.decide(input) != decision {
                            report.add(
                                violation(.isDeterministic, input, decision, "asked again, it decides otherwise"),
                                of: .isDeterministic)
                        }
                        digests.append(Digest(decision))
                    }
                }
            }
        }
    }

    private static func violation(
        _ law: PolicyLaw, _ input: PolicyInput, _ decision: PolicyDecision, _ explanation: String
    ) -> LawViolation {
        LawViolation(law: law, input: input, decision: decision, explanation: explanation)
    }

    /// The laws that look at one input.
    private static func check(_ input: PolicyInput, _ decision: PolicyDecision, _ report: inout LawReport) {
        func broken(_ law: PolicyLaw, _ explanation: String, _ report: inout LawReport) {
            report.add(violation(law, input, decision, explanation), of: law)
        }
        let best = input.ladder.bestCached
        let top = input.ladder.top
        if decision.reasons.isEmpty { broken(.givesReasons, "there is no reason", &report) }
        if decision.display.quality != best {
            broken(.showsTheBestCached, "the cache's best is \(best.map { "\($0)" } ?? "nothing")", &report)
        }
        if best == top {
            if decision.display.quality != top { broken(.cachedOriginalWins, "the original is not shown", &report) }
            if input.ladder[top].cache == .fresh, !decision.fetches.isEmpty {
                broken(.cachedOriginalWins, "something is fetched beside a fresh original", &report)
            }
        }
        if let attempt = decision.offlineAttempt {
            if input.path.status != .offline || !input.trigger.isUser {
                broken(.fetchesOnlyOnline, "\(attempt) is attempted without a tap while offline", &report)
            }
        }
        if decision.fetches.isEmpty {
            if decision.expectedBytes != 0 { broken(.isWellFormed, "nothing is fetched and yet it costs", &report) }
            return
        }
        if !input.path.status.isOnline { broken(.fetchesOnlyOnline, "there is no way out", &report) }
        var before: Quality?
        for fetch in decision.fetches {
            let cache = input.ladder[fetch.quality].cache
            if cache == .fresh { broken(.neverFetchesFresh, "\(fetch.quality) is fresh", &report) }
            if let best, fetch.quality < best {
                broken(.neverFetchesLesser, "\(fetch.quality) is fetched though \(best) is cached", &report)
            }
            if fetch.quality > top || before.map({ $0 >= fetch.quality }) ?? false {
                broken(.isWellFormed, "the fetches are no ascending rungs of the ladder", &report)
            }
            if (fetch.kind == .revalidate) != (cache == .stale) && cache != .fresh {
                broken(.isWellFormed, "\(fetch.quality) is \(cache) and yet: \(fetch.kind)", &report)
            }
            before = fetch.quality
        }
        let bytes = input.assumedBytes(of: decision.fetches)
        if decision.expectedBytes != bytes {
            broken(.isWellFormed, "the fetches cost \(bytes.map { "\($0) bytes" } ?? "unknown bytes")", &report)
        }
        if let budget = input.budget, !input.trigger.isUser, input.path.isCharged {
            if bytes.map({ $0 > max(0, budget.remaining) }) ?? true {
                broken(.staysWithinBudget, "the fetches cost more than what remains", &report)
            }
        }
    }
}
