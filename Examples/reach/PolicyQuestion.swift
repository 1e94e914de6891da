import DownloadPolicy
import Reachability

/// A made-up picture, and what is known and wanted of it: all of a policy's input but the path.
struct PolicyQuestion {
    private var ladder = Ladder(thumbnail: Rung(size: 40_000), original: Rung(size: 4_000_000))
    private var trigger = Trigger.visible
    private var preferences = DownloadPreferences()
    private var budget: BudgetFacts?
    private var throughput: Int64?

    static let usage =
        "reach policy [--watch] [--json] [--cached LIST] [--size LIST] [--trigger WHY] [--prefer MODE] ..."

    /// The input that the question is on a path.
    func input(on path: NetworkPath) -> PolicyInput {
        PolicyInput(
            path: PathFacts(path), preferences: preferences, trigger: trigger, ladder: ladder, budget: budget,
            throughput: throughput)
    }

    /// Takes an option; `false` if it is none of its own.
    mutating func take(_ option: String, _ words: inout Words) throws(UsageError) -> Bool {
        switch option {
        case "--cached": try takeCached(words.value(after: option, "a list of qualities"))
        case "--size": try takeSizes(words.value(after: option, "a list such as thumbnail=40kB,original=4MB"))
        case "--trigger": trigger = try Self.trigger(words.value(after: option, "a trigger"))
        case "--prefer":
            let word = try words.value(after: option, "a mode")
            guard let mode = DownloadPreferences.Mode(rawValue: word) else {
                let modes = DownloadPreferences.Mode.allCases.map(\.rawValue).joined(separator: ", ")
                throw UsageError(problem: "'\(word)' is not a preference", usage: "choose from \(modes)")
            }
            preferences.mode = mode
        case "--allow-roaming": preferences.allowsRoaming = true
        case "--budget":
            budget = BudgetFacts(remaining: try Self.size(words.value(after: option, "a size")), reserve: 1_000_000)
        case "--throughput": throughput = try Self.size(words.value(after: option, "a size"))
        default: return false
        }
        return true
    }

    private mutating func takeCached(_ list: String) throws(UsageError) {
        for item in list.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let quality = Self.quality(parts[0]), parts.count == 1 || parts[1] == "stale" else {
                throw UsageError(
                    problem: "'\(item)' is nothing the cache could have",
                    usage: "choose from thumbnail, original, thumbnail=stale, original=stale")
            }
            ladder[quality].cache = parts.count == 1 ? .fresh : .stale
        }
    }

    private mutating func takeSizes(_ list: String) throws(UsageError) {
        for item in list.split(separator: ",", omittingEmptySubsequences: false) {
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, let quality = Self.quality(parts[0]) else {
                throw UsageError(
                    problem: "'\(item)' is not the size of a quality", usage: "give --size thumbnail=40kB,original=4MB")
            }
            ladder[quality].size = try Self.size(String(parts[1]))
        }
    }

    private static func quality(_ word: Substring) -> Quality? {
        switch word {
        case "thumbnail": .thumbnail
        case "original": .original
        default: nil
        }
    }

    private static func trigger(_ word: String) throws(UsageError) -> Trigger {
        switch word {
        case "prefetch": return .prefetch
        case "visible": return .visible
        case "user": return .user
        case "user=thumbnail": return .user(naming: .thumbnail)
        case "user=original": return .user(naming: .original)
        default:
            throw UsageError(
                problem: "'\(word)' is not a trigger",
                usage: "choose from prefetch, visible, user, user=thumbnail, user=original")
        }
    }

    /// Bytes, from a number with an optional decimal unit.
    private static func size(_ text: String) throws(UsageError) -> Int64 {
        let units: [(suffix: String, factor: Double)] = [("kB", 1e3), ("MB", 1e6), ("GB", 1e9), ("B", 1), ("", 1)]
        for unit in units where text.hasSuffix(unit.suffix) {
            guard let number = Double(text.dropLast(unit.suffix.count)) else { break }
            // Up to 2^53 a Double counts single bytes.
            guard number >= 0, number * unit.factor <= 9e15 else { break }
            return Int64(number * unit.factor)
        }
        throw UsageError(problem: "'\(text)' is not a size", usage: "give bytes, or a number with kB, MB or GB")
    }
}
