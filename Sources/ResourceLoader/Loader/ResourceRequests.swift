import DownloadPolicy
import Synchronization

/// Hears how requests for resources end. For code that is built on delegates; `async` code awaits
/// ``ResourceLoader/resource(_:from:trigger:)``.
public protocol ResourceLoaderDelegate: AnyObject, Sendable {
    /// The resource is here, stored under its id.
    func resourceRequests(_ requests: ResourceRequests, didLoad body: CachedBody, for id: ResourceID)
    /// It is not to be had now.
    func resourceRequests(_ requests: ResourceRequests, didFail failure: ResourceFailure, for id: ResourceID)
}

/// Requests resources of one endpoint, and tells a delegate how they end.
///
/// ```swift
/// let requests = ResourceRequests(of: loader, from: pictures, delegate: controller) { work in
///     DispatchQueue.main.async(execute: work)
/// }
/// requests.request("42")
/// ```
///
/// The delegate is held weakly, and hears exactly once of each request that is not cancelled; as cancelled of those that are
/// under way when the loader is shut down. Safe to use from any thread.
public final class ResourceRequests: Sendable {
    /// Runs work where the delegate wants to be called: on a queue, or as `{ work in Task { @MainActor in work() } }`.
    public typealias Delivery = @Sendable (@escaping @Sendable () -> Void) -> Void

    private struct State {
        var numbers = 0
        var tasks: [ResourceID: (number: Int, task: Task<Void, Never>)] = [:]
    }

    private let loader: ResourceLoader
    private let endpoint: ResourceEndpoint
    private let deliver: Delivery
    private weak let delegate: (any ResourceLoaderDelegate)?
    private let state = Mutex(State())

    /// Requests for a delegate that is called through `delivery`.
    public init(
        of loader: ResourceLoader, from endpoint: ResourceEndpoint, delegate: any ResourceLoaderDelegate,
        delivery: @escaping Delivery
    ) {
        self.loader = loader
        self.endpoint = endpoint
        self.delegate = delegate
        deliver = delivery
    }

    deinit { for (_, task) in state.withLock({ $0.tasks.values }) { task.cancel() } }

    /// Asks for a resource. Nothing happens while the same one is under way: its end is this one's, too.
    ///
    /// - Parameters:
    ///   - id: which resource.
    ///   - trigger: why it is wanted. By default a tap: one attempt even where the monitor says offline.
    public func request(_ id: ResourceID, trigger: Trigger = .user) {
        state.withLock { state in
            guard state.tasks[id] == nil else { return }
            state.numbers += 1
            let number = state.numbers
            let task = Task { [weak self, loader, endpoint] in
                let result: Result<CachedBody, ResourceFailure>
                do throws(ResourceFailure) {
                    result = .success(try await loader.resource(id, from: endpoint, trigger: trigger))
                } catch {
                    result = .failure(error)
                }
                guard let requests = self else { return }
                requests.deliver { [weak requests] in requests?.finish(id, number, result) }
            }
            state.tasks[id] = (number, task)
        }
    }

    /// Gives up a request; once this has returned, the delegate hears nothing of it, unless it is being told right now.
    public func cancel(_ id: ResourceID) {
        let task = state.withLock { $0.tasks.removeValue(forKey: id)?.task }
        task?.cancel()
    }

    private func finish(_ id: ResourceID, _ number: Int, _ result: Result<CachedBody, ResourceFailure>) {
        let isWanted = state.withLock { state in
            guard state.tasks[id]?.number == number else { return false }
            state.tasks[id] = nil
            return true
        }
        guard isWanted else { return }
        switch result {
        case .success(let body): delegate?.resourceRequests(self, didLoad: body, for: id)
        case .failure(let failure): delegate?.resourceRequests(self, didFail: failure, for: id)
        }
    }
}
