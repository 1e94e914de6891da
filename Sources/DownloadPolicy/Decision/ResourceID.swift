/// The name of a resource, by which its cache, failures and decisions are kept apart.
public struct ResourceID: Sendable, Hashable, Codable, ExpressibleByStringLiteral, CustomStringConvertible {
    /// The name; what it means is the caller's business.
    public let name: String

    /// A resource of that name.
    public init(_ name: String) {
        self.name = name
    }

    /// A resource named by a literal.
    public init(stringLiteral name: String) {
        self.name = name
    }

    public var description: String { name }
}
