/// What a cache has of the rungs of one resource: the present state first, then the new one whenever it differs.
///
/// A slow consumer misses states in between, never the last one. Announced are commits, revalidations, removals,
/// evictions and clears made by this process's cache object. Not announced: what other processes do, and a fresh entry
/// turning stale by the clock (`CacheHoldings.nextExpiry` tells when). The sequence ends with an error if the cache
/// cannot be asked, and when the cache is released or the consumer's task is cancelled. Each iteration asks on its own;
/// asking blocks the consumer's thread for a look into the index.
public struct CacheChanges: AsyncSequence, Sendable {
    /// A state.
    public typealias Element = CacheHoldings
    /// Why the cache could not be asked.
    public typealias Failure = CacheError

    let hub: ChangeHub<CacheKey>
    let key: CacheKey
    let ask: @Sendable () throws(CacheError) -> CacheHoldings?

    /// Walks through the states.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var ticks: AsyncStream<Void>.Iterator
        fileprivate let ask: @Sendable () throws(CacheError) -> CacheHoldings?
        fileprivate var last: CacheHoldings?

        /// The next state; at first the present one.
        public mutating func next(
            isolation actor: isolated (any Actor)? = #isolation
        ) async throws(CacheError) -> CacheHoldings? {
            while true {
                if last != nil, await ticks.next(isolation: actor) == nil { return nil }
                guard let now = try ask() else { return nil }
                if now != last {
                    last = now
                    return now
                }
            }
        }

        /// The next state; at first the present one.
        public mutating func next() async throws(CacheError) -> CacheHoldings? {
            try await next(isolation: nil)
        }
    }

    /// A new iteration, from the present state on.
    public func makeAsyncIterator() -> Iterator {
        Iterator(ticks: hub.ticks(for: key).makeAsyncIterator(), ask: ask, last: nil)
    }
}
