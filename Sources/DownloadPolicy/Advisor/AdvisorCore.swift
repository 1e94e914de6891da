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
        state.withLock { state in
            let now = timeline.now()
            event(&state.model, now)
            post(state.model.news(at: now), &state, at: now)
        }
        deliver()
    }

    /// Tells the model what the cache has, which concerns one subscription only: a screen with a thousand pictures asks the
    /// policy once for each that arrives, and not a thousand times.
    func setLadder(_ ladder: Ladder, for id: UInt64) {
        state.withLock { state in
            let now = timeline.now()
            state.model.setLadder(ladder, for: id)
            post(state.model.news(for: id, at: now).map { [$0] } ?? [], &state, at: now)
        }
        deliver()
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

    func explain(_ resource: ResourceID, trigger: Trigger) -> Explanation? {
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
        state.withLock { state in
            state.isStopped = true
            state.timer?.task.cancel()
            state.timer = nil
        }
    }

    private func deliver() {
        queue.deliver()
        admissions.deliver()
    }

    private func post(_ news: [AdvisorModel.News], _ state: inout State, at now: Duration) {
        for news in news {
            if let continuation = state.continuations[news.subscription] { queue.post(news.decision, to: continuation) }
        }
        admissions.post(state.model.admission)
        let deadline = state.model.nextDeadline(after: now)
        guard deadline != state.timer?.deadline, !state.isStopped else { return }
        state.timer?.task.cancel()
        state.timer = deadline.map { deadline in
            (
                deadline,
                Task { [weak self, timeline] in
                    do { try await timeline.sleep(deadline) } catch { return }
                    self?.timerRang(for: deadline)
                }
            )
        }
    }

    private func timerRang(for deadline: Duration) {
        state.withLock { state in
            // Unless it has been set anew meanwhile.
            if state.timer?.deadline == deadline { state.timer = nil }
        }
        take { _, _ in }
    }
}
