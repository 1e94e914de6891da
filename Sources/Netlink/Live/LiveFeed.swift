import CNetlink
import Glibc

/// The kernel itself, in the network namespace of the thread that opens it.
package struct LiveFeed: NetlinkFeed {
    private let devices: DeviceTree
    private let resolverPath: String

    /// - Parameters: where to look for device files and for the resolver's configuration; a test gives its own.
    package init(devices: DeviceTree = DeviceTree(), resolverPath: String = "/etc/resolv.conf") {
        self.devices = devices
        self.resolverPath = resolverPath
    }

    package func open(watching destinations: [IPAddress]) throws(NetlinkError) -> sending any NetlinkConversation {
        try LiveConversation(watching: destinations, devices: devices, resolverPath: resolverPath)
    }
}

/// Two rtnetlink sockets, the same for nl80211, a timer that a resume from suspend cancels, and an eye on resolv.conf.
private final class LiveConversation: NetlinkConversation {
    private let doorbell: DoorbellSocket
    private var requests: RequestSocket
    /// `nil` where sandboxes deny generic netlink: then the rest of the evidence has to do.
    private var wireless: WirelessSocket?
    /// `nil` where sandboxes have no such timers (gVisor): a resume goes unnoticed there, what changed meanwhile does not.
    private var suspend: SuspendWatch?
    private let resolver: ResolverFile
    private let devices: DeviceTree
    let doorbells: [CInt]

    init(watching destinations: [IPAddress], devices: DeviceTree, resolverPath: String) throws(NetlinkError) {
        doorbell = try DoorbellSocket(watching: destinations)
        requests = try RequestSocket()
        do throws(NetlinkError) {
            wireless = try WirelessSocket()
        } catch {
            if error.isExhaustion { throw error }
        }
        do throws(NetlinkError) {
            suspend = try SuspendWatch()
        } catch {
            if error.isExhaustion { throw error }
        }
        resolver = ResolverFile(path: resolverPath)
        self.devices = devices
        let descriptors = [doorbell.descriptor, suspend?.descriptor, resolver.descriptor, wireless?.descriptor]
        doorbells = descriptors.compactMap(\.self)
    }

    var deafness: NetlinkError? { doorbell.deafness }

    func watch(_ destinations: [IPAddress]) throws(NetlinkError) { try doorbell.watch(destinations) }

    func drain(_ doorbell: CInt, into events: inout [NetlinkEvent]) throws(NetlinkError) -> Bool {
        switch doorbell {
        case suspend?.descriptor:
            if suspend?.hasSlept() == true { events.append(.resumed) }
        case resolver.descriptor:
            if resolver.hasChanged() { events.append(.resolver) }
        case wireless?.descriptor:
            return try wireless?.drain(into: &events) ?? false
        default:
            // Without an eye on the file, every other news is an occasion to look at it.
            if resolver.descriptor == nil { events.append(.resolver) }
            return try self.doorbell.drain(into: &events)
        }
        return false
    }

    func links() throws(NetlinkError) -> Dump<LinkMessage> {
        let links = try requests.links()
        wireless?.links(are: links.elements)
        return links
    }

    func link(_ index: Int32) throws(NetlinkError) -> LinkMessage? { try requests.link(index) }

    func addresses() throws(NetlinkError) -> Dump<AddressMessage> { try requests.addresses() }

    func lookUp(_ queries: [RouteQuery]) throws(NetlinkError) -> [RouteAnswer] { try requests.lookUp(queries) }

    func device(of link: LinkMessage) -> DeviceFacts {
        var facts = devices.facts(of: link)
        facts.wirelessMode = wireless?.mode(of: link)
        return facts
    }

    func wireless(_ index: Int32) -> WirelessDetails? { wireless?.details(of: index) }

    func nameservers() -> [IPAddress] { resolver.nameservers() }
}
