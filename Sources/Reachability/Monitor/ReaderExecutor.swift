import Glibc
import Netlink
import Synchronization

/// Runs jobs on the reader thread while there is one, and on the default executor otherwise.
final class ReaderExecutor: TaskExecutor {
    private struct State {
        /// Wakes the reader; `nil` while there is none, and none is being started.
        var wake: WakeDescriptor?
        /// The reader, once it runs.
        var reader: pthread_t?
        var jobs: [UnownedJob] = []
    }

    private let state = Mutex(State())

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let wake: WakeDescriptor?? = state.withLock { state in
            guard let wake = state.wake else { return nil }
            state.jobs.append(job)
            // The reader itself looks for jobs before it waits again.
            let isReader = state.reader.map { pthread_equal($0, pthread_self()) != 0 } ?? false
            return .some(isReader ? nil : wake)
        }
        switch wake {
        case .some(let wake): wake?.ring()
        case .none: globalConcurrentExecutor.enqueue(job)
        }
    }

    /// A reader is about to be started: jobs wait for it from now on. It takes the place of one that may still be ending.
    func expectReader(wokenBy wake: WakeDescriptor) {
        state.withLock { state in
            state.wake = wake
            state.reader = nil
        }
    }

    /// The calling thread is the reader that was expected, unless another is expected by now.
    func adoptReader(wokenBy wake: WakeDescriptor) {
        state.withLock { state in
            if state.wake === wake { state.reader = pthread_self() }
        }
    }

    /// The reader has ended, or could not be started; unless there is another, jobs go to the default executor from now on.
    func dismissReader(wokenBy wake: WakeDescriptor) {
        let left = state.withLock { state -> [UnownedJob] in
            guard state.wake === wake else { return [] }
            defer { state = State() }
            return state.jobs
        }
        for job in left { globalConcurrentExecutor.enqueue(job) }
    }

    /// Runs the jobs that are waiting, on the reader thread. Jobs that these enqueue wait for the next turn, so that a task which
    /// yields for ever can't keep the reader from its doorbells.
    ///
    /// - Returns: `true` if there are more already.
    func runJobs() -> Bool {
        let jobs = state.withLock { state in
            defer { state.jobs.removeAll() }
            return state.jobs
        }
        for job in jobs { job.runSynchronously(on: asUnownedTaskExecutor()) }
        return state.withLock { !$0.jobs.isEmpty }
    }
}
