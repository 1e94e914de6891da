import DownloadPolicy
import Reachability

/// A mistake on the command line: what is wrong, and how to call it.
struct UsageError: Error, CustomStringConvertible {
    let problem: String
    var usage = "see 'reach help'"

    var description: String { "\(problem); \(usage)" }
}

/// What the command line asks for.
struct Invocation {
    enum Command {
        case watch(json: Bool, settling: Duration?)
        case status(json: Bool)
        case wait(for: Set<NetworkPath.Status>, timeout: Duration?)
        case explain(IPAddress?)
        case policy(PolicyQuestion, json: Bool, watch: Bool)
        case help
    }

    let command: Command
    let configuration: ReachabilityMonitor.Configuration

    init(_ words: some Sequence<String>) throws(UsageError) {
        var words = Words(words)
        guard let name = words.next() else { throw UsageError(problem: "no command given", usage: Self.synopsis) }
        var rules: [InterfaceRule] = []
        switch name {
        case "watch":
            var json = false
            var settling: Duration?
            while let word = words.next() {
                switch word {
                case "--json": json = true
                case "--settle": settling = try words.duration(after: word, unit: .milliseconds(1), "milliseconds")
                case "--type": rules.append(try words.rule(after: word))
                default: throw Self.unknown(word, "reach watch [--json] [--settle MS] [--type PATTERN=TYPE]")
                }
            }
            command = .watch(json: json, settling: settling)
        case "status":
            var json = false
            while let word = words.next() {
                switch word {
                case "--json": json = true
                case "--type": rules.append(try words.rule(after: word))
                default: throw Self.unknown(word, "reach status [--json] [--type PATTERN=TYPE]")
                }
            }
            command = .status(json: json)
        case "wait":
            var statuses = NetworkPath.Status.online
            var timeout: Duration?
            while let word = words.next() {
                switch word {
                case "--for": statuses = try words.statuses(after: word)
                case "--timeout": timeout = try words.duration(after: word, unit: .seconds(1), "seconds")
                case "--type": rules.append(try words.rule(after: word))
                default:
                    throw Self.unknown(word, "reach wait [--for wifi,wired,...] [--timeout S] [--type PATTERN=TYPE]")
                }
            }
            command = .wait(for: statuses, timeout: timeout)
        case "explain":
            var address: IPAddress?
            while let word = words.next() {
                if word == "--type" {
                    rules.append(try words.rule(after: word))
                } else if word.hasPrefix("-") || address != nil {
                    throw Self.unknown(word, "reach explain [ADDRESS] [--type PATTERN=TYPE]")
                } else if let parsed = IPAddress(word) {
                    address = parsed
                } else {
                    throw UsageError(
                        problem: "'\(word)' is not an IPv4 or IPv6 address", usage: "names are not resolved")
                }
            }
            command = .explain(address)
        case "policy":
            var question = PolicyQuestion()
            var (json, watch) = (false, false)
            while let word = words.next() {
                switch word {
                case "--watch": watch = true
                case "--json": json = true
                case "--cached": try words.setCache(.fresh, in: &question.ladder, after: word)
                case "--stale": try words.setCache(.stale, in: &question.ladder, after: word)
                case "--size": try words.setSizes(in: &question.ladder, after: word)
                case "--trigger": question.trigger = try words.trigger(after: word)
                case "--always-original": question.preferences.alwaysDownloadOriginal = true
                case "--lowest": question.preferences.mode = .lowest
                case "--cached-only": question.preferences.mode = .cachedOnly
                case "--budget": question.budget = try words.bytes(after: word)
                case "--type": rules.append(try words.rule(after: word))
                default: throw Self.unknown(word, Self.policyUsage)
                }
            }
            command = .policy(question, json: json, watch: watch)
        case "help", "--help", "-h":
            command = .help
        default:
            throw UsageError(problem: "there is no command '\(name)'", usage: Self.synopsis)
        }
        configuration = ReachabilityMonitor.Configuration(rules: rules)
    }

    private static let synopsis = "usage: reach watch | status | wait | explain | policy | help"
    private static let policyUsage =
        "reach policy [--watch] [--json] [--cached thumbnail,original] [--stale ...] [--size original=4MB,...] "
        + "[--trigger visible|user|user:original|prefetch] [--always-original | --lowest | --cached-only] "
        + "[--budget BYTES] [--type PATTERN=TYPE]"

    private static func unknown(_ word: String, _ usage: String) -> UsageError {
        let kind = word.hasPrefix("-") ? "unknown option" : "unexpected argument"
        return UsageError(problem: "\(kind) '\(word)'", usage: "usage: \(usage)")
    }

    static let help = """
        reach: how would this machine's next packet leave it, and what does it cost?

          reach watch [--json] [--settle MS]     the present path, then a line for each change
          reach status [--json]                  once; exit status 0 online, 1 offline
          reach wait [--for wifi,wired] [--timeout S]
                                                 until it holds; exit status 0, or 1 at the timeout
          reach explain [ADDRESS]                the chain of evidence: lookup, link, address, kind, cost
          reach policy [--watch] [--json]        what a download policy decides about a made-up picture on this path,
                                                 why, and what would have to be otherwise; again for each change
          reach help

          --type PATTERN=TYPE   interfaces whose name matches are of this type: wifi, wwan, wired, other
                                (any command, any number of times; a pattern as in a shell)
          --settle MS           report a change once it has held for so long; costlier ones at once
          --cached LIST         the picture's renditions that the cache has: thumbnail, original; --stale for old copies
          --size LIST           such as original=4MB,thumbnail=40kB; both unknown where it is left out
          --trigger WHO         visible, user, user:original (a tap that names it), prefetch
          --always-original     the user's setting; or --lowest, or --cached-only
          --budget BYTES        what remains of a data budget, such as 500kB; none where it is left out
          --for LIST            of wifi, wwan, wired, other, offline; any way out where it is left out

        Statuses: wifi, wwan (cellular, dial-up), wired, other, offline. Needs no privileges, sends no packet.
        Exit status 2: the command line is wrong. 3: the kernel can't be asked.
        """
}

/// The words of a command line, taken one by one.
private struct Words {
    private var words: [String]

    init(_ words: some Sequence<String>) {
        // `--option=value` is `--option value`.
        self.words = words.flatMap { word -> [String] in
            guard word.hasPrefix("--"), let cut = word.firstIndex(of: "=") else { return [word] }
            return [String(word[..<cut]), String(word[word.index(after: cut)...])]
        }
    }

    mutating func next() -> String? { words.isEmpty ? nil : words.removeFirst() }

    private mutating func value(after option: String, _ what: String) throws(UsageError) -> String {
        guard let value = next() else { throw UsageError(problem: "\(option) needs \(what)") }
        return value
    }

    mutating func duration(after option: String, unit: Duration, _ name: String) throws(UsageError) -> Duration {
        let text = try value(after: option, "a number of \(name)")
        // Beyond a billion the clocks' arithmetic could overflow, and nobody waits for that.
        guard let number = Double(text), number.isFinite, (0...1e9).contains(number) else {
            throw UsageError(
                problem: "'\(text)' is not a number of \(name)", usage: "give \(option) a number from 0 to 1000000000")
        }
        return unit * number
    }

    mutating func statuses(after option: String) throws(UsageError) -> Set<NetworkPath.Status> {
        let text = try value(after: option, "a list of statuses")
        var statuses: Set<NetworkPath.Status> = []
        for word in text.split(separator: ",", omittingEmptySubsequences: false) {
            guard let status = NetworkPath.Status(rawValue: String(word)), status != .unknown else {
                throw UsageError(
                    problem: "'\(word)' is not a status", usage: "choose from wifi, wwan, wired, other, offline")
            }
            statuses.insert(status)
        }
        return statuses
    }

    mutating func rule(after option: String) throws(UsageError) -> InterfaceRule {
        let text = try value(after: option, "PATTERN=TYPE")
        let usage = "give \(option) PATTERN=TYPE with a type of wifi, wwan, wired, other"
        guard let cut = text.lastIndex(of: "="), cut != text.startIndex else {
            throw UsageError(problem: "'\(text)' is not PATTERN=TYPE", usage: usage)
        }
        let type = NetworkInterface.InterfaceType(rawValue: String(text[text.index(after: cut)...]))
        guard let type, type != .loopback else { throw UsageError(problem: "'\(text)' has no such type", usage: usage) }
        return InterfaceRule(String(text[..<cut]), type: type)
    }

    // MARK: What is asked of a policy

    private mutating func list(after option: String, _ what: String) throws(UsageError) -> [Substring] {
        try value(after: option, what).split(separator: ",", omittingEmptySubsequences: false)
    }

    private func quality(_ name: some StringProtocol) throws(UsageError) -> Quality {
        switch name {
        case "thumbnail": return .thumbnail
        case "original": return .original
        default: throw UsageError(problem: "'\(name)' is no rendition", usage: "choose from thumbnail, original")
        }
    }

    mutating func setCache(_ state: CacheState, in ladder: inout Ladder, after option: String) throws(UsageError) {
        for name in try list(after: option, "a list of renditions") { ladder[try quality(name)].cache = state }
    }

    mutating func setSizes(in ladder: inout Ladder, after option: String) throws(UsageError) {
        for item in try list(after: option, "a list such as original=4MB") {
            let halves = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard halves.count == 2 else {
                throw UsageError(problem: "'\(item)' is not RENDITION=BYTES", usage: "such as original=4MB")
            }
            ladder[try quality(halves[0])].size = try Self.bytes(halves[1])
        }
    }

    mutating func trigger(after option: String) throws(UsageError) -> Trigger {
        let text = try value(after: option, "visible, user or prefetch")
        switch text {
        case "visible": return .visible
        case "prefetch": return .prefetch
        case "user": return .user
        case _ where text.hasPrefix("user:"): return .user(naming: try quality(text.dropFirst(5)))
        default:
            throw UsageError(
                problem: "'\(text)' is no trigger", usage: "choose from visible, user, user:original, prefetch")
        }
    }

    mutating func bytes(after option: String) throws(UsageError) -> Int64 {
        try Self.bytes(value(after: option, "a number of bytes"))
    }

    /// Decimal units, as data plans have them.
    private static func bytes(_ text: some StringProtocol) throws(UsageError) -> Int64 {
        let units: [(String, Double)] = [("GB", 1e9), ("MB", 1e6), ("kB", 1e3), ("KB", 1e3), ("B", 1)]
        let unit = units.first { text.hasSuffix($0.0) } ?? ("", 1)
        guard let number = Double(text.dropLast(unit.0.count)), number.isFinite, number >= 0, number * unit.1 < 1e18
        else {
            throw UsageError(
                problem: "'\(text)' is not a number of bytes", usage: "such as 300000, 40kB, 4MB or 1.5GB")
        }
        return Int64(number * unit.1)
    }
}
