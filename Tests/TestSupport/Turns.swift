public import Testing

/// Lets one test run at a time, whatever its suite.
///
/// Swift Testing starts all tests at once. Hundreds of them, with threads, namespaces, servers and 10,000 interleavings among them, then
/// share a handful of threads, and whatever waits for something with a limit waits for all the others as well.
public struct TakingTurns: TestTrait, SuiteTrait, TestScoping {
    public let isRecursive = true

    public func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        await Turns.shared.begin()
        do {
            try await function()
        } catch {
            await Turns.shared.end()
            throw error
        }
        await Turns.shared.end()
    }
}

extension Trait where Self == TakingTurns {
    /// The tests wait until no other runs. A time limit counts the wait, so give hangs ten minutes.
    public static var takingTurns: Self { TakingTurns() }
}

private actor Turns {
    static let shared = Turns()

    private var free = 1
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func begin() async {
        if free > 0 {
            free -= 1
        } else {
            await withCheckedContinuation { waiting.append($0) }
        }
    }

    func end() {
        if waiting.isEmpty {
            free += 1
        } else {
            waiting.removeFirst().resume()
        }
    }
}
