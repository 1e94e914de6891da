import Glibc
import Netlink
import Reachability
import ReachabilityTestKit

/// A file that can't be written or read, and why.
private struct FileError: Error, CustomStringConvertible {
    let action: String
    let path: String
    let errno: CInt

    var description: String { "cannot \(action) '\(path)': \(String(cString: strerror(errno)))" }
}

extension Invocation {
    /// Writes down what the kernel says until somebody interrupts it.
    func record(to path: String) throws {
        let signals = EndingSignals()
        var recorder = try Recorder()
        var poller = try Poller()
        try poller.watch(recorder.descriptors)
        // For its owner alone: a recording tells a lot about a network.
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw FileError(action: "write to", path: path, errno: errno) }
        signals.endProcess()
        func write(_ bytes: [UInt8]) throws {
            var rest = bytes[...]
            while !rest.isEmpty {
                let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
                if count >= 0 {
                    rest = rest.dropFirst(count)
                } else if errno != EINTR {
                    throw FileError(action: "write to", path: path, errno: errno)
                }
            }
        }
        try write(PcapFile.header + recorder.snapshot().flatMap(PcapFile.packet))
        while true {
            _ = poller.wait(for: nil)
            for descriptor in poller.ringing {
                try write(recorder.drain(descriptor).flatMap(PcapFile.packet))
            }
        }
    }

    /// Prints what `watch` would have printed while a recording was made.
    func replay(_ path: String, _ format: PathFormat) throws {
        let content = try PcapFile.content(of: contents(of: path))
        if let header = format.header { Standard.print(header) }
        var player = RecordingPlayer()
        var monitor: SteppedMonitor?
        for datagram in content.datagrams {
            player.play(datagram)
            if player.isInSnapshot { continue }
            let isFirst = monitor == nil
            var current = try monitor ?? SteppedMonitor(configuration: configuration, feed: player.kernel)
            let change = current.step()
            monitor = current
            guard let path = isFirst ? current.path : change else { continue }
            let sinceBegin = datagram.time - (content.datagrams.first?.time ?? 0)
            let time = Timestamp(nanosecondsSinceEpoch: datagram.time, monotonicNanoseconds: sinceBegin)
            Standard.print(format.line(for: path, at: time))
        }
        if content.isCutShort { throw RecordingError.cutShort(after: content.datagrams.count + content.skipped) }
    }

    private func contents(of path: String) throws -> [UInt8] {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { throw FileError(action: "read", path: path, errno: errno) }
        defer { close(file) }
        var bytes: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = read(file, &chunk, chunk.count)
            if count == 0 { return bytes }
            if count > 0 {
                bytes += chunk.prefix(count)
            } else if errno != EINTR {
                throw FileError(action: "read", path: path, errno: errno)
            }
        }
    }
}
