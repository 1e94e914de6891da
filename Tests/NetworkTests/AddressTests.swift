import Foundation
import Network
import TestSupport
import Testing

@Suite(.takingTurns) struct AddressTests {
    @Test func readsAndWritesIPv4() throws {
        let address = try #require(IPv4Address("192.0.2.1"))
        #expect(address.rawValue == Data([192, 0, 2, 1]))
        #expect(IPv4Address(Data([192, 0, 2, 1])) == address)
        #expect("\(address)" == "192.0.2.1")
        #expect(address.interface == nil)
    }

    @Test func readsAndWritesIPv6() throws {
        let address = try #require(IPv6Address("2001:DB8:0:0::1"))
        #expect(address.rawValue.count == 16)
        #expect(IPv6Address(address.rawValue) == address)
        #expect(address.debugDescription == "2001:db8::1")
    }

    @Test(arguments: ["", "256.0.0.1", "1.2.3", "example.com", "::1", "192.0.2.1%nosuchinterface", "192.0.2.1%"])
    func refusesWhatIsNoIPv4Address(_ text: String) { #expect(IPv4Address(text) == nil) }

    @Test(arguments: ["", "1.2.3.4", ":::", "fe80::1%nosuchinterface", "2001:db8::g"])
    func refusesWhatIsNoIPv6Address(_ text: String) { #expect(IPv6Address(text) == nil) }

    @Test(arguments: [0, 3, 5, 15, 16, 17]) func refusesTheWrongNumberOfBytes(_ count: Int) {
        let data = Data(repeating: 1, count: count)
        #expect(IPv4Address(data) == nil)
        #expect((IPv6Address(data) != nil) == (count == 16))
    }

    @Test func readsASliceOfData() {
        #expect(IPv4Address(Data([0, 0, 10, 1, 0, 1]).dropFirst(2)) == IPv4Address("10.1.0.1"))
    }

    @Test func keepsTheInterface() throws {
        let address = try #require(IPv6Address("fe80::1%lo"))
        #expect(address.interface?.name == "lo")
        #expect(address.interface?.type == .loopback)
        #expect(address.interface?.index == 1)
        #expect("\(address)" == "fe80::1%lo")
        #expect(address != IPv6Address("fe80::1"))
        #expect(IPv6Address(address.rawValue, address.interface) == address)
    }

    @Test func knowsTheWellKnownAddresses() {
        let ipv4: [(IPv4Address, String)] = [
            (.any, "0.0.0.0"), (.broadcast, "255.255.255.255"), (.loopback, "127.0.0.1"), (.allHostsGroup, "224.0.0.1"),
            (.allRoutersGroup, "224.0.0.2"), (.allReportsGroup, "224.0.0.22"), (.mdnsGroup, "224.0.0.251"),
        ]
        for (address, text) in ipv4 { #expect("\(address)" == text) }
        let ipv6: [(IPv6Address, String)] = [
            (.any, "::"), (.broadcast, "::"), (.loopback, "::1"), (.nodeLocalNodes, "ff01::1"),
            (.linkLocalNodes, "ff02::1"), (.linkLocalRouters, "ff02::2"),
        ]
        for (address, text) in ipv6 { #expect("\(address)" == text) }
    }

    @Test func tellsKindsOfIPv4Addresses() throws {
        #expect(IPv4Address.loopback.isLoopback)
        #expect(try #require(IPv4Address("169.254.8.8")).isLinkLocal)
        #expect(IPv4Address.mdnsGroup.isMulticast)
        let plain = try #require(IPv4Address("192.0.2.1"))
        #expect(!plain.isLoopback && !plain.isLinkLocal && !plain.isMulticast)
    }

    @Test func tellsKindsOfIPv6Addresses() throws {
        func address(_ text: String) throws -> IPv6Address { try #require(IPv6Address(text)) }
        #expect(IPv6Address.any.isAny && !IPv6Address.loopback.isAny)
        #expect(IPv6Address.loopback.isLoopback)
        #expect(try address("fe80::1").isLinkLocal)
        #expect(try address("fd00::1").isUniqueLocal && !address("fe80::1").isUniqueLocal)
        #expect(try address("2002:c000:201::1").is6to4 && !address("2001::1").is6to4)
        #expect(try address("::192.0.2.1").isIPv4Compatabile)
        #expect(!IPv6Address.any.isIPv4Compatabile && !IPv6Address.loopback.isIPv4Compatabile)
        #expect(try address("::ffff:192.0.2.1").isIPv4Mapped && !address("::192.0.2.1").isIPv4Mapped)
        #expect(try address("::ffff:192.0.2.1").asIPv4 == IPv4Address("192.0.2.1"))
        #expect(try address("2001:db8::1").asIPv4 == nil)
    }

    @Test func tellsHowFarAGroupReaches() throws {
        #expect(IPv6Address.nodeLocalNodes.multicastScope == .nodeLocal)
        #expect(IPv6Address.linkLocalNodes.multicastScope == .linkLocal)
        #expect(IPv6Address("ff05::1")?.multicastScope == .siteLocal)
        #expect(IPv6Address("ff08::1")?.multicastScope == .organizationLocal)
        #expect(IPv6Address("ff0e::1")?.multicastScope == .global)
        #expect(IPv6Address("ff03::1")?.multicastScope == nil)
        #expect(IPv6Address.loopback.multicastScope == nil)
    }

    @Test func serveAsOneProtocol() throws {
        let addresses: [any Network.IPAddress] = [IPv4Address.loopback, IPv6Address.loopback]
        #expect(addresses.map(\.rawValue.count) == [4, 16])
        #expect(addresses.allSatisfy { $0.isLoopback })
    }
}

@Suite(.takingTurns) struct EndpointTests {
    @Test func takesAddressesForAddressesAndAllElseForNames() {
        #expect(NWEndpoint.Host("192.0.2.1") == .ipv4(IPv4Address("192.0.2.1") ?? .any))
        #expect(NWEndpoint.Host("::1") == .ipv6(.loopback))
        #expect(NWEndpoint.Host("example.com") == .name("example.com", nil))
        let literal: NWEndpoint.Host = "10.1.0.1"
        #expect(literal.debugDescription == "10.1.0.1")
        #expect(NWEndpoint.Host("fe80::1%lo").interface?.name == "lo")
    }

    @Test func readsPorts() {
        #expect(NWEndpoint.Port("443") == .https)
        #expect(NWEndpoint.Port(rawValue: 8080)?.rawValue == 8080)
        let literal: NWEndpoint.Port = 80
        #expect(literal == .http)
        #expect("\(NWEndpoint.Port.imaps)" == "993")
        for text in ["65536", "", "-1", "+80", " 80", "80 "] { #expect(NWEndpoint.Port(text) == nil) }
        #expect(NWEndpoint.Port("no such service") == nil)
        let known: [NWEndpoint.Port] = [.any, .ssh, .smtp, .http, .pop, .imap, .https, .imaps, .socks]
        #expect(known.map(\.rawValue) == [0, 22, 25, 80, 110, 143, 443, 993, 1080])
    }

    @Test func comesOutAsTextTheWayApplesDoes() throws {
        #expect("\(NWEndpoint.hostPort(host: "192.0.2.1", port: 443))" == "192.0.2.1:443")
        #expect("\(NWEndpoint.hostPort(host: "2001:db8::1", port: 443))" == "2001:db8::1.443")
        #expect("\(NWEndpoint.hostPort(host: "example.com", port: .https))" == "example.com:443")
        #expect("\(NWEndpoint.unix(path: "/run/x"))" == "/run/x")
        #expect("\(NWEndpoint.url(try #require(URL(string: "https://example.com"))))" == "https://example.com")
        let service = NWEndpoint.service(name: "printer", type: "_ipp._tcp", domain: "local", interface: nil)
        #expect("\(service)" == "printer._ipp._tcp.local")
        #expect(service.interface == nil)
    }
}
