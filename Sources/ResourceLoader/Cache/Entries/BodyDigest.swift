/// The SHA-256 of a body: thirty-two bytes.
public struct BodyDigest: Hashable, Sendable, CustomStringConvertible {
    /// The bytes, always 32.
    public let bytes: [UInt8]

    /// `nil` unless there are exactly 32.
    public init?(_ bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
        guard self.bytes.count == 32 else { return nil }
    }

    /// From 64 hexadecimal digits of either case; `nil` otherwise.
    public init?(hexadecimal text: String) {
        let digits = text.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue }
        guard digits.count == 64, text.utf8.count == 64 else { return nil }
        bytes = stride(from: 0, to: 64, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }

    /// The digest of a body that is at hand.
    public init(of body: [UInt8]) {
        bytes = SHA256.digest(of: body)
    }

    init(finishing hash: SHA256) {
        var hash = hash
        bytes = hash.finish()
    }

    /// In lower-case hexadecimal.
    public var description: String { bytes.hexadecimal }
}
