/// Decides what to show and what to fetch.
///
/// `decide` is pure, total and deterministic: it has no clock and does no input or output, it answers every input, and
/// the same input gives the same answer. Time, and everything that changes, lives in a ``PolicyAdvisor``. An app that
/// writes its own policy checks it against the laws with ``PolicyLaws/check(_:over:)``.
///
/// The module has the protocol's name; to name another of its declarations in full, use a module selector
/// (`DownloadPolicy::Plan`).
public protocol DownloadPolicy: Sendable {
    /// What to show, what to fetch and when to come back. May be called from any thread.
    func decide(_ input: PolicyInput) -> PolicyDecision
}

extension DownloadPolicy where Self == StandardPolicy {
    /// The policy of this package.
    public static var standard: StandardPolicy { StandardPolicy() }
}
