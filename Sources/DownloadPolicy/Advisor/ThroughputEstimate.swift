/// What a network carries, as measured by the transfers that went over it.
///
/// The estimate is the weighted median of the last transfers on that network: the median, since one stalled or cached
/// transfer should not move it, and weighted by the square root of the size, since a long transfer tells more than a
/// short one, but not in proportion.
public struct ThroughputEstimate: Sendable {
    /// Transfers kept for each network.
    public static let samplesKept = 24
    /// Networks kept; the one that was used least recently goes.
    public static let networksKept = 16
    /// Smaller transfers tell of the network's delay rather than of what it carries.
    public static let smallestSample: Int64 = 8192

    /// How many transfers were too small or took no time, and were left out.
    public private(set) var ignored = 0
    /// How many networks were dropped to make room.
    public private(set) var networksDropped = 0

    private struct Sample {
        var bytesPerSecond: Double
        var weight: Double
    }

    private var samples: [String?: [Sample]] = [:]
    /// The networks, the one used last at the end.
    private var order: [String?] = []

    /// Nothing measured.
    public init() {}

    /// Takes notice of a transfer.
    ///
    /// - Parameters:
    ///   - bytes: how many bytes came over the network.
    ///   - duration: from the first byte to the last.
    ///   - network: ``PathFacts/network`` of the path they came over.
    public mutating func record(bytes: Int64, in duration: Duration, on network: String?) {
        let seconds = duration / .seconds(1)
        guard bytes >= Self.smallestSample, seconds > 0 else {
            ignored += 1
            return
        }
        order.removeAll { $0 == network }
        order.append(network)
        if order.count > Self.networksKept {
            samples[order.removeFirst()] = nil
            networksDropped += 1
        }
        var list = samples[network] ?? []
        list.append(Sample(bytesPerSecond: Double(bytes) / seconds, weight: Double(bytes).squareRoot()))
        if list.count > Self.samplesKept { list.removeFirst() }
        samples[network] = list
    }

    /// Bytes a second on a network; `nil` where nothing has been measured.
    public func bytesPerSecond(on network: String?) -> Int64? {
        guard let list = samples[network], !list.isEmpty else { return nil }
        let sorted = list.sorted { $0.bytesPerSecond < $1.bytesPerSecond }
        let half = sorted.reduce(0) { $0 + $1.weight } / 2
        var weight = 0.0
        for sample in sorted {
            weight += sample.weight
            if weight >= half { return Int64(exactly: sample.bytesPerSecond.rounded()) ?? .max }
        }
        return nil
    }
}
