/// Reads Retry-After (RFC 9110, 10.2.3): seconds, or one of the three forms of an HTTP date (RFC 9110, 5.6.7).
package enum RetryAfter {
    /// The longest wait a server can ask for; it is a floor under the next attempt, and a floor needs a ceiling.
    package static let ceiling: Duration = .seconds(120)

    /// - Parameter now: seconds since 1970, by the wall clock.
    /// - Returns: zero for a date in the past, at most ``ceiling``; `nil` when the value is neither form.
    package static func delay(_ value: String, now: Int64) -> Duration? {
        let text = value.drop { $0 == " " || $0 == "\t" }
        if let first = text.utf8.first, first >= UInt8(ascii: "0"), first <= UInt8(ascii: "9") {
            let digits = text.prefix { $0.isASCII && $0.isNumber }
            let rest = text.dropFirst(digits.count).drop { $0 == " " || $0 == "\t" }
            guard rest.isEmpty else { return nil }
            // More digits than an integer holds is still a number, and a long one.
            guard let seconds = Int64(digits) else { return ceiling }
            return min(.seconds(seconds), ceiling)
        }
        guard let date = HTTPDate.seconds(String(text)) else { return nil }
        return min(.seconds(max(0, date - now)), ceiling)
    }
}

/// HTTP dates, as seconds since 1970.
package enum HTTPDate {
    private static let months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]

    /// IMF-fixdate (`Sun, 06 Nov 1994 08:49:37 GMT`), RFC 850 (`Sunday, 06-Nov-94 08:49:37 GMT`) and asctime
    /// (`Sun Nov  6 08:49:37 1994`).
    package static func seconds(_ text: String) -> Int64? {
        let parts = text.lowercased().split { " ,-\t".contains($0) }.map(String.init)
        guard parts.count >= 5 else { return nil }
        let isAsctime = months.contains(parts[1])
        let (dayText, monthText) = isAsctime ? (parts[2], parts[1]) : (parts[1], parts[2])
        let (yearText, timeText) = isAsctime ? (parts[4], parts[3]) : (parts[3], parts[4])
        guard isAsctime ? parts.count == 5 : (parts.count == 6 && parts[5] == "gmt"),
            let month = months.firstIndex(of: monthText).map({ Int64($0 + 1) }),
            let day = number(dayText, in: 1...31), var year = number(yearText, in: 0...9999)
        else { return nil }
        // Two digits: the century that puts the date nearest; those that HTTP still sees are of this one or the last.
        if yearText.utf8.count == 2 { year += year < 70 ? 2000 : 1900 }
        let clock = timeText.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard clock.count == 3, let hour = number(clock[0], in: 0...23), let minute = number(clock[1], in: 0...59),
            let second = number(clock[2], in: 0...60)
        else { return nil }
        return days(year, month, day) * 86_400 + hour * 3_600 + minute * 60 + second
    }

    private static func number(_ text: String, in range: ClosedRange<Int64>) -> Int64? {
        guard text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else { return nil }
        return Int64(text).flatMap { range.contains($0) ? $0 : nil }
    }

    /// Days from 1970-01-01 in the Gregorian calendar, counted in years that begin in March, so that the leap day comes last.
    private static func days(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let marchYear = month > 2 ? year : year - 1
        let monthFromMarch = (month + 9) % 12
        let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
        let leapDays = floorDivide(marchYear, 4) - floorDivide(marchYear, 100) + floorDivide(marchYear, 400)
        return marchYear * 365 + leapDays + dayOfYear - 719_468
    }

    private static func floorDivide(_ value: Int64, _ divisor: Int64) -> Int64 {
        value >= 0 ? value / divisor : -((-value + divisor - 1) / divisor)
    }
}
