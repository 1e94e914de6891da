import Netlink

/// What is known of links and addresses: a snapshot, kept current by events. Routes are not in it; they are asked for.
struct MachineState: Sendable {
    private(set) var links: [Int32: LinkMessage] = [:]
    private(set) var classifications: [Int32: Classification] = [:]
    private(set) var nameservers: [IPAddress] = []
    /// The links worth asking for one by one: those that could carry packets, and have an address to send from.
    ///
    /// Ports and VRF members are not ways out of their own, and links without an address are not either, which keeps a host
    /// with hundreds of containers at a handful of questions. Kept up to date link by link, so that an event costs the same
    /// however many links there are.
    private(set) var candidates: [Int32] = []
    /// The links that packets can be handed to now, loopback apart.
    private(set) var usableLinks: Set<Int32> = []
    /// The ports of each bridge, bond, team or VRF.
    private(set) var ports: [Int32: Set<Int32>] = [:]
    private var addresses: [Int32: [AddressKey: AddressMessage]] = [:]
    private var usableAddresses: [IPAddress.Family: Int] = [:]
    private let classifier: Classifier

    /// What makes an address on a link another one: a link can have it twice, with prefixes of different lengths.
    private struct AddressKey: Hashable {
        let address: IPAddress
        let prefixLength: UInt8

        init(_ message: AddressMessage) {
            address = message.address
            prefixLength = message.prefixLength
        }
    }

    init(rules: [InterfaceRule]) {
        classifier = Classifier(rules: rules)
    }

    // MARK: Taking in

    /// Replaces everything.
    mutating func replace(
        links newLinks: [LinkMessage], addresses newAddresses: [AddressMessage], nameservers: [IPAddress],
        device: (LinkMessage) -> DeviceFacts
    ) {
        self = MachineState(classifier: classifier, nameservers: nameservers)
        for link in newLinks { update(link, device: device) }
        for address in newAddresses { update(address) }
    }

    private init(classifier: Classifier, nameservers: [IPAddress]) {
        self.classifier = classifier
        self.nameservers = nameservers
    }

    /// Takes in a link; `true` if that can change an answer.
    @discardableResult
    mutating func update(_ link: LinkMessage, device: (LinkMessage) -> DeviceFacts) -> Bool {
        let known = links[link.index]
        if known == link { return false }
        links[link.index] = link
        if known?.master != link.master {
            if let old = known?.master { ports[old]?.remove(link.index) }
            if let new = link.master { ports[new, default: []].insert(link.index) }
        }
        let isPPP = Classifier.isPPP(link)
        // Asked again when the name or the kind changes, and for PPP, whose session may be listed later than the link.
        if known?.name != link.name || known?.kind != link.kind || known?.hardwareType != link.hardwareType || isPPP {
            classify(link, device(link))
        }
        reconsider(link.index)
        return true
    }

    private mutating func reconsider(_ index: Int32) {
        let isWay = links[index].map { isUsable($0) && !$0.flags.contains(.loopback) } ?? false
        if isWay { usableLinks.insert(index) } else { usableLinks.remove(index) }
        candidates.removeAll { $0 == index }
        if isCandidate(index) {
            // Kept in order, so that equal states ask equal questions.
            candidates.insert(index, at: candidates.firstIndex { $0 > index } ?? candidates.endIndex)
        }
    }

    private func isCandidate(_ index: Int32) -> Bool {
        guard let link = links[index], isUsable(link), link.master == nil, hasUsableAddress(index) else { return false }
        switch classifications[index]?.role {
        case .loopback, .routingDomain, .noWayOut, nil: return false
        default: return true
        }
    }

    /// Asks again what the device files and nl80211 say; `true` if that changed what the link is.
    mutating func refreshDevice(_ index: Int32, device: (LinkMessage) -> DeviceFacts) -> Bool {
        guard let link = links[index] else { return false }
        let before = classifications[index]
        classify(link, device(link))
        reconsider(index)
        return classifications[index] != before
    }

    private mutating func classify(_ link: LinkMessage, _ facts: DeviceFacts) {
        classifications[link.index] = classifier.classify(link, facts)
    }

    mutating func removeLink(_ index: Int32) -> Bool {
        guard let link = links.removeValue(forKey: index) else { return false }
        if let master = link.master { ports[master]?.remove(index) }
        ports[index] = nil
        classifications[index] = nil
        for address in (addresses.removeValue(forKey: index) ?? [:]).values { count(address, -1) }
        reconsider(index)
        return true
    }

    @discardableResult
    mutating func update(_ address: AddressMessage) -> Bool {
        let known = addresses[address.index, default: [:]].updateValue(address, forKey: AddressKey(address))
        if known == address { return false }
        if let known { count(known, -1) }
        count(address, 1)
        reconsider(address.index)
        return true
    }

    mutating func remove(_ address: AddressMessage) -> Bool {
        guard let known = addresses[address.index]?.removeValue(forKey: AddressKey(address)) else { return false }
        count(known, -1)
        reconsider(address.index)
        return true
    }

    private mutating func count(_ address: AddressMessage, _ difference: Int) {
        if address.isUsable { usableAddresses[address.address.family, default: 0] += difference }
    }

    mutating func update(nameservers new: [IPAddress]) -> Bool {
        defer { nameservers = new }
        return new != nameservers
    }

    // MARK: Asking

    /// Whether packets can be handed to the link now: IFF_UP and IFF_RUNNING. Never IFF_LOWER_UP alone, which Wi-Fi has before
    /// its keys; never operstate UP alone, for tunnels and modems stay UNKNOWN for ever. A Wi-Fi link that never joined
    /// is RUNNING for a moment, with IFLA_CARRIER 0.
    func isUsable(_ link: LinkMessage) -> Bool {
        link.flags.isSuperset(of: [.up, .running]) && link.carrier != false
    }

    /// How far the link got on the way to a working network, without a look at the routes.
    func progress(of link: LinkMessage) -> NetworkPath.OfflineReason {
        if !link.flags.contains(.up) { return .linkDown }
        if !isUsable(link) {
            let isDormant = link.operationalState == .dormant && link.flags.contains(.lowerUp)
            return isDormant ? .dormant : .noCarrier
        }
        return hasUsableAddress(link.index) ? .noRoute : .noAddress
    }

    func hasUsableAddress(_ index: Int32) -> Bool {
        addresses[index]?.values.contains(where: \.isUsable) ?? false
    }

    /// Whether any link has an address of the family to send from.
    func hasUsableAddress(_ family: IPAddress.Family) -> Bool { usableAddresses[family, default: 0] > 0 }

    /// In the order of the addresses, IPv4 first.
    func addresses(of index: Int32) -> [AddressMessage] {
        (addresses[index] ?? [:]).values.sorted { one, other in
            let (left, right) = (one.address.words, other.address.words)
            return left.count == right.count ? left.lexicographicallyPrecedes(right) : left.count < right.count
        }
    }

    /// The lowest, where there are several: which one a socket would get is for the kernel to say.
    func usableAddress(on index: Int32, _ family: IPAddress.Family) -> IPAddress? {
        let usable = addresses[index]?.values.filter { $0.isUsable && $0.address.family == family }
        return usable?.map(\.address).min { $0.words.lexicographicallyPrecedes($1.words) }
    }
}
