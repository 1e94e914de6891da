internal import Reachability

/// What a monitor may use.
enum InterfaceFilter: Sendable {
    case all
    case required(NWInterface.InterfaceType)
    case prohibited(Set<NWInterface.InterfaceType>)

    func allows(_ type: NWInterface.InterfaceType) -> Bool {
        switch self {
        case .all: true
        case .required(let required): type == required
        case .prohibited(let prohibited): !prohibited.contains(type)
        }
    }
}

/// Turns this package's paths into Apple's, for one monitor.
struct PathSource: Sendable {
    let monitor: ReachabilityMonitor
    let filter: InterfaceFilter

    /// The present path, asked for on the calling thread if nobody is watching.
    func present() -> NWPath {
        do throws(NetlinkError) {
            return path(.success(try monitor.presentPath()))
        } catch {
            return path(.failure(error))
        }
    }

    func path(_ result: Result<NetworkPath, NetlinkError>) -> NWPath {
        switch result {
        case .success(let path): NWPath(facts(path), detail: detail(path))
        case .failure(let error): NWPath(NWPath.Facts(), detail: error.description)
        }
    }

    private func detail(_ path: NetworkPath) -> String {
        path.reason?.rawValue ?? "no way out over what the monitor may use"
    }

    private func facts(_ path: NetworkPath) -> NWPath.Facts {
        guard path.isOnline else {
            var facts = NWPath.Facts()
            // Only these two have something to authenticate to.
            let canWait = filter.allows(.wifi) || filter.allows(.wiredEthernet)
            if path.reason == .dormant, canWait { facts.status = .requiresConnection }
            return facts
        }
        let usable = usableInterfaces(path)
        guard let first = usable.first else {
            var facts = NWPath.Facts()
            facts.unsatisfiedReason = denial(path)
            return facts
        }
        return usable == path.interfaces ? whole(path) : part(path, first, usable)
    }

    /// The filter lets everything pass: all that is known of the path holds.
    private func whole(_ path: NetworkPath) -> NWPath.Facts {
        var facts = NWPath.Facts()
        facts.status = .satisfied
        facts.availableInterfaces = path.interfaces.map(NWInterface.init)
        facts.usedTypes = usedTypes(path)
        facts.gateways = endpoints(path.gateways, path.interfaces)
        facts.supportsIPv4 = path.supportsIPv4
        facts.supportsIPv6 = path.supportsIPv6
        facts.supportsDNS = path.supportsDNS
        facts.isExpensive = path.isExpensive
        facts.isConstrained = path.isConstrained
        return facts
    }

    /// The monitor may not use all interfaces: what holds is what there is to be had over the first that it may.
    private func part(
        _ path: NetworkPath, _ first: NetworkInterface, _ usable: [NetworkInterface]
    ) -> NWPath.Facts {
        // What lies beneath a tunnel may have nothing but a route to the other end: then the tunnel's families are those that it
        // carries.
        let reach = (try? monitor.reach(over: first.index)).flatMap { $0.families.isEmpty ? nil : $0 }
        var facts = NWPath.Facts()
        facts.status = .satisfied
        facts.availableInterfaces = usable.map(NWInterface.init)
        facts.usedTypes =
            first.index == path.interface?.index ? usedTypes(path) : [NWInterface.InterfaceType(first.type)]
        facts.gateways = endpoints(reach?.gateways ?? [], [first])
        facts.supportsIPv4 = reach?.families.contains(.ipv4) ?? path.supportsIPv4
        facts.supportsIPv6 = reach?.families.contains(.ipv6) ?? path.supportsIPv6
        facts.supportsDNS = path.supportsDNS
        facts.isExpensive = first.isExpensive
        facts.isConstrained = first.isConstrained
        return facts
    }

    private func endpoints(_ gateways: [Reachability.IPAddress], _ interfaces: [NetworkInterface]) -> [NWEndpoint] {
        let only = interfaces.count == 1 ? interfaces.first.map(NWInterface.init) : nil
        return gateways.map { NWEndpoint(gateway: $0, on: $0.isLinkLocal ? only : nil) }
    }

    private func usedTypes(_ path: NetworkPath) -> Set<NWInterface.InterfaceType> {
        Set([path.interface, path.via].compactMap { $0 }.map { NWInterface.InterfaceType($0.type) })
    }

    private func usableInterfaces(_ path: NetworkPath) -> [NetworkInterface] {
        let interfaces = path.interfaces.filter { filter.allows(NWInterface.InterfaceType($0.type)) }
        guard case .prohibited = filter else { return interfaces }
        // A tunnel's packets leave by what lies beneath it, which comes next in the list. Of two tunnels over the same interface the
        // second is not followed by it; to leave that one out as well would cost more than it saves.
        return interfaces.filter { interface in
            guard interface.type == .other, let beneath = beneath(interface, path) else { return true }
            return filter.allows(NWInterface.InterfaceType(beneath.type))
        }
    }

    private func beneath(_ tunnel: NetworkInterface, _ path: NetworkPath) -> NetworkInterface? {
        if tunnel.index == path.interface?.index { return path.via }
        let next = path.interfaces.firstIndex(of: tunnel).map { path.interfaces[path.interfaces.index(after: $0)...] }
        return next?.first
    }

    private func denial(_ path: NetworkPath) -> NWPath.UnsatisfiedReason {
        guard case .prohibited(let types) = filter else { return .notAvailable }
        let denied = usedTypes(path).intersection(types)
        if denied.contains(.cellular) { return .cellularDenied }
        return denied.contains(.wifi) ? .wifiDenied : .notAvailable
    }
}
