import Netlink

/// What is known of links and addresses: a snapshot, kept current by events. Routes are not in it; they are asked for.
struct MachineState: Sendable {
    /// Counts the changes that can change an answer.
    private(set) var version = 0
    private(set) var links: [Int32: LinkMessage] = [:]
    private(set) var classifications: [Int32: Classification] = [:]
    private(set) var nameservers: [IPAddress] = []
    /// The links worth asking for one by one: those that could carry packets, and have an address to send from.
    ///
    /// Ports and VRF members are not ways out of their own, and links without an address are not either, which keeps a host
    /// with hundreds of containers at a handful of questions. Kept up to date link by link, so that an event costs the same
    /// however many links there are.
    private(set) var candidates: [Int32] = []
    /// The links that packets can be handed to now, those that lead nowhere apart.
    private(set) var usableLinks: Set<Int32> = []
    /// The ports of each bridge, bond, team or VRF.
    private(set) var ports: [Int32: Set<Int32>] = [:]
    private var addresses: [Int32: [AddressMessage.Identity: AddressMessage]] = [:]
    private var usableAddresses: [IPAddress.Family: Int] = [:]
    /// The facts of links that are named after others in the device files: PPP, and channels of modems.
    private var dependents: [Int32: DeviceFacts] = [:]
    private var pppLinks: Set<Int32> = []
    /// /proc/net/pppoe when it was last looked at: a device for each session.
    private var pppoeSessions: [String] = []
    private let classifier: Classifier

    init(rules: [InterfaceRule]) {
        classifier = Classifier(rules: rules)
    }

    // MARK: Taking in

    /// Replaces everything.
    mutating func replace(
        links newLinks: [LinkMessage], addresses newAddresses: [AddressMessage], nameservers: [IPAddress],
        device: (LinkMessage) -> DeviceFacts
    ) {
        self = MachineState(classifier: classifier, nameservers: nameservers, version: version + 1)
        // Grown at once, because what a dictionary leaves behind when it grows is memory that a process never gives back.
        links.reserveCapacity(newLinks.count)
        classifications.reserveCapacity(newLinks.count)
        for link in newLinks { update(link, device: device) }
        for address in newAddresses { update(address) }
    }

    private init(classifier: Classifier, nameservers: [IPAddress], version: Int) {
        self.classifier = classifier
        self.version = version
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
        if needsAsking(link, known) { classify(link, device(link)) }
        if let known, known.name != link.name { askAbove(known.name, device: device) }
        reconsider(link.index)
        return true
    }

    /// What the device files say is kept until the name or the kind changes. PPP is asked about each time, for its session may
    /// be listed later than the link; and where they said nothing that is certain, they are asked once more when the link
    /// becomes usable, for a driver may be late to describe its device.
    private func needsAsking(_ link: LinkMessage, _ known: LinkMessage?) -> Bool {
        guard let known else { return true }
        if known.name != link.name || known.kind != link.kind || known.hardwareType != link.hardwareType { return true }
        if Classifier.isPPP(link) { return true }
        let isCertain = classifications[link.index]?.evidence.isMoreThanAppearance ?? false
        return link.kind == nil && !isCertain && isUsable(link) && !isUsable(known)
    }

    /// The device files name what is beneath a link, so a new name there is news above. Names change once in a link's life.
    private mutating func askAbove(_ name: String, device: (LinkMessage) -> DeviceFacts) {
        let above = dependents.filter { $0.value.lowerLinks.contains(name) || $0.value.pppoeDevices.contains(name) }
        for link in above.keys.compactMap({ links[$0] }) { classify(link, device(link)) }
    }

    /// To be called after each change of a link or its addresses.
    private mutating func reconsider(_ index: Int32) {
        version += 1
        let isWay = links[index].map { isUsable($0) && canLeadOut($0) } ?? false
        if isWay { usableLinks.insert(index) } else { usableLinks.remove(index) }
        candidates.removeAll { $0 == index }
        if isCandidate(index) {
            // Kept in order, so that equal states ask equal questions.
            candidates.insert(index, at: candidates.firstIndex { $0 > index } ?? candidates.endIndex)
        }
    }

    private func isCandidate(_ index: Int32) -> Bool {
        guard usableLinks.contains(index), links[index]?.master == nil, hasUsableAddress(index) else { return false }
        return classifications[index]?.role != .routingDomain
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
        let isPPP = Classifier.isPPP(link)
        dependents[link.index] = isPPP || !facts.lowerLinks.isEmpty ? facts : nil
        guard isPPP else {
            if pppLinks.remove(link.index) != nil { classifyPPP(pppLinks) }
            classifications[link.index] = classifier.classify(link, facts)
            return
        }
        let before = pppoeDevices
        pppLinks.insert(link.index)
        pppoeSessions = facts.pppoeDevices
        classifyPPP(pppoeDevices == before ? [link.index] : pppLinks)
    }

    /// The links over which every ppp link is a PPPoE session; none where some of them must be something else.
    ///
    /// The kernel lists sessions by the device beneath and does not say which ppp link is whose. Where there are fewer
    /// sessions than links, any link may be the modem's, and the cost must not be understated.
    private var pppoeDevices: [String] {
        pppoeSessions.count < pppLinks.count ? [] : Set(pppoeSessions).sorted()
    }

    private mutating func classifyPPP(_ indices: Set<Int32>) {
        for index in indices {
            guard let link = links[index], var facts = dependents[index] else { continue }
            facts.pppoeDevices = pppoeDevices
            classifications[index] = classifier.classify(link, facts)
        }
    }

    mutating func removeLink(_ index: Int32) -> Bool {
        guard let link = links.removeValue(forKey: index) else { return false }
        if let master = link.master { ports[master]?.remove(index) }
        ports[index] = nil
        classifications[index] = nil
        dependents[index] = nil
        if pppLinks.remove(index) != nil { classifyPPP(pppLinks) }
        for address in (addresses.removeValue(forKey: index) ?? [:]).values { count(address, -1) }
        reconsider(index)
        return true
    }

    @discardableResult
    mutating func update(_ address: AddressMessage) -> Bool {
        let known = addresses[address.index, default: [:]].updateValue(address, forKey: address.identity)
        if known == address { return false }
        if let known { count(known, -1) }
        count(address, 1)
        reconsider(address.index)
        return true
    }

    mutating func remove(_ address: AddressMessage) -> Bool {
        guard let known = addresses[address.index]?.removeValue(forKey: address.identity) else { return false }
        count(known, -1)
        reconsider(address.index)
        return true
    }

    private mutating func count(_ address: AddressMessage, _ difference: Int) {
        if address.isUsable { usableAddresses[address.address.family, default: 0] += difference }
    }

    mutating func update(nameservers new: [IPAddress]) -> Bool {
        guard new != nameservers else { return false }
        nameservers = new
        version += 1
        return true
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
