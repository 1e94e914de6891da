import Netlink

/// Interfaces as programs see them, once it is known what lies beneath.
extension MachineState {
    /// Whether what lies beneath has to be asked of the routing tables.
    func isTunnel(_ index: Int32) -> Bool {
        if case .tunnel = medium(of: index) { true } else { false }
    }

    /// A tunnel is `other`; whatever else is stacked has the type of the link beneath it. Both cost what that costs.
    ///
    /// - Parameter via: the link that carries the packets; `index` itself where nothing is stacked.
    func interface(_ index: Int32, via: Int32) -> NetworkInterface {
        let own = classifications[index] ?? Classification(role: .own)
        let beneath = classifications[via] ?? own
        let name = links[via]?.name ?? ""
        var type = own.type
        var evidence = own.evidence
        if index != via, !isTunnel(index), own.evidence.isWeaker(thanBeneath: beneath.evidence) {
            type = beneath.type
            evidence = .beneath(name, beneath.evidence)
        }
        var cost = (isExpensive: own.isExpensive, evidence: own.costEvidence)
        if index != via, beneath.isExpensive, own.costEvidence.isWeaker(thanBeneath: beneath.costEvidence) {
            cost = (true, .beneath(name, beneath.costEvidence))
        }
        return NetworkInterface(
            index: Int(index), name: links[index]?.name ?? "", type: type, evidence: evidence,
            isExpensive: cost.isExpensive, costEvidence: cost.evidence, isConstrained: own.isConstrained)
    }
}

extension Evidence {
    /// Whether what lies beneath a stacked link says more about the medium than this does: more than anything but the program's
    /// word, unless nothing is known of it, as of a line over which a PPPoE session runs.
    fileprivate func isWeaker(thanBeneath other: Evidence) -> Bool {
        if case .rule = self { false } else { other != .nothing || self == .nothing }
    }
}
