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
        case record(file: String)
        case replay(file: String, json: Bool)
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
        case "record":
            command = .record(file: try words.file("reach record FILE"))
        case "replay":
            var json = false
            var file: String?
            while let word = words.next() {
                switch word {
                case "--json": json = true
                case "--type": rules.append(try words.rule(after: word))
                default:
                    guard file == nil, !word.hasPrefix("-") else { throw Self.unknown(word, Self.replayUsage) }
                    file = word
                }
            }
            guard let file else { throw UsageError(problem: "no file given", usage: "usage: \(Self.replayUsage)") }
            command = .replay(file: file, json: json)
        case "help", "--help", "-h":
            command = .help
        default:
            throw UsageError(problem: "there is no command '\(name)'", usage: Self.synopsis)
        }
        configuration = ReachabilityMonitor.Configuration(rules: rules)
    }

    private static let synopsis = "usage: reach watch | status | wait | explain | record | replay | help"
    private static let replayUsage = "reach replay FILE [--json] [--type PATTERN=TYPE]"

    fileprivate static func unknown(_ word: String, _ usage: String) -> UsageError {
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
          reach record FILE                      what the kernel says, until interrupted, for bug reports
          reach replay FILE [--json]             what `watch` would have reported of a recording
          reach help

          --type PATTERN=TYPE   interfaces whose name matches are of this type: wifi, wwan, wired, other
                                (any command, any number of times; a pattern as in a shell)
          --settle MS           report a change once it has held for so long; costlier ones at once
          --for LIST            of wifi, wwan, wired, other, offline; any way out where it is left out

        A recording is a pcap file that tshark opens (link type 253). It holds the names and hardware addresses of all
        interfaces, this machine's IP addresses, all routes with their gateways, the name servers, and the names of
        Wi-Fi networks joined meanwhile: no traffic, no keys, no addresses that were talked to.

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

    /// The one argument of a command that takes a file and nothing else.
    mutating func file(_ usage: String) throws(UsageError) -> String {
        guard let file = next() else { throw UsageError(problem: "no file given", usage: "usage: \(usage)") }
        guard let surplus = file.hasPrefix("-") ? file : next() else { return file }
        throw Invocation.unknown(surplus, usage)
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
}
