import Netlink

/// The chain of evidence behind a path, in words for people and bug reports.
public struct Explanation: Sendable, Hashable {
    /// One link of the chain.
    public struct Step: Sendable, Hashable {
        /// What was looked at, such as `route to 8.8.8.8` or `link wlan0`.
        public let subject: String
        /// What it says.
        public let finding: String
    }

    /// The path that the steps lead to.
    public let path: NetworkPath
    /// Lookups first, then links with their addresses, kinds and costs, then name servers.
    public let steps: [Step]
}

extension Explanation: CustomStringConvertible {
    /// A line for each step, and the path last.
    public var description: String {
        let width = steps.map(\.subject.count).max() ?? 0
        let lines = steps.map { step in
            step.subject + String(repeating: " ", count: width - step.subject.count + 2) + step.finding
        }
        return (lines + ["→ \(path)"]).joined(separator: "\n")
    }
}

extension ReachabilityMonitor {
    /// Asks the kernel for the present path, everywhere or to one address, and keeps what it said.
    ///
    /// As ``path(to:)``, on the calling thread, within a millisecond, without a packet.
    ///
    /// - Throws: ``NetlinkError`` as ``start()`` does.
    public func explanation(of address: IPAddress? = nil) throws(NetlinkError) -> Explanation {
        let session = try hub.beginQuestion()
        defer { hub.endQuestion() }
        return try session.explanation(of: address) ?? Explanation(path: .unknown, steps: [])
    }
}

/// Puts evidence into words.
struct Explainer {
    let state: MachineState
    let lookups: Lookups
    let path: NetworkPath
    let radios: [WirelessDetails]

    func explanation() -> Explanation {
        Explanation(path: path, steps: routes() + links() + nameservers())
    }

    // MARK: Routes

    private func routes() -> [Explanation.Step] {
        let asked = lookups.probes.indices.map { probe in
            Explanation.Step(
                subject: "route to \(lookups.probes[probe])", finding: words(lookups.way(probe), lookups.entry(probe)))
        }
        let unasked = IPAddress.Family.allCases.filter { !state.hasUsableAddress($0) }.map { family in
            Explanation.Step(
                subject: family == .ipv4 ? "IPv4" : "IPv6",
                finding: "no address that reaches beyond a link, so no way out")
        }
        return asked + unasked
    }

    private func words(_ answer: RouteAnswer, _ entry: RouteMessage?) -> String {
        switch answer {
        case .refused(let errno):
            return NetlinkError(.lookUpRoute, errno: errno).kernelWords
        case .route(let route) where route.kind != .unicast && route.kind != .local:
            return "\(route.kind)"
        case .route(let route):
            var text = route.hops.map(words).joined(separator: ", ")
            text += route.preferredSource.map { ", source \($0)" } ?? ", no source address"
            if let entry {
                text += ", table \(RouteTable.name(entry.table))"
                if entry.metric != 0 { text += ", metric \(entry.metric)" }
                if entry.hops.count > 1 { text += ", one of: " + entry.hops.map(words).joined(separator: ", ") }
            }
            return text
        }
    }

    private func words(_ hop: RouteMessage.Hop) -> String {
        "over \(state.links[hop.index]?.name ?? "link \(hop.index)")" + (hop.gateway.map { " via \($0)" } ?? "")
    }

    // MARK: Links

    private func links() -> [Explanation.Step] {
        let links = state.links.values.sorted { $0.index < $1.index }
        return links.filter { state.classifications[$0.index]?.role != .loopback }.flatMap { link in
            [Explanation.Step(subject: "link \(link.name)", finding: condition(of: link))] + kind(of: link)
        }
    }

    private func condition(of link: LinkMessage) -> String {
        var words = ["index \(link.index)", link.flags.contains(.up) ? "up" : "down"]
        if link.flags.contains(.running) { words.append("running") }
        if let carrier = link.carrier { words.append(carrier ? "carrier" : "no carrier") }
        if let state = link.operationalState { words.append("operstate \(state)") }
        if let master = link.master.flatMap({ state.links[$0] }) { words.append("port of \(master.name)") }
        // IFLA_LINK of a veth is its peer, which carries nothing.
        if link.kind != "veth", let parent = state.visibleParent(of: link).flatMap({ state.links[$0] }) {
            words.append("on \(parent.name)")
        }
        let addresses = state.addresses(of: link.index)
        words.append(addresses.isEmpty ? "no address" : addresses.map(words(for:)).joined(separator: " "))
        return words.joined(separator: ", ")
    }

    private func words(for address: AddressMessage) -> String {
        address.isUsable ? "\(address.address)" : "(\(address.address): not usable beyond the link)"
    }

    private func kind(of link: LinkMessage) -> [Explanation.Step] {
        guard let role = state.classifications[link.index]?.role else { return [] }
        let medium = state.medium(of: link.index)
        let beneath = if case .physical(let beneath) = medium { beneath } else { link.index }
        let interface = state.interface(link.index, via: beneath)
        var words = ["\(interface.type.rawValue) (\(interface.evidence))"]
        if interface.isExpensive { words.append("expensive (\(interface.costEvidence))") }
        if interface.isConstrained { words.append("constrained") }
        switch (role, medium) {
        case (.noWayOut, _): words.append("no way out")
        case (.routingDomain, _): words.append("a routing domain of its own")
        case (_, .tunnel): words.append("a tunnel")
        case (_, .dead(let reason)): words.append("not usable: \(reason.rawValue)")
        case _ where beneath != link.index:
            words.append("carried by \(state.links[beneath]?.name ?? "link \(beneath)")")
        default: break
        }
        let findings = [words.joined(separator: ", ")] + radios.filter { $0.link.index == link.index }.map(words(for:))
        return findings.map { Explanation.Step(subject: "", finding: $0) }
    }

    private func words(for radio: WirelessDetails) -> String {
        // Whoever runs an access point chooses the bytes of its name, so nothing in it may reach a terminal as it is.
        var words = [radio.link.ssid.map { "network \($0.debugDescription)" } ?? "no network"]
        if radio.link.mode == .accessPoint {
            words.append(radio.peers.count == 1 ? "1 station" : "\(radio.peers.count) stations")
        } else {
            words += radio.peers.map { "access point \($0.address)" + ($0.signal.map { ", signal \($0) dBm" } ?? "") }
        }
        return words.joined(separator: ", ")
    }

    private func nameservers() -> [Explanation.Step] {
        let servers = state.nameservers.map(\.description).joined(separator: " ")
        return [Explanation.Step(subject: "name servers", finding: servers.isEmpty ? "none in resolv.conf" : servers)]
    }
}

extension RouteTable {
    fileprivate static func name(_ table: UInt32) -> String {
        switch table {
        case main: "main"
        case local: "local"
        case `default`: "default"
        default: "\(table)"
        }
    }
}
