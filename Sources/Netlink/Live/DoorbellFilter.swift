import CNetlink

/// The classic BPF program that keeps route messages which can't change an answer from ever waking the process.
///
/// A route matters when its prefix covers a watched destination; those of length 0 and 1 (the default, and OpenVPN's two
/// halves) always do. Everything that is not a route passes. A datagram on a multicast group holds one message, so looking at
/// the first is looking at all.
package enum DoorbellFilter {
    /// More destinations than this would make a long program; then all routes of that family pass, which is right if slower.
    package static let maximumDestinations = 32

    package static func program(watching destinations: [IPAddress]) -> [sock_filter] {
        var code = Assembler()
        code.loadHalf(at: Offset.messageType)
        code.jump(ifEqual: UInt32(UInt16(RTM_NEWROUTE).byteSwapped), to: .route)
        code.jump(ifNotEqual: UInt32(UInt16(RTM_DELROUTE).byteSwapped), to: .accept)
        code.label(.route)
        code.loadByte(at: Offset.prefixLength)
        code.jump(ifNotGreater: 1, to: .accept)
        code.emit(UInt16(BPF_ST), 0)  // scratch 0: the prefix length
        code.loadByte(at: Offset.family)
        for (family, number, label) in [
            (IPAddress.Family.ipv4, UInt32(AF_INET), Label.ipv4), (.ipv6, UInt32(AF_INET6), .ipv6),
        ] {
            let watched = destinations.filter { $0.family == family }
            let target: Label = watched.isEmpty ? .drop : watched.count > maximumDestinations ? .accept : label
            code.jump(ifEqual: number, to: target)
        }
        // Routes of other families (MPLS, multicast) are not ours.
        code.jump(to: .drop)
        code.routes(.ipv4, destinations.filter { $0.family == .ipv4 }.prefix(maximumDestinations))
        code.routes(.ipv6, destinations.filter { $0.family == .ipv6 }.prefix(maximumDestinations))
        code.label(.accept)
        code.emit(UInt16(BPF_RET | BPF_K), .max)
        code.label(.drop)
        code.emit(UInt16(BPF_RET | BPF_K), 0)
        return code.resolved()
    }

    private enum Offset {
        static let messageType: UInt32 = 4
        static let family: UInt32 = 16
        static let prefixLength: UInt32 = 17
        /// After `nlmsghdr` and `rtmsg`.
        static let attributes: UInt32 = 28
    }

    private enum Label: Hashable {
        case route, ipv4, ipv6, accept, drop
        case next(Int)
    }

    /// Collects instructions, with conditional jumps that reach any distance: the 8-bit offsets of classic BPF skip over an
    /// unconditional jump, whose offset has 32 bits.
    private struct Assembler {
        private var instructions: [sock_filter] = []
        private var jumps: [(at: Int, to: Label)] = []
        private var labels: [Label: Int] = [:]
        private var nextLabels = 0

        mutating func emit(_ code: UInt16, _ k: UInt32, ifTrue: UInt8 = 0, ifFalse: UInt8 = 0) {
            instructions.append(sock_filter(code: code, jt: ifTrue, jf: ifFalse, k: k))
        }

        mutating func label(_ label: Label) { labels[label] = instructions.count }

        mutating func jump(to label: Label) {
            jumps.append((instructions.count, label))
            emit(UInt16(BPF_JMP | BPF_JA), 0)
        }

        mutating func jump(ifEqual value: UInt32, to label: Label) {
            emit(UInt16(BPF_JMP | BPF_JEQ | BPF_K), value, ifFalse: 1)
            jump(to: label)
        }

        mutating func jump(ifNotEqual value: UInt32, to label: Label) {
            emit(UInt16(BPF_JMP | BPF_JEQ | BPF_K), value, ifTrue: 1)
            jump(to: label)
        }

        mutating func jump(ifNotGreater value: UInt32, to label: Label) {
            emit(UInt16(BPF_JMP | BPF_JGT | BPF_K), value, ifTrue: 1)
            jump(to: label)
        }

        mutating func jump(ifGreater value: UInt32, to label: Label) {
            emit(UInt16(BPF_JMP | BPF_JGT | BPF_K), value, ifFalse: 1)
            jump(to: label)
        }

        mutating func loadHalf(at offset: UInt32) { emit(UInt16(BPF_LD | BPF_H | BPF_ABS), offset) }
        mutating func loadByte(at offset: UInt32) { emit(UInt16(BPF_LD | BPF_B | BPF_ABS), offset) }

        /// Finds RTA_DST, then compares it with each destination, a 32-bit word at a time.
        mutating func routes(_ family: IPAddress.Family, _ destinations: ArraySlice<IPAddress>) {
            guard !destinations.isEmpty else { return }
            label(family == .ipv4 ? .ipv4 : .ipv6)
            emit(UInt16(BPF_LD | BPF_IMM), Offset.attributes)
            emit(UInt16(BPF_LDX | BPF_IMM), UInt32(RTA_DST.rawValue))
            emit(UInt16(BPF_LD | BPF_W | BPF_ABS), UInt32(bitPattern: SKF_AD_OFF + SKF_AD_NLATTR))
            jump(ifEqual: 0, to: .accept)  // no RTA_DST in spite of a length: let the parser see it
            emit(UInt16(BPF_ST), 2)  // scratch 2: where RTA_DST is
            for destination in destinations {
                let next = Label.next(nextLabels)
                nextLabels += 1
                compare(destination, otherwise: next)
                label(next)
            }
            jump(to: .drop)
        }

        private mutating func compare(_ destination: IPAddress, otherwise next: Label) {
            for (position, word) in destination.words.enumerated() {
                let bitsBefore = UInt32(position * 32)
                emit(UInt16(BPF_LD | BPF_MEM), 0)
                jump(ifNotGreater: bitsBefore, to: .accept)  // the prefix ended with the word before
                // scratch 1: the bits of this word that the prefix leaves open, at most 31 of them
                let compare = Label.next(nextLabels)
                nextLabels += 1
                emit(UInt16(BPF_LDX | BPF_IMM), 0)
                jump(ifGreater: bitsBefore + 31, to: compare)
                emit(UInt16(BPF_MISC | BPF_TAX), 0)
                emit(UInt16(BPF_LD | BPF_IMM), bitsBefore + 32)
                emit(UInt16(BPF_ALU | BPF_SUB | BPF_X), 0)
                emit(UInt16(BPF_MISC | BPF_TAX), 0)
                label(compare)
                emit(UInt16(BPF_STX), 1)
                emit(UInt16(BPF_LDX | BPF_MEM), 2)
                emit(UInt16(BPF_LD | BPF_W | BPF_IND), UInt32(MemoryLayout<nlattr>.size + position * 4))
                emit(UInt16(BPF_ALU | BPF_XOR | BPF_K), word)
                emit(UInt16(BPF_LDX | BPF_MEM), 1)
                emit(UInt16(BPF_ALU | BPF_RSH | BPF_X), 0)
                jump(ifNotEqual: 0, to: next)
            }
            jump(to: .accept)
        }

        func resolved() -> [sock_filter] {
            var result = instructions
            for jump in jumps {
                // Every label used is placed by `program`; a jump to one that is not would be refused by the kernel.
                result[jump.at].k = UInt32((labels[jump.to] ?? result.count) - jump.at - 1)
            }
            return result
        }
    }
}
