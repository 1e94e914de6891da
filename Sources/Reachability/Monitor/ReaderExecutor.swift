import Glibc
import Netlink
import Synchronization

/// Runs jobs on the reader thread while there is one, and on the default executor otherwise.
final class ReaderExecutor: TaskExecutor {
    private struct State {
        var reader: pthread_t?
        var wake: WakeDescriptor?
        var jobs: [UnownedJob] = []
    }

    private let state = Mutex(State())

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let wake: WakeDescriptor?? = state.withLock { state in
            guard let reader = state.reader else { return nil }
            state.jobs.append(job)
            // The reader itself looks for jobs before it waits again.
            return .some(pthread_equal(reader, pthread_self()) != 0 ? nil : state.wake)
        }
        switch wake {
        case .some(let wake): wake?.ring()
        case .none: globalConcurrentExecutor.enqueue(job)
        }
    }

    /// The calling thread becomes the one that runs the jobs.
    func adopt(wake: WakeDescriptor) {
        state.withLock { $0 = State(reader: pthread_self(), wake: wake, jobs: $0.jobs) }
    }

    /// The calling thread ends; unless another has been adopted meanwhile, jobs go to the default executor from now on.
    func resign() {
        let left = state.withLock { state -> [UnownedJob] in
            guard let reader = state.reader, pthread_equal(reader, pthread_self()) != 0 else { return [] }
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
