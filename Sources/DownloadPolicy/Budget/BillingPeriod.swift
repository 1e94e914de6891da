import Glibc

/// Where a contract's days begin.
public enum BillingZone: Sendable, Hashable {
    /// So many seconds east of Greenwich, all year.
    case utcOffset(seconds: Int)
    /// As the process's time zone says (the `TZ` variable or `/etc/localtime`), daylight saving included.
    case local

    static let utc = BillingZone.utcOffset(seconds: 0)

    /// Seconds east of Greenwich at a moment, given in seconds since 1 January 1970 UTC.
    package func offset(at moment: Int) -> Int {
        switch self {
        case .utcOffset(let seconds):
            return seconds
        case .local:
            var time = time_t(moment)
            var parts = tm()
            // localtime_r(3) fails only for years beyond what `tm` can hold; Greenwich is as good a guess as any there.
            guard localtime_r(&time, &parts) != nil else { return 0 }
            return parts.tm_gmtoff
        }
    }
}

/// When a data contract counts anew: on one day of each month, at midnight.
public struct BillingPeriod: Sendable, Hashable {
    /// The day of the month, 1 to 31; in a shorter month the last one.
    public let startDay: Int
    /// Where that midnight is.
    public let zone: BillingZone

    /// - Parameters:
    ///   - day: the day of the month the period begins on, 1 to 31. In months that have no such day it begins on their
    ///     last.
    ///   - zone: where midnight is.
    /// - Throws: ``BillingError`` for other days and for offsets of more than a day.
    public init(startingOn day: Int, zone: BillingZone = .local) throws(BillingError) {
        guard (1...31).contains(day) else { throw .noSuchDay(day) }
        if case .utcOffset(let seconds) = zone, !(-86_400...86_400).contains(seconds) { throw .noSuchOffset(seconds) }
        startDay = day
        self.zone = zone
    }

    /// The first day of the period a moment is in.
    func start(at moment: Int) -> CivilDate {
        let today = CivilDate(daysSince1970: (moment + zone.offset(at: moment)).floorDivided(by: 86_400))
        let thisMonth = start(year: today.year, month: today.month)
        if thisMonth <= today { return thisMonth }
        return today.month == 1
            ? start(year: today.year - 1, month: 12) : start(year: today.year, month: today.month - 1)
    }

    /// The seconds from a moment to the end of its period, as the zone's offset is at that moment. Off by the shift
    /// where daylight saving begins or ends before: whoever waits asks again on waking.
    func secondsLeft(at moment: Int) -> Int {
        let start = start(at: moment)
        let next =
            start.month == 12
            ? self.start(year: start.year + 1, month: 1) : self.start(year: start.year, month: start.month + 1)
        return next.daysSince1970 * 86_400 - (moment + zone.offset(at: moment))
    }

    private func start(year: Int, month: Int) -> CivilDate {
        var date = CivilDate(daysSince1970: 0)
        date.year = year
        date.month = month
        date.day = min(startDay, CivilDate.days(inMonth: month, of: year))
        return date
    }
}

/// Why a billing period cannot be.
public enum BillingError: Error, Sendable, Hashable, CustomStringConvertible {
    /// Months have no such day.
    case noSuchDay(Int)
    /// No place is that far from Greenwich.
    case noSuchOffset(Int)

    public var description: String {
        switch self {
        case .noSuchDay(let day): "A billing period begins on a day from 1 to 31, not on day \(day)."
        case .noSuchOffset(let seconds): "An offset of \(seconds) s is more than a day: give seconds east of Greenwich."
        }
    }
}
