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
        private var news: PathNews

        init(_ hub: Hub, _ address: IPAddress?) {
            let subscription =
                if let address {
                    Subscription<NetworkPath>(
                        .bufferingNewest(1), subscribe: { hub.add($0, to: address) },
                        unsubscribe: { hub.remove($0, from: address) })
                } else {
                    Subscription<NetworkPath>(
                        .bufferingNewest(1), subscribe: { hub.add($0) }, unsubscribe: { hub.remove($0) })
                }
            news = PathNews(subscription)
        }

        public mutating func next() async -> NetworkPath? { await next(isolation: nil) }

        public mutating func next(isolation actor: isolated (any Actor)?) async -> NetworkPath? {
            await news.next(isolation: actor)
        }
    }
}
