import Netlink

/// A monitor without a thread, which looks when it is told to: for recordings, where time is not that of the clock.
package struct SteppedMonitor {
    private var engine: Engine

    /// Takes the first snapshot.
    package init(
        configuration: ReachabilityMonitor.Configuration = ReachabilityMonitor.Configuration(), feed: some NetlinkFeed
    ) throws(NetlinkError) {
        engine = try Engine(configuration, feed)
    }

    /// The path as of the last look.
    package var path: NetworkPath { engine.lastPath }

    package var statistics: ReachabilityMonitor.Statistics { engine.statistics }

    /// Takes in what the doorbells have brought since; the path if it is another one now.
    package mutating func step() -> NetworkPath? {
        let outcome = engine.turn(ringing: engine.doorbells, poll: false, refresh: false)
        return outcome.changes.isEmpty ? nil : outcome.path
    }
}
