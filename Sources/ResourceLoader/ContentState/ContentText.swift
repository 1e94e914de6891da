/// Renders a `ContentState` as a line of text for a terminal.
///
/// Whatever a value's description holds, the line has no line breaks, control characters or escape sequences of its
/// own: names come from servers, and a terminal obeys them.
public struct ContentText: Hashable, Sendable {
    /// The most columns a line takes; one column a character is assumed.
    public let width: Int

    /// Lines of at most that many columns; at least 8.
    public init(width: Int = 80) {
        self.width = max(8, width)
    }

    /// The line for a state. `describe` names a value.
    public func line<Value>(_ state: ContentState<Value>, describe: (Value) -> String) -> String {
        switch state {
        case .idle: fitted(nil, "")
        case .loading(let previous): fitted(previous.map(describe), "[loading]")
        case .content(let value, let refresh): fitted(describe(value), note(refresh))
        case .empty: fitted(nil, "[no data]")
        case .offline(let previous, let suspected, let retry):
            fitted(previous.map(describe), "[\(offline(suspected)), \(words(retry))]")
        case .failed(let failure, let previous, let retry):
            fitted(previous.map(describe), "[\(words(failure)), \(words(retry))]")
        }
    }

    private func note(_ refresh: ContentRefresh) -> String {
        switch refresh {
        case .none: ""
        case .loading: "[refreshing]"
        case .offline(let suspected, let retry): "[not refreshed: \(offline(suspected)), \(words(retry))]"
        case .failed(let failure, let retry): "[not refreshed: \(words(failure)), \(words(retry))]"
        }
    }

    private func offline(_ suspected: Bool) -> String {
        suspected ? "network seems down" : "no network"
    }

    private func words(_ retry: ContentRetry) -> String {
        switch retry {
        case .offered: "r to try again"
        case .automatic: "waiting, r to try now"
        case .underway: "trying again"
        }
    }

    private func words(_ failure: FailureClass) -> String {
        switch failure {
        case .offline, .offlineSuspected: offline(failure == .offlineSuspected)
        case .hostNotFound: "server not found"
        case .refused: "server refuses connections"
        case .timeout: "took too long"
        case .interrupted: "interrupted"
        case .insecure: "connection is not secure"
        case .captivePortal: "network wants a sign-in"
        case .unauthorized: "not allowed"
        case .missing: "not there any more"
        case .server: "server has a problem"
        case .tooLarge: "too large"
        case .corrupt: "arrived damaged"
        case .storage: "no room to store it"
        case .cancelled: "cancelled"
        case .rejected: "server did not understand"
        }
    }

    /// The note is kept whole as long as it fits; what is named gives way.
    private func fitted(_ name: String?, _ note: String) -> String {
        let name = name.map(clean) ?? ""
        guard !name.isEmpty else { return String(note.prefix(width)) }
        guard !note.isEmpty else { return cut(name, to: width) }
        let room = width - note.count - 1
        return room < 4 ? String(note.prefix(width)) : "\(cut(name, to: room)) \(note)"
    }

    private func cut(_ text: String, to width: Int) -> String {
        text.count <= width ? text : text.prefix(width - 3) + "..."
    }

    private func clean(_ text: String) -> String {
        String(
            String.UnicodeScalarView(
                text.unicodeScalars.map { scalar in
                    switch scalar.properties.generalCategory {
                    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate: " "
                    default: scalar
                    }
                }))
    }
}
