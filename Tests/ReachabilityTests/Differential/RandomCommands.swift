import TestSupport

/// Random commands of iproute2 that mean something most of the time.
struct RandomCommands {
    var generator: SeededGenerator

    static let links = ["eth0", "eth1", "eth2"]

    mutating func next() -> String {
        switch Int.random(in: 0..<20, using: &generator) {
        case 0: return link()
        case 1...5: return address()
        case 6...14: return route()
        case 15...17: return rule()
        default: return nexthop()
        }
    }

    private mutating func device() -> String { generator.pick(Self.links) }

    private mutating func link() -> String { "link set \(device()) \(generator.pick(["up", "up", "down"]))" }

    private mutating func address() -> String {
        let verb = generator.pick(["add", "add", "del"])
        let network = Int.random(in: 1...3, using: &generator)
        // Mostly the network of the link, so that there is something to route over.
        let device = generator.once(in: 6) ? device() : "eth\(network - 1)"
        if generator.once(in: 2) {
            let host = generator.pick(["2", "3"])
            let length = generator.pick([24, 24, 24, 32, 31, 16])
            return "addr \(verb) 10.\(network).0.\(host)/\(length) dev \(device)"
        }
        let host = generator.pick(["2", "3"])
        let length = generator.pick([64, 64, 128])
        return "addr \(verb) 2001:db8:\(network)::\(host)/\(length) dev \(device)" + (verb == "add" ? " nodad" : "")
    }

    private mutating func leg4() -> String {
        let network = Int.random(in: 1...3, using: &generator)
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: return "dev \(device())"
        case 1: return "via 10.\(network).0.1 dev \(device()) onlink"
        case 2: return "via 10.\(network).0.1"
        default: return "via 10.\(network).0.1 dev eth\(network - 1)"
        }
    }

    private mutating func leg6() -> String {
        let network = Int.random(in: 1...3, using: &generator)
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: return "dev \(device())"
        case 1: return "via fe80::1 dev \(device())"
        case 2: return "via 2001:db8:\(network)::1"
        default: return "via 2001:db8:\(network)::1 dev eth\(network - 1)"
        }
    }

    private mutating func route() -> String {
        let isIPv4 = generator.once(in: 2)
        let verb = generator.pick(["add", "add", "add", "replace", "append", "del"])
        let destination =
            isIPv4
            ? generator.pick(["default", "default", "default", "0.0.0.0/1", "128.0.0.0/1", "8.8.8.0/24", "10.9.0.0/16"])
            : generator.pick(["default", "default", "default", "::/1", "2001:503::/32", "2001:db8:9::/48"])
        var words = (isIPv4 ? "route " : "-6 route ") + verb + " "
        if generator.once(in: 5) {
            words += generator.pick(["blackhole", "unreachable", "prohibit", "throw"]) + " \(destination)" + number()
        } else if generator.once(in: 8), verb != "append" {
            let id = isIPv4 ? generator.pick([1, 2, 3, 10]) : generator.pick([4, 5, 6, 11])
            words += destination + number() + " nhid \(id)"
        } else if generator.once(in: 6), verb == "add" || verb == "replace" {
            words += destination + number()
            for network in generator.pick([[1, 2], [2, 3], [1, 2, 3]]) {
                words += " nexthop via " + (isIPv4 ? "10.\(network).0.1" : "2001:db8:\(network)::1")
                words += " dev eth\(network - 1)"
            }
        } else {
            words += "\(destination) " + (isIPv4 ? leg4() : leg6()) + number()
        }
        return words
    }

    private mutating func number() -> String {
        (generator.once(in: 2) ? " metric \(generator.pick([100, 200]))" : "")
            + (generator.once(in: 4) ? " table 100" : "")
    }

    private mutating func rule() -> String {
        let isIPv4 = generator.once(in: 2)
        var words = (isIPv4 ? "" : "-6 ") + "rule " + generator.pick(["add", "add", "del"])
        if generator.once(in: 5) { words += " not" }
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: words += " from all fwmark \(generator.pick([1, 2]))"
        case 1: words += " to " + (isIPv4 ? "8.8.8.0/24" : "2001:503::/32")
        case 2: words += " oif \(device())"
        default: words += " from all"
        }
        words += " pref \(generator.pick([100, 200, 32765]))"
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: words += " " + generator.pick(["blackhole", "unreachable", "prohibit"])
        case 1: words += " table 254 suppress_prefixlength 0"
        case 2: words += " table 254"
        default: words += " table 100"
        }
        return words
    }

    private mutating func nexthop() -> String {
        let isIPv4 = generator.once(in: 2)
        let ids = isIPv4 ? [1, 2, 3] : [4, 5, 6]
        if generator.once(in: 3) { return "nexthop del id \(generator.pick(ids + [isIPv4 ? 10 : 11]))" }
        let network = Int.random(in: 1...3, using: &generator)
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: return "nexthop add id \(isIPv4 ? 10 : 11) group \(ids[0])/\(ids[1])"
        case 1: return (isIPv4 ? "" : "-6 ") + "nexthop add id \(ids[2]) blackhole"
        default:
            let gateway = isIPv4 ? "10.\(network).0.1" : "2001:db8:\(network)::1"
            return "nexthop add id \(generator.pick(ids)) via \(gateway) dev eth\(network - 1)"
        }
    }
}
