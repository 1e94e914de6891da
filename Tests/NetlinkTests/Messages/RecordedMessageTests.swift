import CNetlink
import Netlink
import TestSupport
import Testing

/// The parser against another reader of the same messages.
@Suite(.takingTurns) struct RecordedMessageTests {
    @Test(arguments: RecordedMessage.files) func noMessageOfTheKernelIsMalformed(_ file: String) throws {
        let messages = try RecordedMessage.all(in: file)
        #expect(messages.count > 40)
        for message in messages {
            #expect(event(message.bytes) != .skipped(.malformed), "\(message.summary)")
        }
    }

    @Test(arguments: RecordedMessage.files) func linksAreReadAsTheRecorderReadThem(_ file: String) throws {
        for message in try RecordedMessage.all(in: file) where message.kind == "NEWLINK" {
            let isPartial = message.value("family") != "unspec" || message.words.contains("wireless-event")
            guard case .link(let link) = event(message.bytes) else {
                #expect(isPartial, "\(message.summary)")
                #expect(event(message.bytes) == .skipped(.partial))
                continue
            }
            #expect(!isPartial, "\(message.summary)")
            #expect(message.words.contains(Substring(link.name)))
            #expect(message.value("idx") == "\(link.index)")
            #expect(message.value("arphrd") == "\(link.hardwareType)")
            #expect(message.value("carrier") == link.carrier.map { $0 ? "1" : "0" })
            #expect(message.value("operstate") == link.operationalState.map(word))
            #expect(message.value("kind").map(String.init) == link.kind)
            #expect(message.value("link") == link.parent.map { "\($0)" })
            let flags = message.value("flags")?.split(separator: "<").first?.dropFirst(2)
            let number = try #require(flags.flatMap { UInt32($0, radix: 16) })
            #expect(LinkFlags(rawValue: number).intersection(.relevant) == link.flags)
        }
    }

    @Test func almostHalfOfTheWiFiMessagesAreNoNews() throws {
        let links = try RecordedMessage.all(in: "wifi.events").filter { $0.kind == "NEWLINK" }
        let partial = links.filter { $0.words.contains("wireless-event") && event($0.bytes) == .skipped(.partial) }
        #expect(links.count == 80)
        #expect(partial.count == 35)
    }

    @Test(arguments: RecordedMessage.files) func addressesAreReadAsTheRecorderReadThem(_ file: String) throws {
        for message in try RecordedMessage.all(in: file) where message.kind == "NEWADDR" || message.kind == "DELADDR" {
            let address: AddressMessage
            switch event(message.bytes) {
            case .address(let new): address = new
            case .addressGone(let old): address = old
            case let other:
                Issue.record("\(other): \(message.summary)")
                continue
            }
            #expect(message.value("idx") == "\(address.index)")
            let text = "\(address.address)/\(address.prefixLength)"
            let isPointToPoint = message.summary.contains("peer") || message.summary.contains("local")
            #expect(isPointToPoint || message.words.contains(Substring(text)), "\(text) in \(message.summary)")
        }
    }

    @Test(arguments: RecordedMessage.files) func routesAreReadAsTheRecorderReadThem(_ file: String) throws {
        for message in try RecordedMessage.all(in: file) where message.kind == "NEWROUTE" {
            let parsed = NetlinkTests.route(message.bytes)
            let route = try #require(parsed, "\(message.summary)")
            #expect(message.value("family") == (route.family == .ipv4 ? "inet" : "inet6"))
            #expect(message.words.contains("default") == (route.prefixLength == 0))
            #expect(message.value("table") == "\(route.table)")
            #expect(message.value("type") == "\(route.kind.rawValue)")
            #expect((message.value("metric") ?? "0") == "\(route.metric)")
            #expect(message.value("nhid") == route.nexthopID.map { "\($0)" })
            if message.words.contains("multipath") {
                #expect(route.hops.count > 1)
            } else {
                #expect(message.value("oif") == route.hops.first.map { "\($0.index)" })
                // The recorder leaves gateways of the other family out.
                let gateway = route.hops.first?.gateway.flatMap { $0.family == route.family ? $0 : nil }
                #expect(message.value("via") == gateway.map { Substring($0.description) })
            }
        }
    }

    @Test func aGatewayOfTheOtherFamilyIsFoundInARealMessage() throws {
        let routes = try RecordedMessage.all(in: "routes.events").compactMap { NetlinkTests.route($0.bytes) }
        let strangers = routes.filter { route in
            route.hops.contains { $0.gateway.map { $0.family != route.family } ?? false }
        }
        #expect(strangers.first?.hops.first?.gateway == IPAddress("2001:db8:1::1"))
    }

    private func word(_ state: OperationalState) -> Substring {
        switch state {
        case .unknown: "unknown"
        case .notPresent: "notpresent"
        case .down: "down"
        case .lowerLayerDown: "lowerlayerdown"
        case .testing: "testing"
        case .dormant: "dormant"
        case .up: "up"
        }
    }
}

func event(_ bytes: [UInt8]) -> NetlinkEvent { withMessage(bytes) { MessageParser.event(from: $0) } }

func route(_ bytes: [UInt8]) -> RouteMessage? { withMessage(bytes) { MessageParser.route(from: $0) } }

/// The message in a piece of memory of exactly its size, so that a sanitizer sees a step beyond it.
func withMessage<Result>(_ bytes: [UInt8], _ body: (UnsafeMutablePointer<nlmsghdr>) -> Result) -> Result {
    let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: max(bytes.count, 16), alignment: 16)
    defer { buffer.deallocate() }
    buffer.copyBytes(from: bytes)
    // Not empty: there are 16 bytes at least.
    return body(buffer.baseAddress!.assumingMemoryBound(to: nlmsghdr.self))
}
