import Glibc
import Synchronization

/// Bytes set aside for a transfer that is about to begin. Settle it once, by ``DataBudget/commit(_:used:)`` or
/// ``DataBudget/release(_:)``.
public struct BudgetReservation: Sendable, Hashable {
    /// How many bytes are set aside.
    public let bytes: Int64
    let id: String
    let period: CivilDate
}

/// Why the budget did not do as it was asked.
public enum BudgetError: Error, Sendable, Hashable, CustomStringConvertible {
    /// There is not enough left.
    case exhausted(remaining: Int64, wanted: Int64)
    /// The reservation has been committed or released before.
    case alreadySettled
    /// A number of bytes below zero.
    case negative(Int64)
    /// The budget's file could not be read or written; nothing has been counted.
    case store(StoreError)

    public var description: String {
        switch self {
        case .exhausted(let remaining, let wanted):
            "\(wanted) bytes are wanted and \(remaining) remain: take a smaller rendition or wait for the next period."
        case .alreadySettled: "This reservation has been committed or released before: settle each one once."
        case .negative(let bytes): "\(bytes) bytes cannot be counted: give a number from zero on."
        case .store(let error): error.description
        }
    }
}

/// How many bytes may be spent on charged paths in a billing period, shared by all processes that name the same file.
///
/// Bytes are set aside before a transfer and settled after it, and each step is on the disk before the call returns. So
/// a process that is killed at any moment has never spent what was not counted: what it had set aside stays counted as
/// spent until the period ends, since it may have been. A damaged file counts as a period spent in full, for the same
/// reason, and so does one that cannot be read; a damaged one is kept under another name, and ``problem`` tells of
/// either. A clock set back does not open a period anew; only where the file is months ahead of a clock that shows a
/// sensible year, the clock must have been wrong when the file was written, and the present period begins.
///
/// Safe to use from any thread. ``facts`` never blocks; everything that changes the budget waits for the disk.
public final class DataBudget: Sendable {
    /// Bytes a period.
    public let limit: Int64
    /// Bytes assumed for a transfer of unknown size: ``BudgetFacts/reserve``.
    public let assumedSize: Int64
    /// When it counts anew.
    public let period: BillingPeriod

    private let document: StoredDocument<BudgetLedger>
    /// For which resource this process has set bytes aside, by the reservation's name. Entered before the ledger and
    /// removed after it: a name the ledger does not have counts for nothing.
    private let holders = Mutex<[String: ResourceID]>([:])
    private let now: @Sendable () -> Int

    /// The budget of an application, in `$XDG_STATE_HOME/APPLICATION/data-budget` (`~/.local/state` stands in for a
    /// variable that is unset, empty or no absolute path).
    public convenience init(
        application: String, limit: Int64, assumedSize: Int64, period: BillingPeriod
    ) throws(StoreError) {
        let path = try XDG.state.path(application: application, file: "data-budget")
        try self.init(path: path, limit: limit, assumedSize: assumedSize, period: period)
    }

    /// A budget in a file of your choice.
    ///
    /// - Parameters:
    ///   - path: the file; its folder is created.
    ///   - limit: bytes a period; below zero counts as zero.
    ///   - assumedSize: bytes assumed for a transfer of unknown size; below zero counts as zero.
    ///   - period: when it counts anew.
    ///   - now: the present moment in seconds since 1 January 1970 UTC; the system's clock by default.
    public init(
        path: String, limit: Int64, assumedSize: Int64, period: BillingPeriod,
        now: @escaping @Sendable () -> Int = { time(nil) }
    ) throws(StoreError) {
        self.limit = max(0, limit)
        self.assumedSize = max(0, assumedSize)
        self.period = period
        self.now = now
        document = try StoredDocument(path: path, format: .ledger(limit: max(0, limit)) { period.start(at: now()) })
    }

    /// Where the budget is stored.
    public var path: String { document.file.path }

    /// What is wrong with the file, if anything is.
    public var problem: StoreProblem? { document.problem }

    /// What remains now.
    public var facts: BudgetFacts { snapshot.facts }

    /// What remains, now and after every change of any process. Each call makes a sequence of its own, which keeps the
    /// budget alive.
    public func changes() -> some AsyncSequence<BudgetFacts, Never> & Sendable {
        snapshots().map(\.facts)
    }

    /// What remains, and for whom this process has set bytes aside.
    var snapshot: BudgetSnapshot { snapshot(of: document.value) }

    /// The same as ``changes()``, for an advisor.
    func snapshots() -> some AsyncSequence<BudgetSnapshot, Never> & Sendable {
        document.stream(keeping: self).map { [self] in snapshot(of: $0) }
    }

    /// Sets bytes aside.
    ///
    /// - Parameters:
    ///   - bytes: how many.
    ///   - resource: what they are for. Decisions of this process about that resource go on as if the bytes still
    ///     remained, so
    ///     that a transfer is not called off because of what was set aside for it.
    /// - Throws: ``BudgetError/exhausted(remaining:wanted:)`` if less remains; then nothing is set aside.
    public func reserve(_ bytes: Int64, for resource: ResourceID? = nil) throws(BudgetError) -> BudgetReservation {
        guard bytes >= 0 else { throw .negative(bytes) }
        let id = String(UInt64.random(in: .min ... .max), radix: 16)
        var isKept = false
        holders.withLock { $0[id] = resource }
        defer { if !isKept { _ = holders.withLock { $0.removeValue(forKey: id) } } }
        let (period, remaining) = try update { ledger in
            let remaining = self.limit.subtractingSaturated(ledger.counted)
            if remaining >= bytes { ledger.reservations[id] = bytes }
            return (ledger.period, remaining)
        }
        guard remaining >= bytes else { throw .exhausted(remaining: max(0, remaining), wanted: bytes) }
        isKept = true
        return BudgetReservation(bytes: bytes, id: id, period: period)
    }

    /// Counts what a transfer really took, more or less than was set aside, and frees the rest.
    ///
    /// A reservation from a period that is over is counted in the present one: nobody knows on which side of midnight
    /// the bytes flowed.
    public func commit(_ reservation: BudgetReservation, used bytes: Int64) throws(BudgetError) {
        guard bytes >= 0 else { throw .negative(bytes) }
        try settle(reservation, spending: bytes)
    }

    /// Frees what was set aside for a transfer that took nothing.
    public func release(_ reservation: BudgetReservation) throws(BudgetError) {
        try settle(reservation, spending: 0)
    }

    /// Counts bytes that nobody had set aside, such as those of a tap on "load anyway". May overdraw the budget.
    public func spend(_ bytes: Int64) throws(BudgetError) {
        guard bytes >= 0 else { throw .negative(bytes) }
        try update { $0.spent = $0.spent.addingSaturated(bytes) }
    }

    /// Begins the period anew if it is over, so that streams tell. A ``PolicyAdvisor`` calls it in time.
    public func refresh() throws(BudgetError) {
        try update { _ in }
    }

    /// The time to the end of the period, at most an hour: clocks are set and daylight saving comes and goes, so
    /// whoever waits asks again then.
    var untilRefresh: Duration {
        .seconds(min(3600, max(1, period.secondsLeft(at: now()))))
    }

    private func settle(_ reservation: BudgetReservation, spending bytes: Int64) throws(BudgetError) {
        let isKnown = try update { ledger in
            let isKnown =
                ledger.reservations.removeValue(forKey: reservation.id) != nil || reservation.period < ledger.period
            if isKnown { ledger.spent = ledger.spent.addingSaturated(bytes) }
            return isKnown
        }
        _ = holders.withLock { $0.removeValue(forKey: reservation.id) }
        guard isKnown else { throw .alreadySettled }
    }

    @discardableResult
    private func update<Result: Sendable>(_ change: (inout BudgetLedger) -> Result) throws(BudgetError) -> Result {
        do throws(StoreError) {
            return try document.update { ledger in
                ledger.begin(period.start(at: now()))
                return change(&ledger)
            }
        } catch {
            throw .store(error)
        }
    }

    private func snapshot(of ledger: BudgetLedger) -> BudgetSnapshot {
        var ledger = ledger
        ledger.begin(period.start(at: now()))
        var held: [ResourceID: Int64] = [:]
        for (id, resource) in holders.withLock({ $0 }) {
            if let bytes = ledger.reservations[id] {
                held[resource] = held[resource, default: 0].addingSaturated(bytes)
            }
        }
        return BudgetSnapshot(
            remaining: limit.subtractingSaturated(ledger.counted), assumedSize: assumedSize, held: held)
    }
}

/// What a budget looks like to one process.
struct BudgetSnapshot: Sendable, Equatable {
    /// What remains after all that is spent and set aside; below zero if it was overdrawn.
    var remaining: Int64
    var assumedSize: Int64
    /// What this process has set aside, by resource.
    var held: [ResourceID: Int64] = [:]

    var facts: BudgetFacts { BudgetFacts(remaining: max(0, remaining), reserve: assumedSize) }

    /// What remains for a resource: what was set aside for it counts as remaining.
    func facts(for resource: ResourceID) -> BudgetFacts {
        BudgetFacts(remaining: max(0, remaining.addingSaturated(held[resource] ?? 0)), reserve: assumedSize)
    }
}

/// What the file says: the period by the day it began on, since a moment would move with the time zone, and what is
/// spent and set aside in it.
struct BudgetLedger: Sendable, Equatable {
    var period: CivilDate
    var spent: Int64 = 0
    var reservations: [String: Int64] = [:]

    /// What no longer is to be had.
    var counted: Int64 { reservations.values.reduce(spent) { $0.addingSaturated($1) } }

    /// Begins a period, unless it is the present one or a clock has been set back.
    mutating func begin(_ start: CivilDate) {
        // A clock that shows a year before this program was written has not been set yet.
        let wasAhead = start.year >= 2026 && period.daysSince1970 - start.daysSince1970 > 62
        if start > period || wasAhead { self = BudgetLedger(period: start) }
    }
}

extension DocumentFormat<BudgetLedger> {
    private static var prefix: String { "reservation." }

    fileprivate static func ledger(limit: Int64, start: @escaping @Sendable () -> CivilDate) -> DocumentFormat {
        DocumentFormat(
            comments: [
                "Bytes spent on charged networks in the billing period that began on the day named,",
                "and bytes set aside for transfers that have not ended.",
            ],
            initial: { BudgetLedger(period: start()) },
            afterDamage: { BudgetLedger(period: start(), spent: limit) },
            decode: { (text) throws(DocumentDamage) -> BudgetLedger in
                guard let period = text["period"].flatMap(CivilDate.init) else {
                    throw DocumentDamage(line: nil, what: "its period is no day")
                }
                var ledger = BudgetLedger(period: period, spent: try bytes(text["spent"]))
                for (key, value) in text.entries where key.hasPrefix(prefix) {
                    ledger.reservations[String(key.dropFirst(prefix.count))] = try bytes(value)
                }
                return ledger
            },
            encode: { ledger in
                [("period", "\(ledger.period)"), ("spent", "\(ledger.spent)")]
                    + ledger.reservations.sorted { $0.key < $1.key }.map { (prefix + $0.key, "\($0.value)") }
            },
            knows: { $0 == "period" || $0 == "spent" || $0.hasPrefix(prefix) })
    }

    private static func bytes(_ text: String?) throws(DocumentDamage) -> Int64 {
        guard let text, let bytes = Int64(text), bytes >= 0 else {
            throw DocumentDamage(line: nil, what: "\"\(text ?? "")\" is no number of bytes")
        }
        return bytes
    }
}

extension Int64 {
    /// A difference that stops at the smallest number.
    func subtractingSaturated(_ other: Int64) -> Int64 {
        let (difference, overflow) = subtractingReportingOverflow(other)
        return overflow ? (other < 0 ? .max : .min) : difference
    }
}
