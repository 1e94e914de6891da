/// A datagram as the kernel sent it: one or more whole netlink messages, in the byte order of this machine.
package struct RecordedDatagram: Sendable, Hashable {
    /// The netlink families that recordings hold (`NETLINK_…` of `linux/netlink.h`).
    package enum Family: UInt16, Sendable, Hashable {
        case route = 0
        /// NETLINK_USERSOCK, which belongs to programs: what the recorder notes (``RecordingNote``).
        case program = 2
        /// nl80211, and the controller that says which number it has.
        case generic = 16
    }

    /// Nanoseconds since 1970-01-01 UTC.
    package var time: Int64
    package var family: Family
    package var bytes: [UInt8]

    package init(time: Int64, family: Family, bytes: [UInt8]) {
        self.time = time
        self.family = family
        self.bytes = bytes
    }
}

/// What a recording is written in or read from can't be used, and why.
package enum RecordingError: Error, Sendable, Hashable {
    case notACapture
    /// A capture of something else: the number of its link type.
    case otherLinkType(UInt32)
    /// Made on a machine with the other byte order: the kernel's messages in it are in that order, too.
    case otherByteOrder
    /// The file ends in the middle of a packet, after so many whole ones.
    case cutShort(after: Int)
}

extension RecordingError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .notACapture: "this is not a pcap file; recordings are made with 'reach record'"
        case .otherLinkType(let type):
            "this is a capture of link type \(type), not of netlink (253); recordings are made with 'reach record'"
        case .otherByteOrder: "this was recorded on a machine with another byte order; replay it on one like that"
        case .cutShort(let count): "the file ends in the middle of a packet, after \(count) whole ones"
        }
    }
}
