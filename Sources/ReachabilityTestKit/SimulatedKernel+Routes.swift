public import Netlink

extension SimulatedKernel {
    /// A route, in the words of `ip route`.
    public struct Route: Sendable, Hashable {
        /// What the kernel does with packets to the destination, in the words of `ip route`.
        public enum Kind: Sendable, Hashable {
            case unicast, local, blackhole, unreachable, prohibit, `throw`
        }

        /// One leg of a multipath route.
        public struct Leg: Sendable, Hashable {
            /// The address of the next hop; `nil` where the destination is on the link itself.
            public var gateway: String?
            /// The name of the link; `nil` for the one that leads to the gateway.
            public var link: String?

            /// - Parameters: see the properties.
            public init(via gateway: String? = nil, over link: String? = nil) {
                self.gateway = gateway
                self.link = link
            }
        }

        /// `default`, or a destination with its length.
        public var destination: String
        /// What the kernel does with packets to there.
        public var kind: Kind
        /// The ways that packets take: none, one, or several of a multipath route.
        public var legs: [Leg]
        /// `nil` for the family's usual one: 0 for IPv4, 1024 for IPv6. In what to remove: any.
        public var metric: Int?
        /// `nil` for the main table, 254.
        public var table: Int?
        /// The source address to be preferred.
        public var source: String?
        /// The gateway is taken to be on the link, whatever the routes say.
        public var isOnLink: Bool
        /// The nexthop object in place of legs.
        public var nexthop: Int?
        /// Where nothing else tells: of a default route without a gateway.
        public var family: IPAddress.Family?

        /// - Parameters: see the properties.
        public init(
            _ destination: String, kind: Kind = .unicast, via gateway: String? = nil, over link: String? = nil,
            metric: Int? = nil, table: Int? = nil, source: String? = nil, isOnLink: Bool = false, nexthop: Int? = nil,
            family: IPAddress.Family? = nil
        ) {
            self.init(destination, legs: [], metric: metric, table: table)
            self.kind = kind
            if gateway != nil || link != nil { legs = [Leg(via: gateway, over: link)] }
            self.source = source
            self.isOnLink = isOnLink
            self.nexthop = nexthop
            self.family = family
        }

        /// A multipath route.
        public init(_ destination: String, legs: [Leg], metric: Int? = nil, table: Int? = nil) {
            self.destination = destination
            self.kind = .unicast
            self.legs = legs
            self.metric = metric
            self.table = table
            source = nil
            isOnLink = false
            nexthop = nil
            family = nil
        }
    }

    /// `ip route add`: refused where a route of the same destination and metric is there already.
    public func addRoute(_ route: Route) throws(Refusal) { try put(route, .add) }

    /// `ip route replace`: one message, and no moment without a route.
    public func replaceRoute(_ route: Route) throws(Refusal) { try put(route, .replace) }

    /// `ip route append`
    public func appendRoute(_ route: Route) throws(Refusal) { try put(route, .append) }

    /// `ip route del`: the first one that has all that is given.
    public func removeRoute(_ route: Route) throws(Refusal) {
        try change { state throws(Refusal) in
            let destination = try route.prefix
            var pattern = KernelState.Pattern(
                table: try UInt32(number: route.table ?? 254, "table"), destination: destination)
            if route.kind != .unicast { pattern.kind = route.kind.number }
            let metric = try UInt32(number: route.metric ?? 0, "metric")
            pattern.metric = metric == 0 ? nil : metric
            pattern.source = try route.source.map { text throws(Refusal) in try Prefix(text).address }
            pattern.nexthop = try route.nexthop.map { id throws(Refusal) in try UInt32(number: id, "nexthop") }
            if let leg = route.legs.first {
                pattern.link = try leg.link.map { name throws(Refusal) in try state.index(name) }
                pattern.gateway = try leg.gateway.map { text throws(Refusal) in try Prefix(text).address }
            }
            try state.delete(pattern)
        }
    }

    private func put(_ route: Route, _ mode: KernelState.Mode) throws(Refusal) {
        try change { state throws(Refusal) in
            let entry = try route.entry(in: state)
            try state.add(entry, onLink: route.isOnLink, mode)
        }
    }

    // MARK: Nexthop objects

    /// `ip nexthop add id ID via GATEWAY dev LINK`
    public func addNexthop(
        _ id: Int, via gateway: String? = nil, over link: String, family: IPAddress.Family = .ipv4
    ) throws(Refusal) {
        try change { state throws(Refusal) in
            let gateway = try gateway.map { text throws(Refusal) in try Prefix(text).address }
            let leg = TableEntry.Leg(link: try state.index(link), gateway: gateway)
            try state.add(try UInt32(number: id, "nexthop"), .leg(leg, family: gateway?.family ?? family))
        }
    }

    /// `ip nexthop add id ID blackhole`
    public func addBlackholeNexthop(_ id: Int, family: IPAddress.Family = .ipv4) throws(Refusal) {
        try change { state throws(Refusal) in
            try state.add(try UInt32(number: id, "nexthop"), .blackhole(family: family))
        }
    }

    /// `ip nexthop add id ID group MEMBER/MEMBER…`
    public func addNexthopGroup(_ id: Int, _ members: [Int]) throws(Refusal) {
        try change { state throws(Refusal) in
            let members = try members.map { id throws(Refusal) in try UInt32(number: id, "nexthop") }
            try state.add(try UInt32(number: id, "nexthop"), .group(members))
        }
    }

    /// `ip nexthop del id ID`: the IPv4 routes that use it go without a word.
    public func removeNexthop(_ id: Int) throws(Refusal) {
        try change { state throws(Refusal) in
            try state.removeNexthop(try UInt32(number: id, "nexthop"))
        }
    }

    /// `net.ipv4.nexthop_compat_mode`: whether routes through nexthop objects show their legs. On at first.
    public var showsLegsOfNexthops: Bool {
        get { read(\.showsLegsOfNexthops) }
        set { change { $0.showsLegsOfNexthops = newValue } }
    }

    // MARK: Rules

    /// A routing rule, in the words of `ip rule`.
    public struct Rule: Sendable, Hashable {
        /// What happens to packets that a rule applies to.
        public enum Action: Sendable, Hashable {
            case lookUp(table: Int)
            case blackhole, unreachable, prohibit
        }

        /// What happens to packets that the rule applies to.
        public var action: Action
        /// IPv4 and IPv6 have rules of their own.
        public var family: IPAddress.Family
        /// `nil`: before all rules but the first.
        public var priority: Int?
        /// Only packets from there; a lookup has no source yet.
        public var from: String?
        /// Only packets to there.
        public var to: String?
        /// Only packets that are bound to this link.
        public var outputLink: String?
        /// Only packets with this mark, such as a VPN gives its own; a lookup has none.
        public var mark: Int
        /// All packets but those.
        public var isInverted: Bool
        /// Answers with a prefix no longer than this do not count.
        public var suppressedLength: Int?

        /// - Parameters: see the properties.
        public init(
            _ action: Action, family: IPAddress.Family = .ipv4, priority: Int? = nil, from: String? = nil,
            to: String? = nil, outputLink: String? = nil, mark: Int = 0, isInverted: Bool = false,
            suppressedLength: Int? = nil
        ) {
            self.action = action
            self.family = family
            self.priority = priority
            self.from = from
            self.to = to
            self.outputLink = outputLink
            self.mark = mark
            self.isInverted = isInverted
            self.suppressedLength = suppressedLength
        }
    }

    /// `ip rule add`
    public func addRule(_ rule: Rule) throws(Refusal) {
        try change { state throws(Refusal) in
            let value = try rule.value(in: state)
            try state.add(value, rule.family, priority: rule.priority == nil ? nil : value.priority)
        }
    }

    /// `ip rule del`: the first one that has all that is given.
    public func removeRule(_ rule: Rule) throws(Refusal) {
        try change { state throws(Refusal) in
            let value = try rule.value(in: state)
            try state.removeRule(like: value, rule.family, priority: rule.priority == nil ? nil : value.priority)
        }
    }
}

extension SimulatedKernel.Route.Kind {
    fileprivate var number: RouteMessage.Kind {
        switch self {
        case .unicast: .unicast
        case .local: .local
        case .blackhole: .blackhole
        case .unreachable: .unreachable
        case .prohibit: .prohibit
        case .throw: .throw
        }
    }
}

extension SimulatedKernel.Route {
    fileprivate var prefix: Prefix {
        get throws(SimulatedKernel.Refusal) {
            guard destination == "default" else {
                let prefix = try Prefix(destination)
                guard prefix.network == prefix.address else {
                    throw .invalid("\(destination) has bits beyond its length")
                }
                return prefix
            }
            let gateway = try legs.first?.gateway.map { text throws(SimulatedKernel.Refusal) in try Prefix(text).address
            }
            return .all(family ?? gateway?.family ?? .ipv4)
        }
    }

    fileprivate func entry(in state: KernelState) throws(SimulatedKernel.Refusal) -> TableEntry {
        let destination = try prefix
        var legs: [TableEntry.Leg] = []
        for leg in self.legs {
            let link = try leg.link.map { name throws(SimulatedKernel.Refusal) in try state.index(name) }
            let gateway = try leg.gateway.map { text throws(SimulatedKernel.Refusal) in try Prefix(text).address }
            legs.append(TableEntry.Leg(link: link ?? 0, gateway: gateway))
        }
        let isIPv4 = destination.family == .ipv4
        let metric = try UInt32(number: metric ?? 0, "metric")
        let isConnected = kind == .unicast && nexthop == nil && legs.count == 1 && legs[0].gateway == nil
        return TableEntry(
            table: try UInt32(number: table ?? (kind == .local ? 255 : 254), "table"), destination: destination,
            kind: kind.number,
            metric: isIPv4 || metric != 0 ? metric : 1024,
            scope: kind == .local ? .host : isConnected ? .link : .universe,
            source: try source.map { text throws(SimulatedKernel.Refusal) in try Prefix(text).address },
            legs: legs,
            nexthop: try nexthop.map { id throws(SimulatedKernel.Refusal) in try UInt32(number: id, "nexthop") })
    }
}

extension SimulatedKernel.Rule {
    fileprivate func value(in state: KernelState) throws(SimulatedKernel.Refusal) -> RoutingRule {
        let action: RoutingRule.Action =
            switch action {
            case .lookUp(let table): .lookUp(table: try UInt32(number: table, "table"))
            case .blackhole: .blackhole
            case .unreachable: .unreachable
            case .prohibit: .prohibit
            }
        return RoutingRule(
            priority: try UInt32(number: priority ?? 0, "priority"),
            from: try from.map { text throws(SimulatedKernel.Refusal) in try Prefix(text) },
            to: try to.map { text throws(SimulatedKernel.Refusal) in try Prefix(text) },
            outputLink: try outputLink.map { name throws(SimulatedKernel.Refusal) in try state.index(name) },
            mark: try UInt32(number: mark, "mark"), isInverted: isInverted, action: action,
            suppressedLength: suppressedLength)
    }
}

extension UInt32 {
    /// - Parameter what: what the number is of.
    fileprivate init(number: Int, _ what: String) throws(SimulatedKernel.Refusal) {
        guard let number = UInt32(exactly: number) else { throw .invalid("\(what) \(number) does not fit 32 bits") }
        self = number
    }
}
