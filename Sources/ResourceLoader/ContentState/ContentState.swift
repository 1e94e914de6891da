/// What a screen, or one place of it, shows of one resource. Exactly one of these at a time.
///
/// Content is never replaced by loading or by an error: those ride along in `refresh`. `previous` is what the place
/// showed before it was bound to this resource, and was told to keep meanwhile; it is not this resource's content, so
/// show it as such.
public enum ContentState<Value: Sendable>: Sendable {
    /// Nothing was asked for, or it has been asked for less than 200 ms ago.
    case idle

    /// It takes its time. Visible from 200 ms after it was asked for, and then for at least 500 ms, so that it does not
    /// flash. With a `previous` it is the state from the start, as there is no other to carry it.
    case loading(previous: Value?)

    /// Here it is, and what became of getting a newer or better one.
    case content(Value, refresh: ContentRefresh)

    /// A success that brought nothing: there is no such data.
    case empty

    /// No network; or, `suspected`, a network by all signs, over which nothing gets through.
    case offline(previous: Value?, suspected: Bool, retry: ContentRetry)

    /// It failed for another reason.
    case failed(FailureClass, previous: Value?, retry: ContentRetry)

    /// The content; not what is `previous`.
    public var content: Value? {
        if case .content(let value, _) = self { value } else { nil }
    }

    /// The value that is on the screen, be it content or previous.
    public var visible: Value? {
        switch self {
        case .content(let value, _): value
        case .loading(let previous), .offline(let previous, _, _), .failed(_, let previous, _): previous
        case .idle, .empty: nil
        }
    }
}

extension ContentState: Equatable where Value: Equatable {}
extension ContentState: Hashable where Value: Hashable {}

/// What rides along with content.
public enum ContentRefresh: Hashable, Sendable {
    /// Nothing.
    case none
    /// A newer or better one is being loaded; the times are those of `ContentState.loading`.
    case loading
    /// It could not be loaded for want of a network.
    case offline(suspected: Bool, retry: ContentRetry)
    /// It could not be loaded.
    case failed(FailureClass, retry: ContentRetry)
}

/// What can be done about a failure.
public enum ContentRetry: Hashable, Sendable {
    /// Trying again is up to the user.
    case offered
    /// It will be tried by itself when the network is back; the user may try before.
    case automatic
    /// It is being tried, only not for long enough to say that it is loading.
    case underway
}
