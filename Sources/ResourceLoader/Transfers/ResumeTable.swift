/// What is kept of an earlier attempt: the first `offset` bytes of a body.
public struct PartialBody: Sendable, Hashable {
    /// How many bytes there are, counted from the first.
    public var offset: Int64
    /// The whole body's length, when the server told it.
    public var total: Int64?
    /// What the bytes belong to; without it they can't be resumed.
    public var validator: BodyValidator?

    /// The first `offset` bytes of a body of that total and validator.
    public init(offset: Int64, total: Int64?, validator: BodyValidator?) {
        self.offset = offset
        self.total = total
        self.validator = validator
    }
}

/// The table of answers to a request for the rest of a body.
package enum ResumeAnswer: Sendable, Hashable {
    /// Write the body from this offset on: where we stand (append), or earlier (overwrite).
    case take(from: Int64)
    /// Truncate and take the whole body.
    case takeWhole
    /// We have it all: verify and finish.
    case finish
    /// Discard and start over, once.
    case startOver
    /// It answers no question of the table; its status is classified.
    case notInTable

    /// - Parameter part: what was asked to be completed; `nil` when the whole body was asked for.
    package init(part: PartialBody?, head: ResponseHead) {
        switch head.status {
        case 200, 201, 203, 204: self = .takeWhole
        case 206: self = Self.partial(part, head)
        case 304 where part != nil, 412 where part != nil: self = .startOver
        case 416: self = Self.unsatisfiable(part, head)
        default: self = .notInTable
        }
    }

    private static func partial(_ part: PartialBody?, _ head: ResponseHead) -> ResumeAnswer {
        guard let part, let range = head.contentRange, let bytes = range.bytes, bytes.lowerBound <= part.offset,
            part.total == nil || range.total == part.total, head.validator == part.validator, !head.isEncoded,
            head.mediaType != "multipart/byteranges",
            head.contentLength ?? Int64(bytes.count) == Int64(bytes.count)
        else { return .startOver }
        return .take(from: bytes.lowerBound)
    }

    private static func unsatisfiable(_ part: PartialBody?, _ head: ResponseHead) -> ResumeAnswer {
        guard let part else { return .notInTable }
        // A tag in a 416 is that of the present body; without one, If-Range has vouched for it.
        let isOurs = head.validator == nil || head.validator == part.validator
        let total = head.contentRange?.total
        return isOurs && total == part.offset && part.total ?? part.offset == part.offset ? .finish : .startOver
    }
}
