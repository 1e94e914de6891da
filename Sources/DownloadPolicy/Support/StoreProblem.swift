/// Something wrong with a stored file that nobody's call can be told of by throwing.
public enum StoreProblem: Sendable, Hashable, CustomStringConvertible {
    /// The file was damaged. It was kept under another name, and the default took its place.
    case damaged(path: String, keptAs: String, damage: DocumentDamage)
    /// The file could not be read; the last known value still holds, or where there is none, what holds after damage.
    case unreadable(StoreError)
    /// Changes made by other processes are no longer noticed by themselves.
    case notWatching(StoreError)

    public var description: String {
        switch self {
        case .damaged(let path, let keptAs, let damage):
            "\(path) was damaged (\(damage)); it was kept as \(keptAs) and the default took its place."
        case .unreadable(let error): "\(error) The last known value still holds."
        case .notWatching(let error):
            "\(error) Changes made by other processes are not noticed until the next change here."
        }
    }
}
