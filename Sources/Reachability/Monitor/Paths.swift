import Netlink

/// A stream of paths: the present one first, then every change.
///
/// Each iteration is a stream of its own with room for one element: a slow reader misses states in between, never the last one.
public struct Paths: AsyncSequence, Sendable {
    public typealias Element = NetworkPath

    let hub: Hub
    /// `nil` for everywhere.
    let address: IPAddress?

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(hub, address) }

    /// The iterator of one subscriber.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let subscription: Subscription<NetworkPath>
        private var stream: AsyncStream<NetworkPath>.Iterator
        private var last: NetworkPath?

        init(_ hub: Hub, _ address: IPAddress?) {
            if let address {
                subscription = Subscription(
                    .bufferingNewest(1), subscribe: { hub.add($0, to: address) },
                    unsubscribe: { hub.remove($0, from: address) })
            } else {
                subscription = Subscription(
                    .bufferingNewest(1), subscribe: { hub.add($0) }, unsubscribe: { hub.remove($0) })
            }
            stream = subscription.stream.makeAsyncIterator()
        }

        public mutating func next() async -> NetworkPath? { await next(isolation: nil) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> NetworkPath? {
            while let path = await stream.next(isolation: actor) {
                // What was still in the buffer when the monitor was stopped is no news any more.
                if subscription.isOver { return nil }
                // A slow consumer can miss a change and the change back: to it, nothing has happened. The comparison is with
                // what it got last, not with anything older, so that offline in between is never swallowed.
                if path == last { continue }
                last = path
                return path
            }
            return nil
        }
    }
}
