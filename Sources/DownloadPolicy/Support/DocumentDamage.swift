/// What is wrong with a stored file.
public struct DocumentDamage: Error, Sendable, Hashable, CustomStringConvertible {
    /// The line, counted from 1, where one can be named.
    public var line: Int?
    /// What is wrong with it.
    public var what: String

    public var description: String { line.map { "line \($0): \(what)" } ?? what }
}
