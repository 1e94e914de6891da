import Netlink
import Reachability

/// Plays what a real kernel said to monitors of a simulated one, which answers their questions as the real one would have at that
/// moment.
package struct RecordingPlayer {
    /// What monitors watch.
    package let kernel = SimulatedKernel()
    private var parser = RecordingParser()
    /// The state is being told and not yet whole: not the moment to look at it.
    package private(set) var isInSnapshot = false

    package init() {}

    /// The state becomes what it was when the datagram came, and monitors hear what they would have heard.
    package mutating func play(_ datagram: RecordedDatagram) {
        for entry in parser.entries(of: datagram) {
            switch entry.change {
            case .note(.snapshotBegins): isInSnapshot = true
            case .note(.snapshotEnds): isInSnapshot = false
            default: break
            }
            kernel.play(entry, isSilent: isInSnapshot)
        }
    }

    /// What the device files say of a link, for recordings that do not hold it.
    package mutating func describe(_ index: Int32, _ facts: DeviceFacts) {
        kernel.play(RecordedEntry(change: .note(.device(index: index, facts))), isSilent: true)
    }
}

extension SimulatedKernel {
    fileprivate func play(_ entry: RecordedEntry, isSilent: Bool) {
        change { state in
            if let change = entry.change { state.take(change) }
            // What the kernel said is in the recording.
            _ = state.takeOutbox()
            if isSilent { return }
            switch entry.change {
            case .note(.snapshotEnds): state.say(.overrun)
            case .note(.nameservers): state.say(KernelState.Notice.resolver)
            case .route(let change):
                let route = change.route
                let address = route.destination ?? Prefix.all(route.family).address
                state.say(.route(Prefix(address, Int(route.prefixLength))))
            default: if let event = entry.event { state.say(event) }
            }
        }
    }
}
