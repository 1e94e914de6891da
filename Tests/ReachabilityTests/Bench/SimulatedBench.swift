import NamespaceTools
import Netlink
import Reachability
import ReachabilityTestKit

/// The simulated kernel, driven by the commands of iproute2.
final class SimulatedBench: TestBench {
    let kernel = SimulatedKernel()

    var feed: any NetlinkFeed { kernel }

    func nic(_ name: String, index: Int?) throws { try kernel.addLink(name, .veth, up: true, index: index) }

    func tun(_ name: String) throws { try kernel.addLink(name, .tun) }

    func setReader(_ name: String, _ isThere: Bool) throws { try kernel.setCarrier(name, isThere) }

    func carrier(_ name: String, _ hasCarrier: Bool) throws { try kernel.setCarrier(name, hasCarrier) }

    func setNameservers(_ addresses: [String]) { kernel.nameservers = addresses.compactMap(IPAddress.init) }

    func setShowsLegsOfNexthops(_ shows: Bool) { kernel.showsLegsOfNexthops = shows }

    func moveAway(_ name: String) throws { try kernel.removeLink(name) }

    func detectDuplicates() { kernel.detectsDuplicateAddresses = true }

    func finishDuplicateDetection(of address: String, on link: String) throws {
        try kernel.finishDuplicateDetection(of: address, on: link)
    }

    func forge(deletionOf name: String) { kernel.forgeMessage() }

    func batch(_ commands: [String]) throws { try kernel.together { for command in commands { try ip(command) } } }

    func ip(_ command: String) throws {
        do {
            try run(Words(command))
        } catch let refusal as SimulatedKernel.Refusal {
            throw CommandFailed(command: command, answer: refusal.description)
        }
    }

    private func run(_ words: consuming Words) throws {
        var words = words
        var family = IPAddress.Family.ipv4
        if words.take("-6") { family = .ipv6 }
        _ = words.take("-4")
        switch try words.next() {
        case "link": try link(&words)
        case "addr": try address(&words)
        case "route": try route(&words, family)
        case "rule": try rule(&words, family)
        case "nexthop": try nexthop(&words, family)
        case let word: throw words.unknown(word)
        }
        try words.end()
    }

    private func link(_ words: inout Words) throws {
        let verb = try words.next()
        switch verb {
        case "add":
            let parent = words.take("link") ? try words.next() : nil
            _ = words.take("name")
            let name = try words.next()
            try words.expect("type")
            try kernel.addLink(name, kind(try words.next(), parent: parent))
        case "del": try kernel.removeLink(try words.next())
        case "set":
            let name = try words.next()
            switch try words.next() {
            case "up": try kernel.setUp(name)
            case "down": try kernel.setUp(name, false)
            case "name": try kernel.rename(name, to: try words.next())
            case "master": try kernel.setMaster(name, try words.next())
            case "nomaster": try kernel.setMaster(name, nil)
            case "addrgenmode":
                try words.expect("none")
                try kernel.setMakesLinkLocalAddress(name, false)
            case "txqueuelen", "alias":
                _ = try words.next()
                try kernel.announceLink(name)
            case let word: throw words.unknown(word)
            }
        default: throw words.unknown(verb)
        }
    }

    private func kind(_ word: String, parent: String?) -> SimulatedKernel.LinkKind {
        switch (word, parent) {
        case ("bridge", _): .bridge
        case ("bond", _): .bond
        case ("macvlan", .some(let parent)): .macvlan(on: parent)
        case ("vlan", .some(let parent)): .vlan(on: parent)
        case ("dummy", _): .dummy
        default: .other(word)
        }
    }

    private func address(_ words: inout Words) throws {
        let verb = try words.next()
        if verb == "flush" {
            try words.expect("dev")
            return try kernel.removeAddresses(from: try words.next())
        }
        let address = try words.next()
        let peer = words.take("peer") ? try words.next() : nil
        try words.expect("dev")
        let link = try words.next()
        _ = words.take("nodad")
        for lifetime in ["valid_lft", "preferred_lft"] where words.take(lifetime) { _ = try words.next() }
        switch verb {
        case "add": try kernel.addAddress(address, to: link, peer: peer)
        case "change": try kernel.refreshAddress(address, of: link)
        case "del": try kernel.removeAddress(address, from: link, peer: peer)
        default: throw words.unknown(verb)
        }
    }

    private func route(_ words: inout Words, _ family: IPAddress.Family) throws {
        let verb = try words.next()
        let kinds: [String: SimulatedKernel.Route.Kind] = [
            "unicast": .unicast, "local": .local, "blackhole": .blackhole, "unreachable": .unreachable,
            "prohibit": .prohibit, "throw": .throw,
        ]
        var destination = try words.next()
        var kind = SimulatedKernel.Route.Kind.unicast
        if let named = kinds[destination] {
            kind = named
            destination = try words.next()
        }
        var route = SimulatedKernel.Route(destination, kind: kind, family: family)
        var leg: SimulatedKernel.Route.Leg?
        while words.hasMore {
            switch try words.next() {
            case "via":
                _ = words.take("inet6")
                leg = leg ?? SimulatedKernel.Route.Leg()
                leg?.gateway = try words.next()
            case "dev":
                leg = leg ?? SimulatedKernel.Route.Leg()
                leg?.link = try words.next()
            case "metric": route.metric = try words.number()
            case "table": route.table = try words.number()
            case "src": route.source = try words.next()
            case "onlink": route.isOnLink = true
            case "nhid": route.nexthop = try words.number()
            case "nexthop":
                if let leg { route.legs.append(leg) }
                leg = SimulatedKernel.Route.Leg()
            case let word: throw words.unknown(word)
            }
        }
        if let leg { route.legs.append(leg) }
        switch verb {
        case "add": try kernel.addRoute(route)
        case "replace": try kernel.replaceRoute(route)
        case "append": try kernel.appendRoute(route)
        case "del": try kernel.removeRoute(route)
        default: throw words.unknown(verb)
        }
    }

    private func rule(_ words: inout Words, _ family: IPAddress.Family) throws {
        let verb = try words.next()
        var rule = SimulatedKernel.Rule(.lookUp(table: 254), family: family)
        while words.hasMore {
            switch try words.next() {
            case "not": rule.isInverted = true
            case "from":
                let word = try words.next()
                if word != "all" { rule.from = word }
            case "to": rule.to = try words.next()
            case "oif": rule.outputLink = try words.next()
            case "fwmark": rule.mark = try words.number()
            case "pref": rule.priority = try words.number()
            case "table": rule.action = .lookUp(table: try words.number())
            case "suppress_prefixlength": rule.suppressedLength = try words.number()
            case "blackhole": rule.action = .blackhole
            case "unreachable": rule.action = .unreachable
            case "prohibit": rule.action = .prohibit
            case let word: throw words.unknown(word)
            }
        }
        switch verb {
        case "add": try kernel.addRule(rule)
        case "del": try kernel.removeRule(rule)
        default: throw words.unknown(verb)
        }
    }

    private func nexthop(_ words: inout Words, _ family: IPAddress.Family) throws {
        let verb = try words.next()
        try words.expect("id")
        let id = try words.number()
        if verb == "del" { return try kernel.removeNexthop(id) }
        guard verb == "add" else { throw words.unknown(verb) }
        if words.take("group") {
            return try kernel.addNexthopGroup(id, try words.next().split(separator: "/").compactMap { Int($0) })
        }
        if words.take("blackhole") { return try kernel.addBlackholeNexthop(id, family: family) }
        let gateway = words.take("via") ? try words.next() : nil
        try words.expect("dev")
        try kernel.addNexthop(id, via: gateway, over: try words.next(), family: family)
    }
}

/// The words of a command, one after the other.
private struct Words {
    private let command: String
    private var words: ArraySlice<String>

    init(_ command: String) {
        self.command = command
        words = command.split(separator: " ").map(String.init)[...]
    }

    var hasMore: Bool { !words.isEmpty }

    mutating func next() throws -> String {
        guard let word = words.popFirst() else { throw CommandFailed(command: command, answer: "it ends too early") }
        return word
    }

    mutating func take(_ word: String) -> Bool {
        guard words.first == word else { return false }
        words.removeFirst()
        return true
    }

    mutating func expect(_ word: String) throws {
        let found = try next()
        if found != word { throw unknown(found) }
    }

    mutating func number() throws -> Int {
        let word = try next()
        guard let number = Int(word) else { throw unknown(word) }
        return number
    }

    func end() throws { if let word = words.first { throw unknown(word) } }

    func unknown(_ word: String) -> CommandFailed {
        CommandFailed(command: command, answer: "the simulated bench does not know “\(word)” here")
    }
}
