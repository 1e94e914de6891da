import DownloadPolicy
import Foundation
import Reachability
import ReachabilityTestKit
import Synchronization
import TestSupport
import Testing

@testable import ResourceLoader

/// A server with one picture in two sizes, which a test can hold up, refuse or change.
final class PictureServer: Sendable {
    enum Behaviour: Sendable {
        case good
        /// So many bytes of the body, then nothing until the peer goes away.
        case stops(after: Int)
        /// So many bytes of the body, then nothing until the test lets it go on.
        case holds(after: Int)
        case status(String)
        /// Nothing until the test lets it go on.
        case silent
    }

    private struct State {
        var next: [String: [Behaviour]] = [:]
        var always: [String: Behaviour] = [:]
        var headers: [String] = []
    }

    static let thumbnail = pattern(4000, seed: 3)
    static let original = pattern(900_000, seed: 4)

    private let gate: DispatchSemaphore
    let server: FaultServer
    /// The paths of exchanges that stopped and whose peer has gone away.
    let departures: AsyncStream<String>

    init(_ headers: [String] = ["Cache-Control: max-age=3600"], host: String = "127.0.0.1") throws {
        let state = Box(State(headers: headers))
        let gate = DispatchSemaphore(value: 0)
        let (departures, departed) = AsyncStream.makeStream(of: String.self)
        self.gate = gate
        self.departures = departures
        server = try FaultServer(host: host) { exchange in
            let path = exchange.request.target
            let (behaviour, headers) = state.value.withLock { state in
                let next = state.next[path]?.isEmpty == false ? state.next[path]?.removeFirst() : nil
                return (next ?? state.always[path] ?? .good, state.headers)
            }
            Self.answer(exchange, behaviour, headers, gate) { departed.yield(path) }
        }
        box = state
    }

    /// The state lives in a box that the server's threads share.
    private final class Box: Sendable {
        let value: Mutex<State>
        init(_ state: State) { value = Mutex(state) }
    }

    private let box: Box

    deinit { server.stop() }

    /// What the next requests for a path meet.
    func next(_ path: String, _ behaviours: Behaviour...) { box.value.withLock { $0.next[path] = behaviours } }

    /// What every request for a path meets.
    func always(_ path: String, _ behaviour: Behaviour) { box.value.withLock { $0.always[path] = behaviour } }

    /// Lets one exchange that holds go on.
    func letGo() { gate.signal() }

    func resource(_ id: ResourceID, size: Int64 = 900_000, limit: Int64 = 1 << 30) throws -> Resource {
        try Resource(
            id,
            renditions: [
                Rendition(.thumbnail, url: server.url("/thumbnail"), size: 4000),
                Rendition(.original, url: server.url("/original"), size: size, limits: TransferLimits(bytes: limit)),
            ])
    }

    /// The requests so far for a path.
    func requests(_ path: String) -> [FaultServer.Request] { server.requests.filter { $0.target == path } }

    private static func answer(
        _ exchange: FaultServer.Exchange, _ behaviour: Behaviour, _ headers: [String], _ gate: DispatchSemaphore,
        departed: () -> Void
    ) {
        let body = exchange.request.target.hasPrefix("/thumbnail") ? thumbnail : original
        let etag = "\"\(body.count)\""
        if case .status(let status) = behaviour { return exchange.answer(status, headers) }
        if case .silent = behaviour { gate.wait() }
        if exchange.request["If-None-Match"] == etag, exchange.request.rangeStart == nil {
            let lines = ["ETag: \(etag)"] + headers
            exchange.send("HTTP/1.1 304 Not Modified\r\n\(lines.joined(separator: "\r\n"))\r\n\r\n")
            return
        }
        var status = "200 OK"
        var lines = ["ETag: \(etag)"] + headers
        var rest = body[...]
        if let start = exchange.request.rangeStart, exchange.request["If-Range"] == etag {
            status = "206 Partial Content"
            lines.append("Content-Range: bytes \(start)-\(body.count - 1)/\(body.count)")
            rest = body[start...]
        }
        exchange.send(
            "HTTP/1.1 \(status)\r\nContent-Length: \(rest.count)\r\n\(lines.joined(separator: "\r\n"))\r\n\r\n")
        switch behaviour {
        case .good, .status, .silent: exchange.send(rest)
        case .stops(let count):
            exchange.send(rest.prefix(count))
            exchange.hang()
            departed()
        case .holds(let count):
            exchange.send(rest.prefix(count))
            gate.wait()
            exchange.send(rest.dropFirst(count))
        }
    }
}

/// A loader on a simulated machine, with clocks that stand still, and a server on loopback.
final class LoaderRig: Sendable {
    let kernel = SimulatedKernel()
    let monitor: ReachabilityMonitor
    let folder = TemporaryFolder()
    let preferences: PreferencesStore
    let disk: DiskCache
    let budget: DataBudget?
    let clock = ManualClock()
    let engineClock = HandClock()
    let wallClock = StandingClock()
    let loader: ResourceLoader
    let server: PictureServer

    init(
        _ mode: DownloadPreferences.Mode = .automatic, budget limit: Int64? = nil,
        cache bytes: Int64 = 1 << 30, headers: [String] = ["Cache-Control: max-age=3600"]
    ) throws {
        monitor = kernel.makeMonitor()
        try monitor.start()
        preferences = try PreferencesStore(path: folder.path + "/preferences")
        try preferences.update { $0.mode = mode }
        var configuration = CacheConfiguration()
        configuration.durability = .process
        configuration.byteBudget = bytes
        disk = try DiskCache(directory: folder.path + "/cache", configuration: configuration, now: wallClock.now)
        let ledger = folder.path + "/budget"
        budget = try limit.map { limit in
            try DataBudget(path: ledger, limit: limit, assumedSize: 100_000, period: BillingPeriod(startingOn: 1))
        }
        server = try PictureServer(headers)
        loader = try ResourceLoader(
            monitor: monitor, preferences: preferences, cache: disk, budget: budget, clock: clock,
            transfers: TransferConfiguration(clock: engineClock, chance: { 0 }), wallTime: wallClock.now)
    }

    deinit { monitor.stop() }

    func resource(_ id: ResourceID = "picture", limit: Int64 = 1 << 30) throws -> Resource {
        try server.resource(id, limit: limit)
    }

    func wifi() throws { try kernel.connect("wlan0", address: "10.1.0.2/24", gateway: "10.1.0.1", metric: 600) }
    /// Wi-Fi, and everybody has noticed it: what is asked for now never meets the outage before it.
    func seenWiFi() async throws {
        try wifi()
        try await until { loader.path.status == .wifi && loader.advisor.path.status == .wifi }
    }
    func noWiFi() throws { try kernel.disconnect("wlan0") }
    func cellular() throws { try kernel.connect("wwan0", address: "10.2.0.2/24", gateway: "10.2.0.1", metric: 700) }
    func noCellular() throws { try kernel.disconnect("wwan0") }

    /// Loads the picture until the server stops in the middle of the original.
    func loadAndStop(trigger: Trigger = .visible) async throws -> Displays {
        server.next("/original", .stops(after: 400_000))
        var shown = Displays(loader.load(try resource(), trigger: trigger))
        try await shown.expectBytes(200_000, of: .original)
        return shown
    }

    /// Moves both clocks once the transfers have taken notice of the present path.
    func advance(by duration: Duration) async throws {
        try await until { loader.path == loader.advisor.path }
        try await hearTheTransfers()
        engineClock.advance(by: duration)
        clock.advance(by: duration)
    }

    /// Waits until the transfers have taken notice of everything they were told, and begun what they may.
    func hearTheTransfers() async throws {
        let request = try TransferRequest.get(server.server.url("/sync"), kind: .thumbnail, priority: .user)
        let share = loader.engine.start(request, into: MemoryBody())
        // Commands are taken in order.
        for await _ in share.states { break }
    }

    /// Time for a cheaper path to have held for long enough: the longest hold there is. How long it is depends on how many of
    /// the steps in between (no network yet, a carrier that goes before its routes do) the advisor and the engine happened to see.
    func letThePathHold() async throws { try await advance(by: .seconds(60)) }

    /// Wi-Fi goes. If the gap is to be seen, it goes on until everybody has noticed that there is no way out.
    func noWiFi(isGapSeen: Bool) async throws {
        if isGapSeen {
            try kernel.setCarrier("wlan0", false)
            try await until { loader.path.status == .offline && loader.advisor.path.status == .offline }
        }
        try noWiFi()
    }

    func store(_ body: [UInt8], as variant: CacheVariant, lifetime: Duration = .seconds(3600)) throws {
        let length = "\"\(body.count)\""
        try loader.cache.store(
            body, as: CacheKey("picture"), variant: variant, metadata: CacheMetadata(etag: length, lifetime: lifetime))
    }
}

/// Waits until something is so that nobody announces.
func until(_ condition: () -> Bool) async throws {
    while !condition() {
        try Task.checkCancellation()
        await Task.yield()
    }
}

/// What a load shows, one after the other.
struct Displays: ~Copyable {
    private var iterator: AsyncStream<ResourceDisplay>.Iterator
    private(set) var seen: [ResourceDisplay] = []

    init(_ stream: consuming AsyncStream<ResourceDisplay>) { iterator = stream.makeAsyncIterator() }

    /// The next display like that.
    @discardableResult
    mutating func expect(
        _ what: String, _ location: SourceLocation = #_sourceLocation, where isRight: (ResourceDisplay) -> Bool
    ) async throws -> ResourceDisplay {
        while let display = await iterator.next(isolation: #isolation) {
            seen.append(display)
            if isRight(display) { return display }
        }
        Issue.record("waited for \(what); the last was \(seen.last?.words ?? "nothing")", sourceLocation: location)
        throw CancellationError()
    }

    /// Waits for the end of the displays.
    mutating func end() async {
        while let display = await iterator.next(isolation: #isolation) { seen.append(display) }
    }

    /// The next display of a whole rendition, with nothing under way.
    @discardableResult
    mutating func expect(
        _ variant: CacheVariant, _ body: [UInt8], _ location: SourceLocation = #_sourceLocation
    ) async throws -> ResourceDisplay {
        let display = try await expect("the \(variant) at rest", location) { $0.variant == variant && $0.isAtRest }
        if case .body(let stored, _) = display.content {
            #expect(try stored.bytes() == body, sourceLocation: location)
        }
        return display
    }

    @discardableResult
    mutating func expect(
        _ placeholder: Placeholder, _ location: SourceLocation = #_sourceLocation
    ) async throws -> ResourceDisplay {
        try await expect("the placeholder \(placeholder)", location) {
            $0.placeholder == placeholder && !$0.activity.isRunning
        }
    }

    /// Sees a cheaper path wait, lets it hold, and waits for the original.
    mutating func expectTheOriginalOnceThePathHeld(
        _ rig: LoaderRig, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        try await expect("the path settling", location) { $0.decision.reasons.contains { $0.rule == .settling } }
        try await rig.letThePathHold()
        try await expect(.original, PictureServer.original, location)
    }

    /// Waits until more than so many bytes of a rendition have arrived.
    mutating func expectBytes(
        _ count: Int64, of variant: CacheVariant, _ location: SourceLocation = #_sourceLocation
    ) async throws {
        try await expect("\(count) bytes of the \(variant)", location) {
            if case .fetching(variant, let received, _) = $0.activity { received > count } else { false }
        }
    }
}

extension ResourceDisplay {
    var words: String {
        "\(variant?.name ?? placeholder?.rawValue ?? ""), \(activity), \(decision.reasons.map(\.rule))"
    }
}
