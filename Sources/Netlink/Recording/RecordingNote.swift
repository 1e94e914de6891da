/// What a recording holds beside the kernel's messages, as lines of text: where a snapshot begins and ends, and what is known from
/// files and not from netlink.
///
/// The first line says what it is about; each further one is `key=value`, or a key alone.
package enum RecordingNote: Sendable, Hashable {
    /// Everything up to ``snapshotEnds`` is answers to dumps, and all there is; what was known before is void.
    case snapshotBegins
    case snapshotEnds
    /// ``DeviceFacts/wirelessMode`` is not among them: nl80211's own messages are recorded.
    case device(index: Int32, DeviceFacts)
    case nameservers([IPAddress])
    /// A remark of whoever made the recording: what happens next.
    case remark(String)

    package init?(text: String) {
        let lines = text.split(separator: "\n").map { line in
            line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        }
        func values(_ key: String) -> [String] {
            lines.dropFirst().filter { $0.count == 2 && $0[0] == key }.map { $0[1] }
        }
        func has(_ key: String) -> Bool { lines.dropFirst().contains([key]) }
        switch lines.first?.first {
        case "snapshot-begins": self = .snapshotBegins
        case "snapshot-ends": self = .snapshotEnds
        case "device":
            guard let index = lines.first?.last.flatMap({ Int32($0) }) else { return nil }
            self = .device(
                index: index,
                DeviceFacts(
                    devtype: values("devtype").first, hasPhy80211: has("phy80211"), driver: values("driver").first,
                    hasDevice: has("device"), lowerLinks: values("lower"), pppoeDevices: values("pppoe")))
        case "remark": self = .remark(lines.first?.dropFirst().first ?? "")
        case "nameservers":
            self = .nameservers(values("address").compactMap { IPAddress($0) })
        default:
            return nil
        }
    }

    package var text: String {
        var lines: [String]
        switch self {
        case .snapshotBegins: lines = ["snapshot-begins"]
        case .snapshotEnds: lines = ["snapshot-ends"]
        case .device(let index, let facts):
            lines = ["device=\(index)"]
            lines += facts.devtype.map { ["devtype=\($0)"] } ?? []
            if facts.hasPhy80211 { lines.append("phy80211") }
            lines += facts.driver.map { ["driver=\($0)"] } ?? []
            if facts.hasDevice { lines.append("device") }
            lines += facts.lowerLinks.map { "lower=\($0)" }
            lines += facts.pppoeDevices.map { "pppoe=\($0)" }
        case .remark(let remark): lines = ["remark=\(remark.split(separator: "\n").joined(separator: " "))"]
        case .nameservers(let servers):
            lines = ["nameservers"] + servers.map { "address=\($0)" }
        }
        return lines.map { $0 + "\n" }.joined()
    }
}
