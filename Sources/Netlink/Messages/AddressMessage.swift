/// What an RTM_NEWADDR says: an address of this machine, on one interface.
package struct AddressMessage: Sendable, Hashable {
    package var index: Int32
    package var address: IPAddress
    package var prefixLength: UInt8
    /// The address at the other end of a point-to-point link, where there is one.
    package var peer: IPAddress?
    package var flags: AddressFlags

    package init(
        index: Int32, address: IPAddress, prefixLength: UInt8, peer: IPAddress? = nil, flags: AddressFlags = []
    ) {
        self.index = index
        self.address = address
        self.prefixLength = prefixLength
        self.peer = peer
        self.flags = flags
    }
}

/// The flags of IFA_FLAGS that bear on whether an address is used (rtnetlink(7)); the parser drops the others.
package struct AddressFlags: OptionSet, Sendable, Hashable {
    package let rawValue: UInt32

    package init(rawValue: UInt32) { self.rawValue = rawValue }

    /// IFA_F_OPTIMISTIC: may be used before duplicate detection is done (RFC 4429).
    package static let optimistic = AddressFlags(rawValue: 0x04)
    /// IFA_F_DADFAILED: another machine has it.
    package static let duplicate = AddressFlags(rawValue: 0x08)
    /// IFA_F_TENTATIVE: duplicate detection is under way (RFC 4862).
    package static let tentative = AddressFlags(rawValue: 0x40)

    /// IFA_F_DEPRECATED: its preferred lifetime is over; the kernel takes another one for new connections if it can.
    package static let deprecated = AddressFlags(rawValue: 0x20)

    package static let relevant: AddressFlags = [.optimistic, .duplicate, .tentative, .deprecated]
}

extension AddressMessage {
    /// What makes an address another one on its link, which can have it twice: with prefixes of different lengths or, in IPv4, with
    /// several peers. In IPv6 the peer of an address can change, without a word about the old one.
    package struct Identity: Sendable, Hashable {
        private let address: IPAddress
        private let prefixLength: UInt8
        private let peer: IPAddress?

        fileprivate init(_ message: AddressMessage) {
            address = message.address
            prefixLength = message.prefixLength
            peer = message.address.family == .ipv4 ? message.peer : nil
        }
    }

    package var identity: Identity { Identity(self) }

    /// Whether packets may carry it as their source now, and be answered from beyond the link.
    package var isUsable: Bool {
        if address.isUnspecified || address.isLinkLocal || address.isLoopback || flags.contains(.duplicate) {
            return false
        }
        return !flags.contains(.tentative) || flags.contains(.optimistic)
    }
}
