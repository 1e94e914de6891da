/// What transfers need to know of the network: a small value, so that they depend on no monitor.
public struct TransferPath: Sendable, Hashable {
    /// The kind of link that carries traffic.
    public enum Link: String, Sendable, Hashable, Codable {
        case wifi, wwan, wired, other
    }

    /// Whether there is a way out.
    public var isOnline: Bool
    /// The costliest kind of link that carries traffic.
    public var link: Link
    /// Whether bytes cost money.
    public var isExpensive: Bool
    /// Whether the person asked to save data.
    public var isConstrained: Bool
    /// Whether the link is another operator's.
    public var isRoaming: Bool
    /// Gateway and source address in any form; only compared. When it changes, connections made before belong to a path that is no
    /// longer the kernel's. Empty while it is not known; learning it is no change.
    public var route: String

    /// Free of cost, over no particular link and route, unless told otherwise.
    public init(
        isOnline: Bool, link: Link = .other, isExpensive: Bool = false, isConstrained: Bool = false,
        isRoaming: Bool = false, route: String = ""
    ) {
        self.isOnline = isOnline
        self.link = link
        self.isExpensive = isExpensive
        self.isConstrained = isConstrained
        self.isRoaming = isRoaming
        self.route = route
    }

    /// Online at no cost: what an engine assumes until it is told.
    public static let unrestricted = TransferPath(isOnline: true)

    package var isCostly: Bool { isExpensive || isConstrained || isRoaming }

    /// Whether gateway or source changed.
    package func isRerouted(from old: TransferPath) -> Bool { !old.route.isEmpty && old.route != route }

    /// Whether some cost is true here that is not there.
    package func isCostlier(than other: TransferPath) -> Bool {
        isExpensive && !other.isExpensive || isConstrained && !other.isConstrained || isRoaming && !other.isRoaming
    }
}

/// What the person and the budget allow on costly paths.
public struct TransferPreferences: Sendable, Hashable {
    /// Originals on expensive paths too. Neither a constrained path nor roaming is covered by it (rules B7 and B8).
    public var alwaysOriginal: Bool
    /// Roaming is treated like any expensive path.
    public var allowsRoaming: Bool
    /// Bytes that may still be spent on costly paths. `nil`: no budget is kept.
    public var remainingBudget: Int64?
    /// What a body of unknown size is reckoned at.
    public var reserve: Int64

    /// Nothing allowed and no budget kept, unless told otherwise.
    public init(
        alwaysOriginal: Bool = false, allowsRoaming: Bool = false, remainingBudget: Int64? = nil,
        reserve: Int64 = 1 << 20
    ) {
        self.alwaysOriginal = alwaysOriginal
        self.allowsRoaming = allowsRoaming
        self.remainingBudget = remainingBudget
        self.reserve = reserve
    }

    /// Whether originals are wanted on this path whatever it costs.
    package func wantsOriginals(on path: TransferPath) -> Bool {
        alwaysOriginal && !path.isConstrained && (!path.isRoaming || allowsRoaming)
    }

    /// Whether the budget covers so many more bytes; `nil` stands for an unknown number.
    package func budgetAllows(_ bytes: Int64?) -> Bool { remainingBudget.map { bytes ?? reserve <= $0 } ?? true }
}
