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
        case "policy":
            var question = PolicyQuestion()
            var json = false
            var watch = false
            while let word = words.next() {
                switch word {
                case "--json": json = true
                case "--watch": watch = true
                case "--type": rules.append(try words.rule(after: word))
                default:
                    guard try question.take(word, &words) else { throw Self.unknown(word, PolicyQuestion.usage) }
                }
            }
            command = .policy(question, json: json, watch: watch)
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

    private static let synopsis = "usage: reach watch | status | wait | explain | policy | record | replay | help"
    private static let replayUsage = "reach replay FILE [--json] [--type PATTERN=TYPE]"

    static func unknown(_ word: String, _ usage: String) -> UsageError {
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
          reach policy [--watch] [--json]        which quality of a made-up picture to show and fetch now, and why
          reach record FILE                      what the kernel says, until interrupted, for bug reports
          reach replay FILE [--json]             what `watch` would have reported of a recording
          reach help

          --type PATTERN=TYPE   interfaces whose name matches are of this type: wifi, wwan, wired, other
                                (any command, any number of times; a pattern as in a shell)
          --settle MS           report a change once it has held for so long; costlier ones at once
          --for LIST            of wifi, wwan, wired, other, offline; any way out where it is left out

        The picture of `reach policy` has a thumbnail and an original:
          --cached LIST         what the cache has of it: thumbnail, original, each with =stale if it is old
          --size LIST           thumbnail=40kB,original=4MB, which is what it has if nothing is said
          --trigger WHY         prefetch, visible (if nothing is said), user, user=original
          --prefer MODE         automatic (if nothing is said), alwaysOriginal, lowest, cachedOnly
          --allow-roaming       roaming costs are accepted
          --budget SIZE         what remains of the data budget
          --throughput SIZE     measured, a second

        A recording is a pcap file that tshark opens (link type 253). It holds the names and hardware addresses of all
        interfaces, this machine's IP addresses, all routes with their gateways, the name servers, and the names of
        Wi-Fi networks joined meanwhile: no traffic, no keys, no addresses that were talked to.

        With --json, a line is an object: time, monotonic_ns, status, reason, interface and via (name, index, type, evidence),
        interfaces, gateways, ipv4, ipv6, dns, expensive, constrained, updates (events; polling or stale: then error says
        why; stale is the last path known).

        Statuses: wifi, wwan (cellular, dial-up), wired, other, offline. Needs no privileges, sends no packet.
        Exit status 2: the command line is wrong. 3: the kernel can't be asked.
        """
}
