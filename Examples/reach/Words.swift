import Reachability

/// The words of a command line, taken one by one.
struct Words {
    private var words: [String]

    init(_ words: some Sequence<String>) {
        // `--option=value` is `--option value`.
        self.words = words.flatMap { word -> [String] in
            guard word.hasPrefix("--"), let cut = word.firstIndex(of: "=") else { return [word] }
            return [String(word[..<cut]), String(word[word.index(after: cut)...])]
        }
    }

    mutating func next() -> String? { words.isEmpty ? nil : words.removeFirst() }

    mutating func value(after option: String, _ what: String) throws(UsageError) -> String {
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
