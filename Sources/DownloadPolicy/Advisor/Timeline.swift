/// A clock whose moments are durations since it was taken up, so that what uses it need not be generic over clocks, and
/// moments can be stored, compared and shown.
struct Timeline: Sendable {
    /// The present moment.
    let now: @Sendable () -> Duration
    /// Waits for a moment; throws if the task is cancelled.
    let sleep: @Sendable (_ until: Duration) async throws -> Void

    init<C: Clock>(_ clock: C) where C.Duration == Duration {
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { moment in try await clock.sleep(until: start.advanced(by: moment), tolerance: .zero) }
    }
}
