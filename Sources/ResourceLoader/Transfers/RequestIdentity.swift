/// What makes two requests the same: method, URL (or the caller's stable id in its place), canonical body and varying headers.
///
/// Each part is preceded by its length, so that no two different requests can spell the same identity. Two POSTs to one URL with
/// different parameters therefore share neither a flight nor a part file.
public struct RequestIdentity: Sendable, Hashable {
    private let bytes: [UInt8]

    /// - Parameter headers: the headers that vary the answer; names are compared without case, the order does not matter.
    init(method: String, url: String, stableID: String?, body: RequestBody?, headers: [TransferHeader]) {
        var bytes: [UInt8] = []
        Self.append(Array(method.utf8), to: &bytes)
        // A stable id is marked as one: it can spell a URL, and is then still not that URL.
        Self.append([stableID == nil ? 0 : 1], to: &bytes)
        Self.append(Array((stableID ?? url).utf8), to: &bytes)
        Self.append(Array((body?.contentType ?? "").utf8), to: &bytes)
        Self.append(body?.canonicalBytes ?? [], to: &bytes)
        let varying = headers.map { ($0.name.lowercased(), $0.value) }.sorted { $0 < $1 }
        for (name, value) in varying {
            Self.append(Array(name.utf8), to: &bytes)
            Self.append(Array(value.utf8), to: &bytes)
        }
        self.bytes = bytes
    }

    private static func append(_ part: [UInt8], to bytes: inout [UInt8]) {
        withUnsafeBytes(of: UInt64(part.count).bigEndian) { bytes.append(contentsOf: $0) }
        bytes += part
    }

    /// The SHA-256 of the identity in hexadecimal: safe as a file's name whatever the request's parts are, and without secrets.
    public var digest: String { SHA256.digest(of: bytes).hexadecimal }
}

extension RequestIdentity: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    public var description: String { "RequestIdentity(\(digest.prefix(12)))" }
    public var debugDescription: String { description }
    /// Without the bytes, which hold header values.
    public var customMirror: Mirror { Mirror(self, children: ["digest": digest]) }
}
