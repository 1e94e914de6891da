/// What a response's Cache-Control header says about keeping it (RFC 9111, section 5.2.2), as far as a private cache
/// needs it.
///
/// Unknown directives are ignored, as the RFC asks. A directive's name is case-insensitive; its argument may be quoted.
public struct CacheControl: Hashable, Sendable {
    /// `max-age`: fresh for so long from the moment the origin made the response. A value that is no number counts as
    /// zero (section 4.2.1: invalid freshness information is stale); one too large to tell counts as 2^31 seconds
    /// (section 1.2.2).
    public var maxAge: Duration?

    /// `no-store`: it must not be kept. The cache does not enforce it; whoever commits must ask.
    public var forbidsStoring = false

    /// `no-cache` without field names: it may be kept but must be revalidated before each use.
    public var requiresRevalidation = false

    /// Reads the value of a Cache-Control header; several header lines are joined by commas first.
    public init(_ headerValue: String) {
        for directive in Self.directives(of: headerValue) {
            switch directive.name {
            case "max-age" where maxAge == nil: maxAge = Self.seconds(directive.argument ?? "")
            case "no-store": forbidsStoring = true
            case "no-cache" where directive.argument == nil: requiresRevalidation = true
            default: break
            }
        }
    }

    /// The lifetime to store a response with: `max-age` less the `Age` it arrived with (RFC 9111, section 4.2.3), zero
    /// where it has to be revalidated, `nil` where nothing was said.
    public func lifetime(age headerValue: String? = nil) -> Duration? {
        if forbidsStoring || requiresRevalidation { return .zero }
        guard let maxAge else { return nil }
        let age = headerValue.map { Self.seconds($0) } ?? .zero
        return max(.zero, maxAge - age)
    }

    private static func seconds(_ text: some StringProtocol) -> Duration {
        let digits = text.utf8.drop { $0 == 0x20 || $0 == 0x09 }
        var total: Int64 = 0
        guard !digits.isEmpty else { return .zero }
        for digit in digits {
            if digit == 0x20 || digit == 0x09 { break }
            guard (0x30...0x39).contains(digit) else { return .zero }
            total = min(total * 10 + Int64(digit - 0x30), 1 << 31)
        }
        return .seconds(total)
    }

    /// Splits at the commas that are outside quotes.
    private static func directives(of text: String) -> [(name: String, argument: String?)] {
        var pieces: [[UInt8]] = [[]]
        var quoted = false
        var escaped = false
        for byte in text.utf8 {
            if escaped {
                escaped = false
                pieces[pieces.count - 1].append(byte)
                continue
            }
            switch byte {
            case UInt8(ascii: "\\") where quoted: escaped = true
            case UInt8(ascii: "\""): quoted.toggle()
            case UInt8(ascii: ",") where !quoted: pieces.append([])
            default: pieces[pieces.count - 1].append(byte)
            }
        }
        return pieces.map { piece in
            let halves = piece.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            return (trimmed(halves[0]).lowercased(), halves.count == 2 ? trimmed(halves[1]) : nil)
        }
    }

    private static func trimmed(_ bytes: ArraySlice<UInt8>) -> String {
        let isSpace: (UInt8) -> Bool = { $0 == 0x20 || $0 == 0x09 }
        let front = bytes.drop(while: isSpace)
        let end = front.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? front.startIndex
        return String(decoding: front[front.startIndex..<end], as: UTF8.self)
    }
}
