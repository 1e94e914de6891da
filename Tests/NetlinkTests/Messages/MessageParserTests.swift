import CNetlink
import Netlink
import TestSupport
import Testing

@Suite(.takingTurns) struct MessageParserTests {
    // MARK: Links

    private func link(type: Int = Int(RTM_NEWLINK), family: UInt8 = 0, flags: UInt32 = 0x1_1043) -> MessageBytes {
        MessageBytes(
            type: type,
            header: [family, 0] + MessageBytes.number(UInt16(1)) + MessageBytes.number(Int32(7))
                + MessageBytes.number(flags) + MessageBytes.number(UInt32(0)))
    }

    @Test func aLinkHasEverythingThatItsAttributesSay() {
        var bytes = link()
        bytes.put(Int(IFLA_IFNAME), MessageBytes.text("bond0"))
        bytes.put(Int(IFLA_OPERSTATE), [6])
        bytes.put(Int(IFLA_CARRIER), [1])
        bytes.put(Int(IFLA_MASTER), MessageBytes.number(UInt32(9)))
        bytes.put(Int(IFLA_LINK), MessageBytes.number(UInt32(3)))
        bytes.put(Int(IFLA_LINK_NETNSID), MessageBytes.number(UInt32(0)))
        bytes.put(Int(IFLA_MTU), MessageBytes.number(UInt32(1400)))
        bytes.put(
            Int(IFLA_LINKINFO),
            MessageBytes.attribute(Int(IFLA_INFO_KIND), MessageBytes.text("bond"))
                + MessageBytes.attribute(
                    Int(IFLA_INFO_DATA),
                    MessageBytes.attribute(Int(IFLA_BOND_ACTIVE_SLAVE), MessageBytes.number(UInt32(4))))
                + MessageBytes.attribute(Int(IFLA_INFO_SLAVE_KIND), MessageBytes.text("bridge")))
        let expected = LinkMessage(
            index: 7, name: "bond0", hardwareType: 1, flags: [.up, .running, .lowerUp], operationalState: .up,
            carrier: true, kind: "bond", portKind: "bridge", master: 9, parent: 3, parentIsElsewhere: true,
            activePort: 4)
        #expect(event(bytes.bytes) == .link(expected))
    }

    @Test func whatIsNotSaidIsNotKnown() {
        var bytes = link()
        bytes.put(Int(IFLA_IFNAME), MessageBytes.text("eth0"))
        guard case .link(let link) = event(bytes.bytes) else {
            Issue.record("no link")
            return
        }
        #expect(link.operationalState == nil)
        #expect(link.carrier == nil)
        #expect(link.kind == nil)
        #expect(!link.parentIsElsewhere)
    }

    @Test func aStateThatNobodyKnowsIsNoState() {
        var bytes = link()
        bytes.put(Int(IFLA_IFNAME), MessageBytes.text("eth0"))
        bytes.put(Int(IFLA_OPERSTATE), [99])
        guard case .link(let link) = event(bytes.bytes) else {
            Issue.record("no link")
            return
        }
        #expect(link.operationalState == nil)
    }

    @Test func bridgeAndWirelessMessagesAreNoNewsOfALink() {
        var bridge = link(family: UInt8(AF_BRIDGE))
        bridge.put(Int(IFLA_IFNAME), MessageBytes.text("eth0"))
        #expect(event(bridge.bytes) == .skipped(.partial))
        var wireless = link()
        wireless.put(Int(IFLA_IFNAME), MessageBytes.text("wlan0"))
        wireless.put(Int(IFLA_WIRELESS), [0, 0, 0, 0])
        #expect(event(wireless.bytes) == .skipped(.partial))
        // A port that leaves its bridge is not a link that goes.
        #expect(event(link(type: Int(RTM_DELLINK), family: UInt8(AF_BRIDGE)).bytes) == .skipped(.partial))
        #expect(event(link(type: Int(RTM_DELLINK)).bytes) == .linkGone(index: 7))
    }

    @Test func aLinkWithoutANameIsMalformed() {
        #expect(event(link().bytes) == .skipped(.malformed))
    }

    // MARK: Addresses

    private func address(
        _ type: Int = Int(RTM_NEWADDR), family: Int32 = AF_INET, flags: UInt8 = 0x80
    ) -> MessageBytes {
        MessageBytes(type: type, header: [UInt8(family), 24, flags, 0] + MessageBytes.number(UInt32(5)))
    }

    @Test func theLocalAddressIsOursAndTheOtherThePeers() {
        var bytes = address()
        bytes.put(Int(IFA_ADDRESS), [10, 64, 64, 64])
        bytes.put(Int(IFA_LOCAL), [10, 1, 0, 2])
        let expected = AddressMessage(
            index: 5, address: IPAddress(10, 1, 0, 2), prefixLength: 24, peer: IPAddress(10, 64, 64, 64))
        #expect(event(bytes.bytes) == .address(expected))
        var gone = address(Int(RTM_DELADDR))
        gone.put(Int(IFA_ADDRESS), [10, 64, 64, 64])
        gone.put(Int(IFA_LOCAL), [10, 1, 0, 2])
        #expect(event(gone.bytes) == .addressGone(expected))
    }

    @Test func withoutAPeerBothAddressesAreOurs() {
        let expected = AddressMessage(index: 5, address: IPAddress(10, 1, 0, 2), prefixLength: 24)
        for types in [[IFA_ADDRESS, IFA_LOCAL], [IFA_ADDRESS], [IFA_LOCAL]] {
            var bytes = address()
            for type in types { bytes.put(Int(type), [10, 1, 0, 2]) }
            #expect(event(bytes.bytes) == .address(expected))
        }
    }

    /// `ip -6 address change ADDRESS peer OTHER` is one RTM_NEWADDR, with nothing about the old peer.
    @Test func anotherPeerIsAnotherAddressInIPv4Alone() throws {
        func identity(_ address: String, peer: String) throws -> AddressMessage.Identity {
            AddressMessage(
                index: 1, address: try #require(IPAddress(address)), prefixLength: 32, peer: IPAddress(peer)
            ).identity
        }
        #expect(try identity("10.1.0.2", peer: "10.1.0.1") != identity("10.1.0.2", peer: "10.2.0.1"))
        #expect(try identity("2001:db8::1", peer: "2001:db8::2") == identity("2001:db8::1", peer: "2001:db8::3"))
    }

    @Test func theLongFlagsOverruleTheShortOnes() throws {
        var bytes = address(family: AF_INET6, flags: 0x40)
        let address = try #require(IPAddress("2001:db8::1"))
        bytes.put(Int(IFA_ADDRESS), address.bytes)
        guard case .address(let tentative) = event(bytes.bytes) else {
            Issue.record("no address")
            return
        }
        #expect(tentative.flags == .tentative)
        #expect(!tentative.isUsable)
        bytes.put(Int(IFA_FLAGS), MessageBytes.number(UInt32(0x80)))
        guard case .address(let usable) = event(bytes.bytes) else {
            Issue.record("no address")
            return
        }
        #expect(usable.isUsable)
    }

    @Test(
        arguments: [
            ("10.1.0.2", 0, true), ("169.254.1.1", 0, false), ("127.0.0.1", 0, false), ("0.0.0.0", 0, false),
            ("2001:db8::1", 0, true), ("2001:db8::1", 0x40, false), ("2001:db8::1", 0x44, true),
            ("2001:db8::1", 0x08, false), ("2001:db8::1", 0x4C, false), ("fe80::1", 0, false), ("::1", 0, false),
            ("fd00::1", 0, true),
        ] as [(String, UInt32, Bool)])
    func onlySomeAddressesReachBeyondTheLink(_ text: String, flags: UInt32, isUsable: Bool) throws {
        let address = try #require(IPAddress(text))
        let message = AddressMessage(
            index: 1, address: address, prefixLength: 24, flags: AddressFlags(rawValue: flags))
        #expect(message.isUsable == isUsable)
    }

    @Test func anAddressWithoutAnAddressIsMalformed() {
        #expect(event(address().bytes) == .skipped(.malformed))
        var odd = address()
        odd.put(Int(IFA_LOCAL), [10, 1, 0])
        #expect(event(odd.bytes) == .skipped(.malformed))
    }

    // MARK: Routes

    private func routeBytes(
        family: Int32 = AF_INET, length: UInt8 = 0, table: UInt8 = 254, kind: UInt8 = 1
    ) -> MessageBytes {
        MessageBytes(
            type: Int(RTM_NEWROUTE),
            header: [UInt8(family), length, 0, 0, table, 3, 0, kind] + MessageBytes.number(UInt32(0)))
    }

    @Test func aRouteHasEverythingThatItsAttributesSay() {
        var bytes = routeBytes(length: 24, table: 252)
        bytes.put(Int(RTA_DST.rawValue), [10, 9, 0, 0])
        bytes.put(Int(RTA_TABLE.rawValue), MessageBytes.number(UInt32(51820)))
        bytes.put(Int(RTA_OIF.rawValue), MessageBytes.number(UInt32(3)))
        bytes.put(Int(RTA_GATEWAY.rawValue), [10, 1, 0, 1])
        bytes.put(Int(RTA_PREFSRC.rawValue), [10, 1, 0, 2])
        bytes.put(Int(RTA_PRIORITY.rawValue), MessageBytes.number(UInt32(600)))
        bytes.put(Int(RTA_NH_ID.rawValue), MessageBytes.number(UInt32(12)))
        #expect(
            route(bytes.bytes)
                == RouteMessage(
                    family: .ipv4, kind: .unicast, table: 51820, destination: IPAddress(10, 9, 0, 0), prefixLength: 24,
                    hops: [RouteMessage.Hop(index: 3, gateway: IPAddress(10, 1, 0, 1))],
                    preferredSource: IPAddress(10, 1, 0, 2), metric: 600, nexthopID: 12))
        #expect(event(bytes.bytes) == .routing(.route))
    }

    @Test func aGatewayOfTheOtherFamilyIsInRTAVia() throws {
        var bytes = routeBytes()
        let gateway = try #require(IPAddress("fe80::1"))
        bytes.put(Int(RTA_OIF.rawValue), MessageBytes.number(UInt32(3)))
        bytes.put(Int(RTA_VIA.rawValue), MessageBytes.number(UInt16(AF_INET6)) + gateway.bytes)
        #expect(route(bytes.bytes)?.hops == [RouteMessage.Hop(index: 3, gateway: gateway)])
    }

    private func leg(_ index: Int32, _ attributes: [UInt8], length: Int? = nil) -> [UInt8] {
        MessageBytes.number(UInt16(length ?? 8 + attributes.count)) + [0, 0] + MessageBytes.number(index) + attributes
    }

    @Test func aMultipathRouteHasAllItsLegs() {
        var bytes = routeBytes()
        bytes.put(
            Int(RTA_MULTIPATH.rawValue),
            leg(3, MessageBytes.attribute(Int(RTA_GATEWAY.rawValue), [10, 1, 0, 1]))
                + leg(4, []) + leg(5, MessageBytes.attribute(Int(RTA_GATEWAY.rawValue), [10, 3, 0, 1])))
        #expect(
            route(bytes.bytes)?.hops == [
                RouteMessage.Hop(index: 3, gateway: IPAddress(10, 1, 0, 1)), RouteMessage.Hop(index: 4),
                RouteMessage.Hop(index: 5, gateway: IPAddress(10, 3, 0, 1)),
            ])
    }

    @Test(arguments: [0, 7, 9, 200, 65535]) func aLegOfAnImpossibleLengthEndsTheList(_ length: Int) {
        var bytes = routeBytes()
        bytes.put(Int(RTA_MULTIPATH.rawValue), leg(3, []) + leg(4, [], length: length))
        #expect(route(bytes.bytes)?.hops.first == RouteMessage.Hop(index: 3))
        #expect((route(bytes.bytes)?.hops.count ?? 0) <= 2)
    }

    @Test func aRouteThatShowsNothingButItsNexthopObjectHasNoHops() {
        var bytes = routeBytes()
        bytes.put(Int(RTA_NH_ID.rawValue), MessageBytes.number(UInt32(1)))
        #expect(route(bytes.bytes)?.hops == [])
        #expect(route(bytes.bytes)?.nexthopID == 1)
    }

    @Test func aRouteOfAFamilyOrTypeThatIsNotOursIsNone() {
        #expect(route(routeBytes(family: 28).bytes) == nil)
        #expect(route(routeBytes(kind: 77).bytes) == nil)
    }

    // MARK: Others

    @Test func rulesAndNexthopsRing() {
        for type in [RTM_NEWRULE, RTM_DELRULE] {
            #expect(event(MessageBytes(type: Int(type), header: []).bytes) == .routing(.rule))
        }
        for type in [RTM_NEWNEXTHOP, RTM_DELNEXTHOP] {
            #expect(event(MessageBytes(type: Int(type), header: []).bytes) == .routing(.nexthop))
        }
    }

    @Test func aTypeThatNobodyAskedForIsSkipped() {
        #expect(event(MessageBytes(type: Int(RTM_NEWNEIGH), header: []).bytes) == .skipped(.unknown))
    }
}

/// Whatever comes, the parser does not trap, and reads nothing beyond the message.
@Suite(.takingTurns) struct ParserFuzzTests {
    @Test(arguments: RecordedMessage.files) func aMessageCutShortAnywhereIsNoMessage(_ file: String) throws {
        for message in try RecordedMessage.all(in: file).prefix(15) {
            for length in 16..<message.bytes.count {
                read(Array(message.bytes.prefix(length)), saying: length)
            }
        }
    }

    @Test func messagesShorterThanTheirOwnHeadersAreMalformed() {
        for type in [RTM_NEWLINK, RTM_DELLINK, RTM_NEWADDR, RTM_DELADDR] {
            for length in 0..<8 {
                let bytes = MessageBytes(type: Int(type), header: [UInt8](repeating: 0, count: length)).bytes
                #expect(event(bytes) == .skipped(.malformed), "\(type) with \(length) bytes")
            }
        }
    }

    @Test(arguments: RecordedMessage.files) func changedMessagesAreReadWithoutATrap(_ file: String) throws {
        let messages = try RecordedMessage.all(in: file).map(\.bytes)
        var generator = SeededGenerator(seed: 20)
        for _ in 0..<5000 {
            var bytes = generator.pick(messages)
            // The type stays, mostly, or there would be little to read.
            for _ in 0..<Int.random(in: 1...8, using: &generator) {
                let position = Int.random(
                    in: (Int.random(in: 0..<8, using: &generator) == 0 ? 4 : 16)..<bytes.count, using: &generator)
                bytes[position] = generator.pick([
                    0, 1, 3, 4, 5, 8, 0x7F, 0x80, 0xFF, UInt8.random(in: 0...255, using: &generator),
                ])
            }
            if Int.random(in: 0..<4, using: &generator) == 0 {
                bytes = Array(bytes.prefix(Int.random(in: 16...bytes.count, using: &generator)))
            }
            read(bytes, saying: bytes.count)
        }
    }

    /// As the socket hands it over: its length is that of what came, or less.
    private func read(_ bytes: [UInt8], saying length: Int) {
        var bytes = bytes
        bytes.replaceSubrange(0..<4, with: MessageBytes.number(UInt32(length)))
        withMessage(bytes) { message in
            _ = MessageParser.event(from: message)
            _ = MessageParser.link(from: message)
            _ = MessageParser.address(from: message)
            _ = MessageParser.route(from: message)
        }
    }
}
