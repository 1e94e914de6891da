import Glibc
import Reachability

// Top-level code, and no `async`: the main thread has nothing to do but wait for signals, and starts up faster that way.
do {
    try Invocation(CommandLine.arguments.dropFirst()).run()
} catch let problem as UsageError {
    Standard.complain(problem.description)
    exit(ExitStatus.usage)
} catch {
    Standard.complain("\(error)")
    exit(ExitStatus.failure)
}

/// What the exit statuses mean; `reach help` lists them.
enum ExitStatus {
    static let online: CInt = 0
    static let offline: CInt = 1
    static let usage: CInt = 2
    /// The kernel could not be asked.
    static let failure: CInt = 3
}
