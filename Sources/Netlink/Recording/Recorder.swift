import CNetlink
import Glibc

/// Takes down what the kernel says: everything that is there, then every change, unfiltered, with what the device files say of
/// each link. It decides nothing, so that a recording shows what a monitor had to go by.
package struct Recorder: ~Copyable {
    private let routing: DoorbellQueue
    private let generic: DoorbellQueue
    private var requests: RequestSocket
    private var genericRequests: RequestSocket
    private let resolver: ResolverFile
    private let devices: DeviceTree
    private var facts: [Int32: DeviceFacts] = [:]
    private var servers: [IPAddress]?
    /// Where to wait for changes.
    package let descriptors: [CInt]

    package init(devices: DeviceTree = DeviceTree(), resolverPath: String = "/etc/resolv.conf") throws(NetlinkError) {
        let routing = try NetlinkSocket(protocol: NETLINK_ROUTE)
        // All routes go by, not just those that matter.
        try routing.setReceiveBuffer(bytes: 8 << 20)
        try routing.joinRouting()
        let generic = try NetlinkSocket.joinedController()
        let requests = try RequestSocket()
        let genericRequests = try RequestSocket(protocol: NETLINK_GENERIC)
        let resolver = ResolverFile(path: resolverPath)
        descriptors = [routing.descriptor, generic.descriptor] + [resolver.descriptor].compactMap(\.self)
        self.routing = DoorbellQueue(routing)
        self.generic = DoorbellQueue(generic)
        self.requests = requests
        self.genericRequests = genericRequests
        self.resolver = resolver
        self.devices = devices
    }

    // MARK: Snapshot

    /// All there is: links, addresses, routes, rules, nexthop objects, wireless links, and the notes about them.
    package mutating func snapshot() throws(NetlinkError) -> [RecordedDatagram] {
        facts = [:]
        servers = nil
        var recording = [note(.snapshotBegins)]
        recording += try wirelessSnapshot()
        var links: [LinkMessage] = []
        let linkMessages = try requests.dump(
            .dumpLinks, CInt(RTM_GETLINK), ifinfomsg(), RequestSocket.withoutStatistics
        ) {
            message -> [UInt8]? in
            if let link = MessageParser.link(from: message) { links.append(link) }
            return Self.bytes(of: message)
        }
        for link in links { recording += describe(link) }
        recording += linkMessages.elements.map { datagram(.route, $0) }
        recording += try dump(.dumpAddresses, RTM_GETADDR, ifaddrmsg())
        // Nexthop objects before the routes that use them.
        recording += try dump(.dumpNexthops, RTM_GETNEXTHOP, nhmsg(), isOptional: true)
        recording += try dump(.dumpRoutes, RTM_GETROUTE, rtmsg())
        recording += try dump(.dumpRules, RTM_GETRULE, fib_rule_hdr(), isOptional: true)
        recording += nameservers()
        recording.append(note(.snapshotEnds))
        return recording
    }

    /// - Parameter isOptional: whether kernels are built without such things.
    private mutating func dump<Header: BitwiseCopyable>(
        _ operation: NetlinkError.Operation, _ type: Int, _ header: Header, isOptional: Bool = false
    ) throws(NetlinkError) -> [RecordedDatagram] {
        do throws(NetlinkError) {
            let messages = try requests.dump(operation, CInt(type), header) { Self.bytes(of: $0) }
            return messages.elements.map { datagram(.route, $0) }
        } catch {
            if isOptional, error.errno == EOPNOTSUPP { return [] }
            throw error
        }
    }

    private mutating func wirelessSnapshot() throws(NetlinkError) -> [RecordedDatagram] {
        var family: GenericFamily?
        let controller = genlmsghdr(cmd: UInt8(CTRL_CMD_GETFAMILY), version: 1, reserved: 0)
        let families = try genericRequests.dump(.findFamily, GENL_ID_CTRL, controller) { message -> [UInt8]? in
            guard let found = WirelessParser.family(from: message), found.name == WirelessParser.familyName else {
                return nil
            }
            family = found
            return Self.bytes(of: message)
        }
        guard let family else { return [] }
        try generic.socket.joinWireless(family)
        let header = genlmsghdr(cmd: UInt8(NL80211_CMD_GET_INTERFACE.rawValue), version: 0, reserved: 0)
        let links = try genericRequests.dump(.askWireless, CInt(family.id), header) { Self.bytes(of: $0) }
        return (families.elements + links.elements).map { datagram(.generic, $0) }
    }

    // MARK: Changes

    /// Takes what has come at a descriptor; more may be waiting.
    package mutating func drain(_ descriptor: CInt) throws(NetlinkError) -> [RecordedDatagram] {
        switch descriptor {
        case resolver.descriptor: return resolver.hasChanged() ? nameservers() : []
        case generic.socket.descriptor: return try drainGeneric()
        default: return try drainRouting()
        }
    }

    private mutating func drainRouting() throws(NetlinkError) -> [RecordedDatagram] {
        var events: [NetlinkEvent] = []
        var messages: [(bytes: [UInt8], event: NetlinkEvent)] = []
        _ = try routing.drain(into: &events, overrun: .overrun) { message in
            let event = MessageParser.event(from: message)
            messages.append((Self.bytes(of: message), event))
            return event
        }
        // What was lost can't be had back; what came of it can.
        if events.contains(.overrun) { return try snapshot() }
        var recording: [RecordedDatagram] = []
        for message in messages {
            if case .link(let link) = message.event { recording += describe(link) }
            recording.append(datagram(.route, message.bytes))
        }
        return recording
    }

    private mutating func drainGeneric() throws(NetlinkError) -> [RecordedDatagram] {
        var events: [NetlinkEvent] = []
        var recording: [RecordedDatagram] = []
        var families: [GenericFamily] = []
        _ = try generic.drain(into: &events, overrun: .overrun) { message in
            recording.append(Self.datagram(.generic, Self.bytes(of: message)))
            if case .came(let family) = WirelessParser.news(from: message) { families.append(family) }
            return .skipped(.partial)
        }
        for family in families where family.name == WirelessParser.familyName {
            try generic.socket.joinWireless(family)
        }
        return events.contains(.overrun) ? try snapshot() : recording
    }

    // MARK: Notes

    /// What the device files say of a link, unless that has been noted.
    private mutating func describe(_ link: LinkMessage) -> [RecordedDatagram] {
        let found = devices.facts(of: link)
        return facts.updateValue(found, forKey: link.index) == found ? [] : [note(.device(index: link.index, found))]
    }

    private mutating func nameservers() -> [RecordedDatagram] {
        let found = resolver.nameservers()
        defer { servers = found }
        return servers == found ? [] : [note(.nameservers(found))]
    }

    private func note(_ note: RecordingNote) -> RecordedDatagram { datagram(.program, note.message) }

    private func datagram(_ family: RecordedDatagram.Family, _ bytes: [UInt8]) -> RecordedDatagram {
        Self.datagram(family, bytes)
    }

    private static func datagram(_ family: RecordedDatagram.Family, _ bytes: [UInt8]) -> RecordedDatagram {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return RecordedDatagram(
            time: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec), family: family, bytes: bytes)
    }

    private static func bytes(of message: UnsafeMutablePointer<nlmsghdr>) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: message, count: Int(message.pointee.nlmsg_len)))
    }
}

extension RecordingNote {
    /// A netlink message of the first type that is free for use, with the text in it.
    package var message: [UInt8] {
        let text = Array(text.utf8)
        let header = nlmsghdr(
            nlmsg_len: UInt32(MemoryLayout<nlmsghdr>.size + text.count), nlmsg_type: UInt16(NLMSG_MIN_TYPE),
            nlmsg_flags: 0, nlmsg_seq: 0, nlmsg_pid: 0)
        return withUnsafeBytes(of: header) { Array($0) } + text
    }

    package init?(message: UnsafeMutablePointer<nlmsghdr>) {
        let bytes = UnsafeRawBufferPointer(start: message, count: Int(message.pointee.nlmsg_len))
        self.init(text: String(decoding: bytes.dropFirst(MemoryLayout<nlmsghdr>.size), as: UTF8.self))
    }
}

extension RecordedDatagram {
    /// Calls `body` with each message of the datagram; what follows a message cut short is left out.
    package func forEachMessage(_ body: (UnsafeMutablePointer<nlmsghdr>) -> Void) {
        // A copy that is aligned, and that libnl may point into.
        withUnsafeTemporaryAllocation(byteCount: bytes.count, alignment: 16) { buffer in
            buffer.copyBytes(from: bytes)
            guard var message = buffer.baseAddress?.assumingMemoryBound(to: nlmsghdr.self) else { return }
            var remaining = CInt(bytes.count)
            while nlmsg_ok(message, remaining) != 0 {
                body(message)
                message = nlmsg_next(message, &remaining)
            }
        }
    }
}
