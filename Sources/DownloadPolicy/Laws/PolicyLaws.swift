/// The conformance suite for download policies.
///
///     let report = await PolicyLaws.check(MyPolicy())
///     precondition(report.holds, report.description)
///
/// The policy is asked once about every input of a finite space; laws that compare two inputs look both answers up.
public enum PolicyLaws {
    /// How many violations of one law a report lists; the others are counted.
    public static let violationsKept = 5

    /// Checks every law over every input of a space, on as many cores as there are.
    ///
    /// Takes about 8 bytes of memory and a few microseconds an input. The policy is called from several threads at
    /// once. If the task is cancelled, the inputs not yet asked about are left out, which ``LawReport/inputs`` tells.
    public static func check(_ policy: some DownloadPolicy, over space: InputSpace = .standard) async -> LawReport {
        var report = checkSeed(policy)
        var digests: [Int: [Digest]] = [:]
        await withTaskGroup(of: (Int, [Digest], LawReport).self) { group in
            for block in 0..<space.blockCount {
                group.addTask {
                    var own = LawReport()
                    let digests = Task.isCancelled ? [] : ask(policy, about: block, of: space, &own)
                    return (block, digests, own)
                }
            }
            for await (block, asked, own) in group {
                digests[block] = asked
                report.add(own)
            }
        }
        let table = (0..<space.blockCount).flatMap { digests[$0] ?? [] }
        guard table.count == space.count else { return report }
        await withTaskGroup(of: LawReport.self) { group in
            for block in 0..<space.blockCount {
                group.addTask { Task.isCancelled ? LawReport() : compare(policy, block, of: space, table) }
            }
            for await own in group { report.add(own) }
        }
        return report
    }

    /// The law that needs no space.
    static func checkSeed(_ policy: some DownloadPolicy) -> LawReport {
        var report = LawReport()
        for row in SeedRow.table {
            report.inputs += 1
            let decision = policy.decide(row.input)
            guard decision.display != row.display || decision.fetches != row.fetches else { continue }
            report.add(
                LawViolation(
                    law: .followsTheSeed, input: row.input, decision: decision,
                    explanation: "the table shows \(row.display) and fetches \(row.fetches)"),
                of: .followsTheSeed)
        }
        return report
    }
}

/// The part of a decision that laws compare, small enough to keep one for every input.
struct Digest: Sendable, Equatable {
    /// The rung that is shown, counted from 1; 0 is a placeholder.
    var shown: UInt8
    /// A bit for each rung that is fetched.
    var fetched: UInt16

    init(_ decision: PolicyDecision) {
        shown = decision.display.quality.map { UInt8(truncatingIfNeeded: Int($0.rung) + 1) } ?? 0
        fetched = 0
        for fetch in decision.fetches where fetch.quality.rung < 16 { fetched |= 1 << UInt16(fetch.quality.rung) }
    }

    /// The highest rung that is fetched, counted from 1; 0 is none.
    var highestFetched: Int { 16 - fetched.leadingZeroBitCount }
}
