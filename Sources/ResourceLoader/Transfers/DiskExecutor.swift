import Glibc
import Synchronization
import Threads

/// Runs what sinks do on a thread of its own: a slow disk then holds up neither the engine's thread nor the concurrency pool.
final class DiskExecutor: TaskExecutor {
    /// One for the process; disks are shared by all engines anyway.
    static let shared = DiskExecutor()

    private let jobs = Mutex<[UnownedJob]>([])
    /// A pipe that is given a byte when the first of some jobs begins to wait. (Glibc's Swift module has no eventfd.)
    private let bell: (reader: Int32, writer: Int32)
    /// False when the system had no thread or pipe to give; jobs then go to the concurrency pool.
    private let isServed = Atomic<Bool>(false)

    private init() {
        var ends: [Int32] = [-1, -1]
        let hasPipe = pipe(&ends) == 0
        bell = (ends[0], ends[1])
        guard hasPipe else { return }
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
        isServed.store(DedicatedThread.start("transfer bodies") { [self] in serve() } == 0, ordering: .releasing)
    }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        guard isServed.load(ordering: .acquiring) else { return globalConcurrentExecutor.enqueue(job) }
        let isFirst = jobs.withLock { jobs in
            jobs.append(job)
            return jobs.count == 1
        }
        // The thread takes all that wait, so one ring is enough for them.
        if isFirst { _ = write(bell.writer, [1] as [UInt8], 1) }
    }

    private func serve() {
        var ring: UInt8 = 0
        while true {
            _ = read(bell.reader, &ring, 1)
            let due = jobs.withLock { jobs in
                defer { jobs = [] }
                return jobs
            }
            for job in due { job.runSynchronously(on: asUnownedTaskExecutor()) }
        }
    }
}
