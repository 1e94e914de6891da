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

/// Counts the bytes of one body that arrive over charged paths. It lives with the body's sink, which sees every byte, also
/// those of the second in which nobody waits any more.
final class BudgetMeter: Sendable {
    private struct State {
        var reservation: BudgetReservation?
        var used: Int64 = 0
    }

    private let budget: LoaderBudget?
    private let resource: ResourceID
    private let network: NetworkState
    private let state = Mutex(State())

    init(_ budget: LoaderBudget?, for resource: ResourceID, on network: NetworkState) {
        self.budget = budget
        self.resource = resource
        self.network = network
    }

    /// What was still set aside when a sink was never used.
    deinit { settle() }

    /// Sets bytes aside, unless some are already. Waits for the disk.
    func reserve(_ bytes: Int64) throws(BudgetError) {
        guard let budget, state.withLock({ $0.reservation == nil }) else { return }
        let reservation = try budget.reserve(max(0, bytes), for: resource)
        let surplus = state.withLock { state in
            guard state.reservation == nil else { return Optional(reservation) }
            state.reservation = reservation
            return nil
        }
        if let surplus { budget.settle(surplus, used: 0) }
    }

    /// Counts bytes of an attempt, by the cost of the path that it was sent over.
    func count(_ bytes: Int, begunOn path: PathFacts) {
        guard budget != nil else { return }
        // The same network may have become dearer meanwhile; once it is another, the bytes came over the one before.
        let now = network.facts
        let carrier = now.network == path.network ? now : path
        guard carrier.isCharged else { return }
        state.withLock { $0.used += Int64(bytes) }
    }

    /// Counts what has arrived, and gives back what is still set aside. Waits for the disk.
    func settle() {
        guard let budget else { return }
        let settled = state.withLock { state in
            defer { state = State() }
            return state
        }
        guard settled.reservation != nil || settled.used > 0 else { return }
        budget.settle(settled.reservation, used: settled.used)
    }
}
