import Netlink
import Reachability

/// Which of its addresses the machine sends from.
extension KernelState {
    /// IPv4: the primary address of the link whose subnet has the gateway in it, else the first one; without any on the
    /// link, the first of any other link.
    func source4(on index: Int32, near gateway: IPAddress?, scope: TableEntry.Scope) -> IPAddress? {
        func usable(_ device: Device) -> [Device.Address] {
            device.addresses.filter { address in
                address.prefix.family == .ipv4 && !address.isSecondary
                    && (address.address.isLoopback ? TableEntry.Scope.host : .universe) <= scope
            }
        }
        guard let device = device(index) else { return nil }
        let own = usable(device)
        if let gateway, gateway.family == .ipv4, let near = own.first(where: { $0.subnet.contains(gateway) }) {
            return near.address
        }
        return (own.first ?? devices.lazy.compactMap { usable($0).first }.first)?.address
    }

    /// IPv6: RFC 6724 as the kernel has it.
    func source6(on index: Int32, to destination: IPAddress) -> IPAddress? {
        let devices =
            destination.isLinkLocal || destination.isMulticast ? devices.filter { $0.index == index } : devices
        var best: (address: IPAddress, score: [Int])?
        for device in devices {
            for candidate in device.addresses where candidate.prefix.family == .ipv6 {
                let isPending = candidate.flags.contains(.tentative) && !candidate.flags.contains(.optimistic)
                if isPending || candidate.flags.contains(.duplicate) { continue }
                let score = Self.score(candidate, isOnLink: device.index == index, to: destination)
                if let known = best, !known.score.lexicographicallyPrecedes(score) { continue }
                best = (candidate.address, score)
            }
        }
        return best?.address
    }

    /// Rules 1, 2, 5, 6 and 8, in their order; the other rules have no matter here.
    private static func score(_ candidate: Device.Address, isOnLink: Bool, to destination: IPAddress) -> [Int] {
        let address = candidate.address
        let ours = scope(address)
        let theirs = scope(destination)
        // The smallest scope that is large enough; failing that, the largest.
        let scopeRank = ours >= theirs ? 100 - ours : ours - 100
        let commonBits = min(commonPrefix(address, destination), candidate.prefix.length)
        return [
            address == destination ? 1 : 0, scopeRank, isOnLink ? 1 : 0, label(address) == label(destination) ? 1 : 0,
            commonBits,
        ]
    }

    private static func scope(_ address: IPAddress) -> Int {
        if address.isMulticast { return Int(address.bytes[1] & 0x0F) }
        return address.isLinkLocal || address.isLoopback ? 2 : 14
    }

    private static func label(_ address: IPAddress) -> Int {
        let table: [(String, Int, Int)] = [
            ("::1", 128, 0), ("2001::", 32, 6), ("2001:10::", 28, 7), ("2002::", 16, 2), ("fc00::", 7, 5),
        ]
        return table.first { prefix, length, _ in IPAddress(prefix).map { address.isIn($0, length: length) } ?? false }?
            .2
            ?? 1
    }

    private static func commonPrefix(_ one: IPAddress, _ other: IPAddress) -> Int {
        var bits = 0
        for (a, b) in zip(one.bytes, other.bytes) {
            if a != b { return bits + (a ^ b).leadingZeroBitCount }
            bits += 8
        }
        return bits
    }
}
