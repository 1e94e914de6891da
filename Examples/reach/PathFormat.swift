import Glibc
import Reachability

/// How a path is printed.
enum PathFormat: Sendable {
    case json
    case table(TableStyle = .forStandardOutput)

    /// What stands above the lines.
    var header: String? {
        switch self {
        case .json: nil
        case .table(let style): style.header
        }
    }

    /// - Parameter time: when it was so; `nil` for now.
    func line(for path: NetworkPath, at time: Timestamp? = nil) -> String {
        let time = time ?? .now
        return switch self {
        case .json: jsonLine(for: path, at: time)
        case .table(let style): style.line(for: path, at: time)
        }
    }
}

// MARK: - For programs

/// One object, with the keys that the README and `reach help` list.
private func jsonLine(for path: NetworkPath, at time: Timestamp) -> String {
    var json = JSONObject()
    json.add("time", .text(rfc3339(time)))
    json.add("monotonic_ns", .number(time.monotonicNanoseconds))
    json.add("status", .text(path.status.rawValue))
    json.add("reason", path.reason.map { .text($0.rawValue) } ?? .null)
    json.add("interface", path.interface.map(object) ?? .null)
    json.add("via", path.via.map(object) ?? .null)
    json.add("interfaces", .list(path.interfaces.map { .text($0.name) }))
    json.add("gateways", .list(path.gateways.map { .text($0.description) }))
    json.add("ipv4", .flag(path.supportsIPv4))
    json.add("ipv6", .flag(path.supportsIPv6))
    json.add("dns", .flag(path.supportsDNS))
    json.add("expensive", .flag(path.isExpensive))
    json.add("constrained", .flag(path.isConstrained))
    json.add("updates", .text(path.updates.word))
    json.add("error", path.updates.error.map { .text($0.description) } ?? .null)
    return json.text + "\n"
}

private func object(_ interface: NetworkInterface) -> JSONValue {
    var json = JSONObject()
    json.add("name", .text(interface.name))
    json.add("index", .number(Int64(interface.index)))
    json.add("type", .text(interface.type.rawValue))
    json.add("evidence", .text(interface.evidence.description))
    return .object(json)
}

/// UTC with microseconds, as in RFC 3339.
func rfc3339(_ time: Timestamp) -> String {
    var seconds = time_t(time.nanosecondsSinceEpoch / 1_000_000_000)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    let date = "\(parts.tm_year + 1900)-\(padded(parts.tm_mon + 1))-\(padded(parts.tm_mday))"
    let microseconds = time.nanosecondsSinceEpoch % 1_000_000_000 / 1000
    return "\(date)T\(clock(parts)).\(padded(Int32(microseconds), to: 6))Z"
}

private func clock(_ parts: tm) -> String { "\(padded(parts.tm_hour)):\(padded(parts.tm_min)):\(padded(parts.tm_sec))" }

private func padded(_ number: Int32, to width: Int = 2) -> String {
    let digits = String(number)
    return String(repeating: "0", count: max(0, width - digits.count)) + digits
}

// MARK: - For people

/// Aligned columns, coloured on a terminal.
struct TableStyle: Sendable {
    let hasColour: Bool

    /// Colour on a terminal, unless NO_COLOR is set (no-color.org).
    static var forStandardOutput: TableStyle {
        let refusal = getenv("NO_COLOR").map { $0.pointee != 0 } ?? false
        return TableStyle(hasColour: isatty(STDOUT_FILENO) != 0 && !refusal)
    }

    private static let widths = [14, 9, 18, 24, 11]

    var header: String { row(["TIME", "STATUS", "INTERFACE", "GATEWAY", "SUPPORTS", "NOTES"]) }

    func line(for path: NetworkPath, at time: Timestamp) -> String {
        let supports = [(path.supportsIPv4, "4"), (path.supportsIPv6, "6"), (path.supportsDNS, "DNS")]
            .filter(\.0).map(\.1).joined(separator: " ")
        let line = row([
            wallTime(time), path.status.rawValue, interface(of: path),
            path.gateways.map(\.description).joined(separator: " "), supports, notes(on: path),
        ])
        return hasColour ? colour(of: path.status) + line.dropLast() + "\u{1B}[0m\n" : line
    }

    private func row(_ cells: [String]) -> String {
        var line = ""
        for (cell, width) in zip(cells, Self.widths + [0]) {
            line += cell + String(repeating: " ", count: max(cell.isEmpty ? width : 1, width - cell.count))
        }
        while line.last == " " { line.removeLast() }
        return line + "\n"
    }

    private func interface(of path: NetworkPath) -> String {
        guard let interface = path.interface else { return "-" }
        guard let via = path.via, via.index != interface.index else { return interface.name }
        return "\(interface.name) on \(via.name)"
    }

    private func notes(on path: NetworkPath) -> String {
        var notes: [String] = []
        if let reason = path.reason { notes.append(reason.words) }
        if path.isExpensive { notes.append("expensive") }
        if path.isConstrained { notes.append("constrained") }
        let others = path.interfaces.filter { $0.index != path.interface?.index && $0.index != path.via?.index }
        if !others.isEmpty { notes.append("also " + others.map(\.name).joined(separator: ", ")) }
        switch path.updates {
        case .events: break
        case .polling: notes.append("polling")
        case .stale(let error): notes.append("stale: \(error)")
        }
        return notes.joined(separator: ", ")
    }

    private func wallTime(_ time: Timestamp) -> String {
        let now = time.nanosecondsSinceEpoch
        var seconds = time_t(now / 1_000_000_000)
        var parts = tm()
        localtime_r(&seconds, &parts)
        return "\(clock(parts)).\(padded(Int32(now % 1_000_000_000 / 1_000_000), to: 3))"
    }

    private func colour(of status: NetworkPath.Status) -> String {
        switch status {
        case .wifi, .wired: "\u{1B}[32m"
        case .wwan: "\u{1B}[33m"
        case .other: "\u{1B}[36m"
        case .offline, .unknown: "\u{1B}[31m"
        }
    }
}

extension NetworkPath.Updates {
    fileprivate var word: String {
        switch self {
        case .events: "events"
        case .polling: "polling"
        case .stale: "stale"
        }
    }

    fileprivate var error: NetlinkError? {
        switch self {
        case .events: nil
        case .polling(let error), .stale(let error): error
        }
    }
}

extension NetworkPath.OfflineReason {
    fileprivate var words: String {
        switch self {
        case .noInterface: "no interface"
        case .linkDown: "switched off"
        case .noCarrier: "no carrier"
        case .dormant: "waiting for authentication"
        case .noAddress: "no address"
        case .noRoute: "no route"
        case .unreachableRoute: "the routing table says unreachable"
        case .unresolvedName: "the name has no address"
        }
    }
}
