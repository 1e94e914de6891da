import Foundation
import Synchronization
import TestSupport
import Testing

@testable import DownloadPolicy

@Suite(.takingTurns, .timeLimit(.minutes(10))) struct BudgetTests {
    let folder: TemporaryFolder
    /// 2026-11-30T12:00:00Z
    static let noon = 1_796_040_000

    init() throws {
        folder = TemporaryFolder()
    }

    private func budget(
        limit: Int64 = 1000, startingOn day: Int = 1, now: @escaping @Sendable () -> Int = { BudgetTests.noon }
    ) throws -> DataBudget {
        try DataBudget(
            path: folder.file("budget"), limit: limit, assumedSize: 50,
            period: BillingPeriod(startingOn: day, zone: .utc),
            now: now)
    }

    @Test func setsAsideAndSettles() throws {
        let budget = try budget()
        #expect(budget.facts == BudgetFacts(remaining: 1000, reserve: 50))
        let one = try budget.reserve(300)
        let other = try budget.reserve(200)
        #expect(budget.facts.remaining == 500)
        try budget.commit(one, used: 250)
        #expect(budget.facts.remaining == 550)
        try budget.release(other)
        #expect(budget.facts.remaining == 750)
        try budget.spend(1000)
        #expect(budget.facts.remaining == 0)
    }

    @Test func setsNothingAsideBeyondWhatRemains() throws {
        let budget = try budget()
        _ = try budget.reserve(900)
        #expect(throws: BudgetError.exhausted(remaining: 100, wanted: 101)) { try budget.reserve(101) }
        _ = try budget.reserve(100)
        #expect(budget.facts.remaining == 0)
    }

    @Test func settlesEachReservationOnce() throws {
        let budget = try budget()
        let reservation = try budget.reserve(100)
        try budget.commit(reservation, used: 100)
        #expect(throws: BudgetError.alreadySettled) { try budget.commit(reservation, used: 100) }
        #expect(throws: BudgetError.alreadySettled) { try budget.release(reservation) }
        #expect(budget.facts.remaining == 900)
    }

    @Test func refusesNegativeBytes() throws {
        let budget = try budget()
        #expect(throws: BudgetError.negative(-1)) { try budget.reserve(-1) }
        #expect(throws: BudgetError.negative(-1)) { try budget.spend(-1) }
        let reservation = try budget.reserve(1)
        #expect(throws: BudgetError.negative(-1)) { try budget.commit(reservation, used: -1) }
    }

    @Test func survivesAbsurdAmounts() throws {
        let budget = try budget(limit: .max)
        let reservation = try budget.reserve(.max)
        try budget.commit(reservation, used: .max)
        try budget.spend(.max)
        #expect(budget.facts.remaining == 0)
        #expect(throws: BudgetError.exhausted(remaining: 0, wanted: 1)) { try budget.reserve(1) }
    }

    @Test func outlivesTheProcessAndItsReservations() throws {
        let first = try budget()
        try first.spend(100)
        _ = try first.reserve(200)
        #expect(try budget().facts.remaining == 700)
    }

    @Test func isSharedByAll() async throws {
        let budgets = [try budget(limit: 1_000_000), try budget(limit: 1_000_000)]
        await withTaskGroup(of: Void.self) { group in
            for budget in budgets {
                for _ in 0..<2 {
                    group.addTask {
                        for _ in 0..<25 {
                            #expect(throws: Never.self) {
                                let reservation = try budget.reserve(10)
                                try budget.commit(reservation, used: 7)
                            }
                        }
                    }
                }
            }
        }
        #expect(try budget(limit: 1_000_000).facts.remaining == 1_000_000 - 4 * 25 * 7)
    }

    @Test func neverGivesOutMoreThanThereIs() async throws {
        let budgets = [try budget(), try budget()]
        let granted = await withTaskGroup(of: Int.self) { group in
            for budget in budgets {
                group.addTask { (0..<40).count { _ in (try? budget.reserve(30)) != nil } }
            }
            return await group.reduce(0, +)
        }
        #expect(granted == 33)
    }

    @Test func tellsEveryChange() async throws {
        let (one, other) = (try budget(), try budget())
        var changes = one.changes().makeAsyncIterator()
        #expect(await changes.next(isolation: nil)?.remaining == 1000)
        try other.spend(400)
        #expect(await changes.next(isolation: nil)?.remaining == 600)
    }

    @Test func beginsAnewWithThePeriod() async throws {
        let clock = Mutex(Self.noon)
        let budget = try budget(now: { clock.withLock { $0 } })
        let old = try budget.reserve(300)
        try budget.spend(400)
        var changes = budget.changes().makeAsyncIterator()
        #expect(await changes.next(isolation: nil)?.remaining == 300)
        clock.withLock { $0 += 12 * 3600 - 1 }
        try budget.refresh()
        #expect(budget.facts.remaining == 300)
        #expect(budget.untilRefresh == .seconds(1))
        clock.withLock { $0 += 1 }
        #expect(budget.facts.remaining == 1000)
        try budget.refresh()
        #expect(await changes.next(isolation: nil)?.remaining == 1000)
        // Begun before midnight and ended after it: counted now.
        try budget.commit(old, used: 250)
        #expect(budget.facts.remaining == 750)
    }

    @Test func aClockSetBackOpensNoPeriodAnew() throws {
        try budget(now: { Self.noon }).spend(400)
        let before = try budget(now: { Self.noon - 40 * 86_400 })
        #expect(before.facts.remaining == 600)
        try before.spend(100)
        #expect(try budget().facts.remaining == 500)
    }

    @Test func aClockNotYetSetOpensNoPeriodAnew() throws {
        try budget().spend(400)
        #expect(try budget(now: { 0 }).facts.remaining == 600)
    }

    @Test func aClockThatWasFarAheadDoesNotCloseTheBudgetForYears() throws {
        try budget(now: { Self.noon + 20 * 365 * 86_400 }).spend(400)
        #expect(try budget().facts.remaining == 1000)
    }

    @Test func theSamePeriodInAnotherTimeZoneIsTheSame() throws {
        func budget(_ hours: Int) throws -> DataBudget {
            try DataBudget(
                path: folder.file("budget"), limit: 1000, assumedSize: 1,
                period: BillingPeriod(startingOn: 1, zone: .utcOffset(seconds: hours * 3600)), now: { Self.noon })
        }
        try budget(9).spend(100)
        #expect(try budget(-5).facts.remaining == 900)
    }

    @Test func whatCannotBeReadCountsAsAPeriodSpent() throws {
        try folder.write("version = 2\nend\n", to: "budget")
        let budget = try budget()
        #expect(budget.facts.remaining == 0)
        let error = StoreError.newerVersion(path: budget.path, version: "2")
        #expect(budget.problem == .unreadable(error))
        #expect(throws: BudgetError.store(error)) { try budget.spend(1) }
    }

    @Test func damageCountsAsAPeriodSpent() throws {
        try folder.write("version = 1\nperiod = 2026-11-01\nspent = 12", to: "budget")
        #expect(try budget().facts.remaining == 0)
        #expect(try budget().facts.remaining == 0)
        #expect(try folder.names().contains("budget.damaged-1"))
        #expect(try budget(now: { Self.noon + 86_400 }).facts.remaining == 1000)
    }

    @Test(arguments: [
        "version = 1\nperiod = 2026-11-31\nspent = 12\nend\n", "version = 1\nperiod = 2026-11-01\nspent = -1\nend\n",
        "version = 1\nperiod = 2026-11-01\nspent = 1.5\nend\n", "version = 1\nperiod = 2026-11-01\nend\n",
        "version = 1\nperiod = 2026-11-01\nspent = 1\nreservation.a = x\nend\n",
    ])
    func noticesWrongNumbers(_ text: String) throws {
        try folder.write(text, to: "budget")
        guard case .damaged = try budget().problem else {
            Issue.record("takes it")
            return
        }
    }

    @Test func countsAllThatWasSpentBeforeAKill() async throws {
        let path = folder.file("budget")
        var committed: Int64 = 0
        for round in 0..<25 {
            let helper = try HelperProcess("spend", path)
            for _ in 0...(round % 7) { if await helper.nextWord() == "committed" { committed += 1 } }
            committed += Int64(await helper.killed().count { $0 == "committed" })
            let budget = try DataBudget(
                path: path, limit: 1 << 40, assumedSize: 1, period: BillingPeriod(startingOn: 1, zone: .utc))
            #expect(budget.problem == nil)
            let counted = (1 << 40) - budget.facts.remaining
            // Each killed process may have had one transfer under way that it could not tell of.
            #expect(counted >= committed * 100)
            #expect(counted <= (committed + Int64(round) + 1) * 100)
            try budget.refresh()
        }
    }

    @Test func doesNotWaitForEverForAStoppedProcess() async throws {
        let file = DurableFile(path: folder.file("budget"), patience: .milliseconds(20))
        let helper = try HelperProcess("hold-lock", file.path)
        #expect(await helper.nextWord() == "locked")
        #expect(throws: StoreError.locked(path: file.path)) { try file.withLock {} }
        #expect(await helper.killed().isEmpty)
        #expect(throws: Never.self) { try file.withLock {} }
    }
}

@Suite(.takingTurns) struct BillingPeriodTests {
    private func moment(_ text: String) throws -> Int {
        Int(try #require(ISO8601DateFormatter().date(from: text)).timeIntervalSince1970)
    }

    @Test(arguments: [
        (1, 0, "2026-11-30T12:00:00Z", "2026-11-01"), (30, 0, "2026-11-30T00:00:00Z", "2026-11-30"),
        (30, 0, "2026-11-29T23:59:59Z", "2026-10-30"), (31, 0, "2026-11-30T00:00:00Z", "2026-11-30"),
        (31, 0, "2026-11-29T23:59:59Z", "2026-10-31"), (31, 0, "2027-02-28T00:00:00Z", "2027-02-28"),
        (31, 0, "2027-02-27T23:59:59Z", "2027-01-31"), (31, 0, "2028-02-28T12:00:00Z", "2028-01-31"),
        (31, 0, "2028-02-29T00:00:00Z", "2028-02-29"), (29, 0, "2027-03-01T00:00:00Z", "2027-02-28"),
        (15, 0, "2027-01-14T12:00:00Z", "2026-12-15"), (1, 0, "2027-01-01T00:00:00Z", "2027-01-01"),
        (1, 3600, "2026-11-30T23:00:00Z", "2026-12-01"), (1, 3600, "2026-11-30T22:59:59Z", "2026-11-01"),
        (1, -18_000, "2026-12-01T04:59:59Z", "2026-11-01"), (1, -18_000, "2026-12-01T05:00:00Z", "2026-12-01"),
        (1, 45_900, "2026-11-30T11:15:00Z", "2026-12-01"), (31, 0, "1969-12-30T12:00:00Z", "1969-11-30"),
    ])
    func beginsOnItsDay(_ day: Int, _ offset: Int, _ text: String, _ start: String) throws {
        let period = try BillingPeriod(startingOn: day, zone: .utcOffset(seconds: offset))
        #expect(period.start(at: try moment(text)).description == start)
    }

    @Test(arguments: 1...31)
    func itsEndIsTheNextOnesBegin(_ day: Int) throws {
        let period = try BillingPeriod(startingOn: day, zone: .utcOffset(seconds: 7200))
        var now = try moment("2027-01-01T00:00:00Z")
        for _ in 0..<26 {
            let left = period.secondsLeft(at: now)
            #expect(left > 0 && left <= 31 * 86_400)
            #expect(period.start(at: now + left - 1) == period.start(at: now))
            #expect(period.start(at: now + left) > period.start(at: now))
            #expect(period.start(at: now + left).daysSince1970 * 86_400 - 7200 == now + left)
            now += left
        }
    }

    @Test func refusesDaysNoMonthHas() {
        #expect(throws: BillingError.noSuchDay(0)) { try BillingPeriod(startingOn: 0) }
        #expect(throws: BillingError.noSuchDay(32)) { try BillingPeriod(startingOn: 32) }
        #expect(throws: BillingError.noSuchOffset(90_000)) {
            try BillingPeriod(startingOn: 1, zone: .utcOffset(seconds: 90_000))
        }
    }

    @Test func agreesWithTheCalendarOfFoundation() throws {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(secondsFromGMT: 0))
        for days in stride(from: -200_000, to: 200_000, by: 37) {
            let parts = calendar.dateComponents(
                [.year, .month, .day, .era], from: Date(timeIntervalSince1970: Double(days) * 86_400))
            let date = CivilDate(daysSince1970: days)
            #expect(date.daysSince1970 == days)
            // Foundation goes over to the Julian calendar in 1582.
            if days > -141_427 {
                #expect(date.year == parts.year && date.month == parts.month && date.day == parts.day)
            }
        }
    }

    @Test(arguments: [
        ("2026-03-29T00:59:59Z", "3600"), ("2026-03-29T01:00:00Z", "7200"), ("2026-10-25T00:59:59Z", "7200"),
        ("2026-10-25T01:00:00Z", "3600"),
    ])
    func theLocalZoneHasDaylightSaving(_ text: String, _ offset: String) async throws {
        let helper = try HelperProcess(
            "local-offset", "\(try moment(text))", environment: ["TZ": "CET-1CEST,M3.5.0,M10.5.0/3"])
        #expect(await helper.nextWord() == offset)
    }

    @Test func theLocalZoneIsTheOneOfTheSystem() {
        for moment in [0, 1_796_040_000, 1_782_000_000] {
            let date = Date(timeIntervalSince1970: Double(moment))
            #expect(BillingZone.local.offset(at: moment) == TimeZone.current.secondsFromGMT(for: date))
        }
    }

    @Test func readsAndWritesDays() {
        #expect(CivilDate("2028-02-29")?.description == "2028-02-29")
        for text in ["2027-02-29", "2027-13-01", "2027-00-01", "2027-1-01", "+027-01-01", "2027-01-01 ", ""] {
            #expect(CivilDate(text) == nil)
        }
    }
}
