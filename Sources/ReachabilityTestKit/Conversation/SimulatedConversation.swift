import Netlink
import Reachability

/// An open conversation with the simulated kernel.
final class SimulatedConversation: NetlinkConversation {
    /// As much as the live one takes at once.
    private static let messagesPerDrain = 2048

    private let kernel: SimulatedKernel
    private let mailbox: Mailbox

    init(kernel: SimulatedKernel, mailbox: Mailbox) {
        self.kernel = kernel
        self.mailbox = mailbox
    }

    deinit { kernel.close(mailbox) }

    var doorbells: [CInt] { [mailbox.bell.descriptor] }

    var deafness: NetlinkError? { mailbox.deafness }

    func watch(_ destinations: [IPAddress]) throws(NetlinkError) {
        try kernel.check(.attachFilter)
        mailbox.watch(destinations)
    }

    func drain(_ doorbell: CInt, into events: inout [NetlinkEvent]) throws(NetlinkError) -> Bool {
        try kernel.check(.receive)
        return mailbox.drain(limit: Self.messagesPerDrain, into: &events)
    }

    func links() throws(NetlinkError) -> Dump<LinkMessage> {
        try kernel.dump(.dumpLinks) { state in state.devices.map(state.message) }
    }

    func link(_ index: Int32) throws(NetlinkError) -> LinkMessage? {
        try kernel.dump(.dumpLinks) { state in state.devices.filter { $0.index == index }.map(state.message) }.elements
            .first
    }

    func addresses() throws(NetlinkError) -> Dump<AddressMessage> {
        try kernel.dump(.dumpAddresses) { state in
            state.devices.flatMap { device in device.addresses.map { state.message(of: $0, on: device.index) } }
        }
    }

    func lookUp(_ queries: [RouteQuery]) throws(NetlinkError) -> [RouteAnswer] {
        try kernel.check(.lookUpRoute)
        return kernel.read { state in queries.map(state.lookUp) }
    }

    func device(of link: LinkMessage) -> DeviceFacts {
        kernel.read { $0.device(link.index)?.facts } ?? DeviceFacts()
    }

    func nameservers() -> [IPAddress] { kernel.read(\.nameservers) }
}
