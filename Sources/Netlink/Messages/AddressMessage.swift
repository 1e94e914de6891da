/// What an RTM_NEWADDR says: an address of this machine, on one interface.
package struct AddressMessage: Sendable, Hashable {
    package var index: Int32
    package var address: IPAddress
    package var prefixLength: UInt8
    package var flags: AddressFlags

    package init(index: Int32, address: IPAddress, prefixLength: UInt8, flags: AddressFlags = []) {
        self.index = index
        self.address = address
        self.prefixLength = prefixLength
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
    /// Whether packets may carry it as their source now, and be answered from beyond the link.
    package var isUsable: Bool {
        if address.isUnspecified || address.isLinkLocal || address.isLoopback || flags.contains(.duplicate) {
            return false
        }
        return !flags.contains(.tentative) || flags.contains(.optimistic)
    }
}
