import DownloadPolicy
import Synchronization

/// The data budget as transfers use it: bytes are set aside before they travel, and counted as they arrive.
final class LoaderBudget: Sendable {
    let budget: DataBudget
    /// What this loader has set aside. What is set aside for a transfer must not stand in that transfer's way.
    private let held = Mutex<Int64>(0)
    private let unsettled = Atomic<Int>(0)

    init(_ budget: DataBudget) {
        self.budget = budget
    }

    /// What running transfers may spend together.
    var remaining: Int64 {
        let held = held.withLock { $0 }
        let (sum, overflow) = budget.facts.remaining.addingReportingOverflow(held)
        return overflow ? .max : sum
    }

    /// How many times the budget's file could not be written when a transfer had ended. What was set aside for it stays
    /// counted as spent.
    var failures: Int { unsettled.load(ordering: .relaxed) }

    func reserve(_ bytes: Int64, for resource: ResourceID) throws(BudgetError) -> BudgetReservation {
        held.withLock { $0 += bytes }
        do throws(BudgetError) {
            return try budget.reserve(bytes, for: resource)
        } catch {
            held.withLock { $0 -= bytes }
            throw error
        }
    }

    func settle(_ reservation: BudgetReservation?, used: Int64) {
        do throws(BudgetError) {
            if let reservation {
                defer { held.withLock { $0 -= reservation.bytes } }
                try budget.commit(reservation, used: used)
            } else if used > 0 {
                try budget.spend(used)
            }
        } catch {
            unsettled.add(1, ordering: .relaxed)
        }
    }
}

/// Sets bytes of the budget aside for one body, and counts those that arrive over charged paths. It lives with the body's sink,
/// which sees every byte, also those of the second in which nobody waits any more.
final class BudgetMeter: Sendable {
    private struct State {
        var reservation: BudgetReservation?
        var used: Int64 = 0
        var isCostAccepted = false

        /// What is set aside and not used yet.
        var left: Int64 { (reservation?.bytes ?? 0) - used }
    }

    private let budget: LoaderBudget?
    private let resource: ResourceID
    private let network: NetworkState
    private let state = Mutex(State())

    /// What is set aside at a time for a body of unknown size where the budget assumes nothing.
    private static let leastStep: Int64 = 1 << 16

    init(_ budget: LoaderBudget?, for resource: ResourceID, on network: NetworkState) {
        self.budget = budget
        self.resource = resource
        self.network = network
    }

    /// Whether somebody wants it whatever it costs: then it is counted, and needs nothing set aside.
    var isCostAccepted: Bool {
        get { state.withLock { $0.isCostAccepted } }
        set { state.withLock { $0.isCostAccepted = newValue } }
    }

    /// What was still set aside when a sink was never used.
    deinit { settle() }

    /// Sees to it that enough is set aside for what is still to come, if it comes over a charged path. Waits for the disk if
    /// that was not so.
    ///
    /// - Parameters:
    ///   - rest: how many bytes are still to come; `nil` where nobody knows. Then what the budget assumes is set aside, and again
    ///     whenever that is used up.
    ///   - path: what the attempt was sent over.
    /// - Throws: ``BudgetError`` if there is not enough, or it cannot be counted: then nothing may come.
    func cover(_ rest: Int64?, begunOn path: PathFacts) throws(BudgetError) {
        guard let budget, rest != 0, isCharged(path) else { return }
        let isCovered = state.withLock { $0.isCostAccepted || $0.reservation != nil && $0.left >= rest ?? 1 }
        guard !isCovered else { return }
        settle()
        let reservation = try budget.reserve(
            rest ?? max(budget.budget.assumedSize, Self.leastStep), for: resource)
        let surplus = state.withLock { state in
            guard state.reservation == nil else { return Optional(reservation) }
            state.reservation = reservation
            return nil
        }
        if let surplus { budget.settle(surplus, used: 0) }
    }

    /// Counts bytes of an attempt, by the cost of the path that it was sent over.
    func count(_ bytes: Int, begunOn path: PathFacts) {
        guard budget != nil, isCharged(path) else { return }
        state.withLock { $0.used += Int64(bytes) }
    }

    private func isCharged(_ path: PathFacts) -> Bool {
        // The same network may have become dearer meanwhile, or known; once it is another, the bytes come over the one before.
        let now = network.facts
        let carrier = path.status == .unknown || now.network == path.network ? now : path
        return carrier.status == .unknown ? PathFacts.assumedWhenUnknown.isCharged : carrier.isCharged
    }

    /// Counts what has arrived, and gives back what is still set aside. Waits for the disk.
    func settle() {
        guard let budget else { return }
        let settled = state.withLock { state in
            defer { (state.reservation, state.used) = (nil, 0) }
            return state
        }
        guard settled.reservation != nil || settled.used > 0 else { return }
        budget.settle(settled.reservation, used: settled.used)
    }
}
