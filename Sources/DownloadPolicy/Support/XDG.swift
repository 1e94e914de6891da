import Glibc

/// Places for files after the XDG Base Directory Specification.
enum XDG: Sendable {
    /// Settings: `$XDG_CONFIG_HOME`, or `~/.config`.
    case config
    /// What should survive but is no setting: `$XDG_STATE_HOME`, or `~/.local/state`.
    case state

    private var variable: String {
        switch self {
        case .config: "XDG_CONFIG_HOME"
        case .state: "XDG_STATE_HOME"
        }
    }

    private var fallback: String {
        switch self {
        case .config: ".config"
        case .state: ".local/state"
        }
    }

    /// The path of an application's file.
    ///
    /// As the specification says, a variable that is unset, empty or a relative path is ignored. A home folder that the
    /// environment does not name is looked up in the user database.
    func path(
        application: String, file: String, environment: (String) -> String? = XDG.environment,
        home: () -> String? = XDG.homeOfUser
    ) throws(StoreError) -> String {
        guard !application.isEmpty, application != ".", application != "..",
            !application.utf8.contains(UInt8(ascii: "/")),
            !application.utf8.contains(0)
        else { throw .badApplicationName(application) }
        func absolute(_ path: String?) -> String? {
            guard let path, path.hasPrefix("/") else { return nil }
            return path
        }
        if let directory = absolute(environment(variable)) { return "\(directory)/\(application)/\(file)" }
        guard let home = absolute(environment("HOME")) ?? absolute(home()) else { throw .noHome }
        return "\(home)/\(fallback)/\(application)/\(file)"
    }

    static func environment(_ name: String) -> String? {
        getenv(name).map { String(cString: $0) }
    }

    static func homeOfUser() -> String? {
        var entry = passwd()
        var found: UnsafeMutablePointer<passwd>?
        return withUnsafeTemporaryAllocation(of: CChar.self, capacity: 16_384) { buffer in
            guard let start = buffer.baseAddress, getpwuid_r(getuid(), &entry, start, buffer.count, &found) == 0,
                found != nil, let home = entry.pw_dir
            else { return nil }
            return String(cString: home)
        }
    }
}
