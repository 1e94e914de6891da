/// What a transfer is for; it decides how the transfer reacts to the network.
public enum TransferKind: String, Sendable, Hashable, Codable, CaseIterable {
    /// A picture above the lowest rung of its ladder, or any other large body that can wait for a cheaper network.
    case original
    /// The lowest rung, or any other small body that is worth its bytes on every network.
    case thumbnail
    /// A body that nobody has asked for yet.
    case prefetch
}

/// How urgent a transfer is. A waiter of higher priority raises a transfer that several wait for.
public enum TransferPriority: Int, Sendable, Hashable, Codable, CaseIterable, Comparable {
    /// Nobody looks at it yet. Gets at most half of the slots.
    case prefetch = 0
    /// It is on the screen.
    case visible = 1
    /// A person asked for it. May make one attempt even while the path is offline.
    case user = 2

    public static func < (left: TransferPriority, right: TransferPriority) -> Bool { left.rawValue < right.rawValue }
}

/// What the body of a success must look like.
public enum ExpectedBody: String, Sendable, Hashable, Codable {
    /// Any bytes at all; HTML too, unless it came by way of a redirect to another host.
    case anything
    /// A picture: HTML in its place is a captive portal's doing, and an empty body is a damaged one.
    case picture
}

/// Limits on a body. A transfer that breaks one fails with ``FailureClass/tooLarge`` and leaves nothing behind.
public struct TransferLimits: Sendable, Hashable, Codable {
    /// The most bytes a body may have. Checked early against Content-Length, and late by counting.
    public var bytes: Int64
    /// The most pixels (width times height) a picture may have, read from the header of PNG, JPEG, GIF and WebP. `nil`: any.
    public var pixels: Int64?

    /// - Parameters:
    ///   - bytes: the most bytes; 1 GiB unless told otherwise.
    ///   - pixels: the most pixels; any number unless told otherwise.
    public init(bytes: Int64 = 1 << 30, pixels: Int64? = nil) {
        self.bytes = bytes
        self.pixels = pixels
    }
}

/// Time-outs of a transfer, on the engine's clock.
public struct TransferTimeouts: Sendable, Hashable {
    /// From the start of an attempt until its request can be sent: resolving, connecting, TLS.
    public var connect: Duration
    /// The longest time without a byte in either direction. Time in which the consumer holds the transfer back does not count.
    public var stall: Duration
    /// The longest time a transfer may run, all its attempts together. Waiting and backing off do not count. `nil`: any time.
    public var overall: Duration?

    /// - Parameters:
    ///   - connect: 15 s unless told otherwise.
    ///   - stall: 30 s unless told otherwise.
    ///   - overall: no limit unless told otherwise.
    public init(connect: Duration = .seconds(15), stall: Duration = .seconds(30), overall: Duration? = nil) {
        self.connect = connect
        self.stall = stall
        self.overall = overall
    }
}
