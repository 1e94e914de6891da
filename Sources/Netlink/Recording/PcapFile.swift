/// The pcap format (draft-ietf-opsawg-pcap) with link type 253, LINKTYPE_NETLINK: each packet is a datagram behind a header of 16
/// bytes in network order: packet type, ARPHRD_NETLINK, 10 bytes without meaning here, and the netlink family.
package enum PcapFile {
    private static let nanosecondMagic: UInt32 = 0xA1B2_3C4D
    private static let microsecondMagic: UInt32 = 0xA1B2_C3D4
    private static let linkType: UInt32 = 253
    private static let hardwareType: UInt16 = 824
    /// PACKET_USER and PACKET_KERNEL of `linux/if_packet.h`.
    private static let toUserSpace: UInt16 = 6
    private static let toKernel: UInt16 = 7
    private static let packetHeaderSize = 16
    private static let cookedHeaderSize = 16
    /// Longer than any datagram of the kernel's.
    private static let longestPacket: UInt32 = 256 * 1024

    // MARK: Writing

    /// What a file starts with.
    package static var header: [UInt8] {
        bytes(nanosecondMagic) + bytes(UInt16(2)) + bytes(UInt16(4)) + bytes(UInt32(0)) + bytes(UInt32(0))
            + bytes(longestPacket) + bytes(linkType)
    }

    /// A datagram as a packet of the file.
    package static func packet(_ datagram: RecordedDatagram) -> [UInt8] {
        let length = UInt32(cookedHeaderSize + datagram.bytes.count)
        let (seconds, nanoseconds) = datagram.time.quotientAndRemainder(dividingBy: 1_000_000_000)
        return bytes(UInt32(truncatingIfNeeded: seconds)) + bytes(UInt32(nanoseconds)) + bytes(length) + bytes(length)
            + bytes(toUserSpace.bigEndian) + bytes(hardwareType.bigEndian) + [UInt8](repeating: 0, count: 10)
            + bytes(datagram.family.rawValue.bigEndian) + datagram.bytes
    }

    private static func bytes<Number: FixedWidthInteger>(_ number: Number) -> [UInt8] {
        withUnsafeBytes(of: number) { Array($0) }
    }

    // MARK: Reading

    /// Everything in a file that the kernel said, of the families that are recorded.
    package struct Content: Sendable, Hashable {
        package var datagrams: [RecordedDatagram] = []
        /// Packets that were left out: of another family, or said to the kernel (as captures of an nlmon device have them).
        package var skipped = 0
        /// The file ends in the middle of a packet, as when a recorder was killed; what comes before is there.
        package var isCutShort = false
    }

    package static func content(of file: [UInt8]) throws(RecordingError) -> Content {
        var reader = Reader(file[...])
        guard let magic: UInt32 = reader.number() else { throw .notACapture }
        let unit: Int64
        switch magic {
        case nanosecondMagic: unit = 1
        case microsecondMagic: unit = 1000
        case nanosecondMagic.byteSwapped, microsecondMagic.byteSwapped: throw .otherByteOrder
        default: throw .notACapture
        }
        guard reader.skip(16), let type: UInt32 = reader.number() else { throw .notACapture }
        guard type == linkType else { throw .otherLinkType(type) }

        var content = Content()
        while !reader.isAtEnd {
            guard let seconds: UInt32 = reader.number(), let fraction: UInt32 = reader.number(),
                let length: UInt32 = reader.number(), reader.skip(4), let packet = reader.bytes(Int(length))
            else {
                content.isCutShort = true
                break
            }
            let time = Int64(seconds) * 1_000_000_000 + Int64(fraction) * unit
            if let datagram = datagram(in: packet, time: time) {
                content.datagrams.append(datagram)
            } else {
                content.skipped += 1
            }
        }
        return content
    }

    private static func datagram(in packet: ArraySlice<UInt8>, time: Int64) -> RecordedDatagram? {
        var reader = Reader(packet)
        guard let direction: UInt16 = reader.number(), UInt16(bigEndian: direction) != toKernel, reader.skip(12),
            let number: UInt16 = reader.number(),
            let family = RecordedDatagram.Family(rawValue: UInt16(bigEndian: number))
        else { return nil }
        return RecordedDatagram(time: time, family: family, bytes: Array(reader.rest))
    }

    private struct Reader {
        private(set) var rest: ArraySlice<UInt8>

        init(_ bytes: ArraySlice<UInt8>) { rest = bytes }

        var isAtEnd: Bool { rest.isEmpty }

        mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }

        mutating func skip(_ count: Int) -> Bool { bytes(count) != nil }

        mutating func number<Number: FixedWidthInteger>() -> Number? {
            bytes(MemoryLayout<Number>.size)?.withUnsafeBytes { $0.loadUnaligned(as: Number.self) }
        }
    }
}
