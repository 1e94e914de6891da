public import Reachability

/// A finite space of inputs: every combination of the values listed.
///
/// Values are put in order of cost and repeated ones are dropped, so that neighbours in a dimension differ by one step.
/// The cache of every rung always takes all three states, since several laws ask what happens when something arrives.
public struct InputSpace: Sendable {
    /// The sizes of the rungs, one list a variant, all of one length: the number of rungs.
    public let sizes: [[Int64?]]
    /// Budgets, the most generous first; `nil` is none at all.
    public let budgets: [BudgetFacts?]
    /// Throughputs in bytes a second.
    public let throughputs: [Int64?]
    /// Failure memories.
    public let notBefores: [Duration?]
    /// Preferences.
    public let preferences: [DownloadPreferences]
    /// Triggers.
    public let triggers: [Trigger]
    /// Statuses, the cheapest first.
    public let statuses: [PathFacts.Status]
    /// Whether the path is metered, the cheapest first.
    public let metered: [Certainty]
    /// Whether data is to be saved, the cheapest first.
    public let constrained: [Certainty]
    /// Whether the path roams, the cheapest first.
    public let roaming: [Certainty]

    /// The number of rungs.
    public var rungs: Int { sizes[0].count }
    /// The number of inputs.
    public var count: Int { blockCount * blockSize }

    /// A space. Dimensions that are left out take every value they have, or just "unknown" where there is no end of
    /// them.
    ///
    /// - Parameters:
    ///   - sizes: the sizes of the rungs in bytes, the lowest rung first, one list a variant.
    ///   - budgets: the bytes that remain; `nil` is no budget at all.
    ///   - reserve: the bytes assumed for an unknown size, the same for all budgets: otherwise more of one would not be
    ///     worse.
    ///   - throughputs: bytes a second.
    ///   - notBefores: failure memories.
    ///   - preferences: what the user wants.
    ///   - triggers: what asks; by default all there are, each rung named once.
    ///   - statuses: how packets leave.
    ///   - metered: whether the path is metered.
    ///   - constrained: whether data is to be saved.
    ///   - roaming: whether the path roams.
    /// - Throws: ``InputSpaceError`` if a dimension is empty, the lists of sizes differ in length, or a ladder has more
    ///   than 16 rungs (the laws keep one bit a rung for each input).
    public init(
        sizes: [[Int64?]],
        budgets: [Int64?] = [nil],
        reserve: Int64 = 500_000,
        throughputs: [Int64?] = [nil],
        notBefores: [Duration?] = [nil],
        preferences: [DownloadPreferences] = InputSpace.allPreferences,
        triggers: [Trigger]? = nil,
        statuses: [PathFacts.Status] = PathFacts.Status.allCases,
        metered: [Certainty] = Certainty.allCases,
        constrained: [Certainty] = Certainty.allCases,
        roaming: [Certainty] = Certainty.allCases
    ) throws(InputSpaceError) {
        guard let rungs = sizes.first?.count, rungs > 0 else { throw .empty("sizes") }
        guard rungs <= 16 else { throw .tooManyRungs(rungs) }
        guard sizes.allSatisfy({ $0.count == rungs }) else { throw .unequalSizes }
        self.sizes = sizes.unique()
        self.budgets = budgets.unique().sorted { ($0 ?? .max) > ($1 ?? .max) }.map { remaining in
            remaining.map { BudgetFacts(remaining: $0, reserve: reserve) }
        }
        self.throughputs = throughputs.unique()
        self.notBefores = notBefores.unique()
        self.preferences = preferences.unique()
        let named = (0..<rungs).map { Trigger.user(naming: Quality(rung: UInt8(truncatingIfNeeded: $0))) }
        self.triggers = (triggers ?? [.prefetch, .visible, .user] + named).unique()
        self.statuses = statuses.unique().sorted { $0.place < $1.place }
        self.metered = metered.unique().sorted { $0.rawValue < $1.rawValue }
        self.constrained = constrained.unique().sorted { $0.rawValue < $1.rawValue }
        self.roaming = roaming.unique().sorted { $0.rawValue < $1.rawValue }
        for (name, isEmpty) in [
            ("budgets", self.budgets.isEmpty), ("throughputs", self.throughputs.isEmpty),
            ("notBefores", self.notBefores.isEmpty), ("preferences", self.preferences.isEmpty),
            ("triggers", self.triggers.isEmpty), ("statuses", self.statuses.isEmpty),
            ("metered", self.metered.isEmpty), ("constrained", self.constrained.isEmpty),
            ("roaming", self.roaming.isEmpty),
        ] where isEmpty {
            throw .empty(name)
        }
    }

    /// All preferences there are.
    public static let allPreferences: [DownloadPreferences] = DownloadPreferences.Mode.allCases.flatMap { mode in
        [false, true].map { DownloadPreferences(mode, allowsRoaming: $0) }
    }

    /// The two-rung ladder: 1,036,800 inputs. Sizes known and unknown; no budget, ample, enough for either rung but not
    /// for both, enough for the lowest, none left; a throughput at which the original takes more than 10 s, and none
    /// measured.
    public static let standard: InputSpace = {
        do {
            return try InputSpace(
                sizes: [[20_000, 2_000_000], [nil, nil]],
                budgets: [nil, 50_000_000, 2_010_000, 100_000, 0],
                throughputs: [nil, 50_000],
                notBefores: [nil, .seconds(60)],
                constrained: [.no, .yes], roaming: [.no, .yes])
        } catch {
            // The lists above are literals that satisfy every condition the initialiser checks.
            fatalError("\(error)")
        }
    }()

    // MARK: Places in the space

    // An input's place is a number in mixed radix: sizes, the cache of each rung, budget, throughput, failure memory,
    // preferences, trigger, status, metered, constrained, roaming, the first one the most significant. Sizes and cache
    // make a block: its inputs share a ladder.

    static let cacheStates = CacheState.allCases

    var cacheCombinations: Int { (0..<rungs).reduce(1) { product, _ in product * Self.cacheStates.count } }
    var blockCount: Int { sizes.count * cacheCombinations }
    var blockSize: Int {
        budgets.count * throughputs.count * notBefores.count * preferences.count * triggers.count * pathCount
    }
    var pathCount: Int { statuses.count * metered.count * constrained.count * roaming.count }

    /// The distance between two inputs that differ by one state of a rung's cache.
    func cacheStride(of rung: Int) -> Int {
        (0..<rung).reduce(blockSize) { product, _ in product * Self.cacheStates.count }
    }

    /// The ladder of a block.
    func ladder(ofBlock block: Int) -> Ladder {
        let sizes = sizes[block / cacheCombinations]
        var digits = block % cacheCombinations
        var ladder = Ladder(Rung())
        for (index, size) in sizes.enumerated() {
            let rung = Rung(Self.cacheStates[digits % Self.cacheStates.count], size: size)
            digits /= Self.cacheStates.count
            if index == 0 { ladder = Ladder(rung) } else { ladder.append(rung) }
        }
        return ladder
    }

    /// The input at a place.
    func input(at place: Int) -> PolicyInput {
        var rest = place % blockSize
        func digit<Value>(_ values: [Value]) -> Value {
            let value = values[rest % values.count]
            rest /= values.count
            return value
        }
        let roaming = digit(roaming)
        let constrained = digit(constrained)
        let metered = digit(metered)
        let status = digit(statuses)
        let trigger = digit(triggers)
        let preferences = digit(preferences)
        let notBefore = digit(notBefores)
        let throughput = digit(throughputs)
        let budget = digit(budgets)
        return PolicyInput(
            path: PathFacts(status, metered: metered, constrained: constrained, roaming: roaming),
            preferences: preferences, trigger: trigger, ladder: ladder(ofBlock: place / blockSize),
            budget: budget, throughput: throughput, notBefore: notBefore)
    }
}

/// Why a space cannot be built.
public enum InputSpaceError: Error, Sendable, Hashable, CustomStringConvertible {
    /// A dimension has no value, so that there is no input at all.
    case empty(String)
    /// The lists of sizes belong to ladders of different lengths.
    case unequalSizes
    /// The ladder is too long.
    case tooManyRungs(Int)

    public var description: String {
        switch self {
        case .empty(let dimension): "The space has no inputs: give \(dimension) at least one value."
        case .unequalSizes: "All lists of sizes need the same length: one space has ladders of one length."
        case .tooManyRungs(let count): "A space has ladders of at most 16 rungs, not \(count)."
        }
    }
}

extension PathFacts.Status {
    /// From the cheapest to the costliest, then those over which nothing flows.
    fileprivate var place: Int { isOnline ? costRank : self == .offline ? 10 : 11 }
}

extension Array where Element: Hashable {
    fileprivate func unique() -> [Element] {
        var seen: Set<Element> = []
        return filter { seen.insert($0).inserted }
    }
}
