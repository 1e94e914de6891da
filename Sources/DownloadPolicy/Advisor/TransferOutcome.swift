/// How a transfer ended, as far as decisions depend on it.
public enum TransferOutcome: Sendable, Hashable {
    /// It arrived: how many bytes came over the network, in what time from the first to the last, and over which
    /// network (``PathFacts/network`` when it began).
    case succeeded(bytes: Int64, in: Duration, on: String?)
    /// It failed in a way that may pass; the server may have asked to be left alone for a time. Failures because the
    /// path is offline do not belong here: they say nothing about the resource.
    case failed(retryAfter: Duration?)
    /// It is not to be had for a time, such as a resource that is missing.
    case unavailable(for: Duration)
}
