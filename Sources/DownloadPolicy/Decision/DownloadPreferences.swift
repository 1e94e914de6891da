/// What the user wants of downloads.
///
/// The four qualities exclude each other, so they are one setting; the familiar switch "always download the original"
/// is ``alwaysDownloadOriginal``.
public struct DownloadPreferences: Sendable, Hashable, Codable {
    /// How much the user wants to spend.
    public enum Mode: String, Sendable, Hashable, Codable, CaseIterable {
        /// The original where it costs nothing, the lowest rung where it does.
        case automatic
        /// The original on metered networks as well. Data saver and roaming still hold it back.
        case alwaysOriginal
        /// Never more than the lowest rung, except on a tap that asks for another one.
        case lowest
        /// Nothing from the network at all, not even on a tap.
        case cachedOnly
    }

    /// How much the user wants to spend.
    public var mode: Mode
    /// Whether roaming costs are accepted: the path is then treated as at home, except that nothing is prefetched.
    public var allowsRoaming: Bool

    /// Preferences; by default those of someone who has set nothing.
    public init(_ mode: Mode = .automatic, allowsRoaming: Bool = false) {
        self.mode = mode
        self.allowsRoaming = allowsRoaming
    }

    /// The familiar switch. Turning it on replaces any other mode; turning it off goes back to ``Mode/automatic`` if it
    /// was on, and changes nothing otherwise.
    public var alwaysDownloadOriginal: Bool {
        get { mode == .alwaysOriginal }
        set {
            if newValue {
                mode = .alwaysOriginal
            } else if mode == .alwaysOriginal {
                mode = .automatic
            }
        }
    }
}
