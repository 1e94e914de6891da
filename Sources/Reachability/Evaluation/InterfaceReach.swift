import Netlink

/// What there is to be had over one interface, whether or not the kernel prefers it.
package struct InterfaceReach: Sendable, Hashable {
    /// The families with a route over the interface, and an address on it to send from.
    package let families: Set<IPAddress.Family>
    /// The next hops of these routes.
    package let gateways: [IPAddress]
}

extension InterfaceReach {
    /// - Parameter lookups: the answers to thorough questions.
    init(_ index: Int32, state: MachineState, lookups: Lookups) {
        var families: Set<IPAddress.Family> = []
        var gateways: [IPAddress] = []
        if let candidate = lookups.candidates.firstIndex(of: index) {
            for probe in lookups.probes.indices {
                guard let entry = lookups.entry(probe, over: candidate),
                    state.usableAddress(on: index, entry.family) != nil
                else { continue }
                families.insert(entry.family)
                for hop in entry.hops where hop.index == index {
                    if let gateway = hop.gateway, !gateways.contains(gateway) { gateways.append(gateway) }
                }
            }
        }
        self.init(families: families, gateways: gateways)
    }
}

extension ReachabilityMonitor {
    /// Asks the kernel what there is to be had over an interface with a way out, which need not be the one that carries traffic.
    ///
    /// - Throws: ``NetlinkError`` as ``start()`` does.
    package func reach(over index: Int) throws(NetlinkError) -> InterfaceReach {
        let session = try hub.beginQuestion()
        defer { hub.endQuestion() }
        return try session.reach(over: Int32(index)) ?? InterfaceReach(families: [], gateways: [])
    }
}
