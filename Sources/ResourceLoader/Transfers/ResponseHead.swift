/// What tells one version of a body from another, byte for byte.
public enum BodyValidator: Sendable, Hashable {
    /// A strong entity tag, with its quotes (RFC 9110, 8.8.3).
    case etag(String)
    /// A Last-Modified date that is strong, because the server's own clock stood a minute or more beyond it (RFC 9110, 8.8.2.2).
    case lastModified(String)

    /// The value of If-Range.
    public var text: String {
        switch self {
        case .etag(let tag): tag
        case .lastModified(let date): date
        }
    }
}

/// A status and its headers.
public struct ResponseHead: Sendable, Hashable {
    /// The status code.
    public internal(set) var status: Int
    /// In the order they came, names as the server wrote them.
    public internal(set) var headers: [TransferHeader]

    package init(status: Int = 0, headers: [TransferHeader] = []) {
        self.status = status
        self.headers = headers
    }

    /// The first header of that name, compared without case.
    public subscript(name: String) -> String? {
        let wanted = name.lowercased()
        return headers.first { $0.name.lowercased() == wanted }?.value
    }

    /// The media type in lower case, without parameters.
    public var mediaType: String? {
        self["content-type"].map { value in
            String(value.prefix { $0 != ";" && $0 != " " && $0 != "\t" }).lowercased()
        }
    }

    /// The strong validator, or `nil` when the answer has none.
    public var validator: BodyValidator? {
        if let tag = self["etag"] {
            return tag.hasPrefix("\"") && tag.hasSuffix("\"") && tag.utf8.count >= 2 ? .etag(tag) : nil
        }
        guard let modified = self["last-modified"], let date = self["date"],
            let modifiedAt = HTTPDate.seconds(modified), let answeredAt = HTTPDate.seconds(date),
            answeredAt - modifiedAt >= 60
        else { return nil }
        return .lastModified(modified)
    }

    /// Content-Length, when it is a number.
    package var contentLength: Int64? { self["content-length"].flatMap { Int64(digits: $0) } }

    /// Whether Content-Length is absent, or says one number; libcurl reads what it can of others and guesses.
    package var hasUsableLength: Bool {
        let lengths = Set(headers.filter { $0.name.lowercased() == "content-length" }.map(\.value))
        return lengths.isEmpty || lengths.count == 1 && contentLength != nil
    }

    /// Whether the body is coded other than as it is stored.
    package var isEncoded: Bool {
        guard let coding = self["content-encoding"]?.lowercased() else { return false }
        return coding != "identity" && !coding.isEmpty
    }

    package var isHTML: Bool { mediaType == "text/html" || mediaType == "application/xhtml+xml" }

    package var contentRange: ContentRange? { self["content-range"].flatMap(ContentRange.init) }
}

extension ResponseHead: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// Without values: Set-Cookie is a credential.
    public var description: String { "\(status) (\(headers.count) headers)" }
    public var debugDescription: String { description }
    public var customMirror: Mirror { Mirror(self, children: ["status": status, "headers": headers.map(\.name)]) }
}

/// Content-Range in bytes (RFC 9110, 14.4).
package struct ContentRange: Sendable, Hashable {
    /// First and last byte; `nil` in `bytes */N`, which is what a 416 says.
    package var bytes: ClosedRange<Int64>?
    /// The whole body's length; `nil` for `*`.
    package var total: Int64?

    package init(bytes: ClosedRange<Int64>?, total: Int64?) {
        self.bytes = bytes
        self.total = total
    }

    /// `nil` when the text is no byte range, or one that contradicts itself.
    package init?(_ text: String) {
        let words = text.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let halves = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard halves.count == 2 else { return nil }
        if halves[1] != "*" {
            guard let total = Int64(digits: String(halves[1])) else { return nil }
            self.total = total
        }
        if halves[0] == "*" {
            guard total != nil else { return nil }
            return
        }
        let ends = halves[0].split(separator: "-", omittingEmptySubsequences: false).map { Int64(digits: String($0)) }
        guard ends.count == 2, let first = ends[0], let last = ends[1], first <= last, last < total ?? .max else {
            return nil
        }
        bytes = first...last
    }
}

extension Int64 {
    /// Digits only: no sign, no spaces, which `Int64(_:)` and servers that lie would allow.
    init?(digits text: String) {
        guard !text.isEmpty, text.utf8.allSatisfy({ $0 >= UInt8(ascii: "0") && $0 <= UInt8(ascii: "9") }) else {
            return nil
        }
        self.init(text)
    }
}
