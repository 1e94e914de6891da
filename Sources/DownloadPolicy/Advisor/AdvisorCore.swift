import Synchronization

/// The part of an advisor that its tasks hold: the model behind a lock, the streams, and the timer.
final class AdvisorCore: Sendable {
    private struct State {
        var model: AdvisorModel
        var continuations: [UInt64: AsyncStream<PolicyDecision>.Continuation] = [:]
        var timer: (deadline: Duration, task: Task<Void, Never>)?
        var isStopped = false
    }

    let admissions = Broadcaster(Admission())
    let timeline: Timeline
    private let state: Mutex<State>
    private let queue = DeliveryQueue<PolicyDecision>()

    init(timeline: Timeline, model: (Duration) -> AdvisorModel) {
        self.timeline = timeline
        state = Mutex(State(model: model(timeline.now())))
        take { _, _ in }
    }

    /// Tells the model of something, and everybody of what follows from it.
    func take(_ event: (inout AdvisorModel, Duration) -> Void) {
        change { model, now in
            event(&model, now)
            return model.news(at: now)
        }
    }

    /// Tells the model what the cache has, which concerns one subscription only: a screen with a thousand pictures asks
    /// the policy once for each that arrives, and not a thousand times.
    func setLadder(_ ladder: Ladder, for id: UInt64) {
        change { model, now in
            model.setLadder(ladder, for: id)
            return model.news(for: id, at: now).map { [$0] } ?? []
        }
    }

    func read<Result: Sendable>(_ body: (AdvisorModel) -> Result) -> Result {
        state.withLock { body($0.model) }
    }

    func subscribe(
        _ continuation: AsyncStream<PolicyDecision>.Continuation, to resource: ResourceID, trigger: Trigger
    ) -> UInt64 {
        state.withLock { state in
            let id = state.model.subscribe(to: resource, trigger: trigger)
            state.continuations[id] = continuation
            return id
        }
    }

    func unsubscribe(_ id: UInt64) {
        let removed = state.withLock { state in
            state.model.unsubscribe(id)
            return state.continuations.removeValue(forKey: id)
        }
        withExtendedLifetime(removed) {}
    }

    func explain(_ resource: ResourceID, trigger: Trigger) -> PolicyExplanation? {
        state.withLock { state in
            let now = timeline.now()
            let subscription = state.model.subscriptions.values.first {
                $0.resource == resource && $0.trigger == trigger && $0.ladder != nil
            }
            return subscription.flatMap { state.model.explain($0, at: now) }
        }
    }

    /// Ends the timer.
    func stop() {
        let timer = state.withLock { state in
            state.isStopped = true
            return exchange(&state.timer, with: nil)
        }
        timer?.task.cancel()
    }

    private func change(_ event: (inout AdvisorModel, Duration) -> [AdvisorModel.News]) {
        let oldTimer = state.withLock { state in
            let now = timeline.now()
            for news in event(&state.model, now) {
                if let continuation = state.continuations[news.subscription] {
                    queue.post(news.decision, to: continuation)
                }
            }
            admissions.post(state.model.admission)
            return setTimer(&state, at: now)
        }
        // Waking and cancelling run code of others, so no lock is held.
        oldTimer?.cancel()
        queue.deliver()
        admissions.deliver()
    }

    /// Sets the timer for the next deadline and returns the one that no longer counts.
    private func setTimer(_ state: inout State, at now: Duration) -> Task<Void, Never>? {
        let deadline = state.model.nextDeadline(after: now)
        guard deadline != state.timer?.deadline, !state.isStopped else { return nil }
        let timer = deadline.map { deadline in
            (
                deadline,
                Task { [weak self, timeline] in
                    do { try await timeline.sleep(deadline) } catch { return }
                    self?.timerRang(for: deadline)
                }
            )
        }
        return exchange(&state.timer, with: timer)?.task
    }

    private func timerRang(for deadline: Duration) {
        state.withLock { state in
            // Unless it has been set anew meanwhile.
            if state.timer?.deadline == deadline { state.timer = nil }
        }
        take { _, _ in }
    }
}
