/// A dictionary of byte arrays that keeps the most recently used ones within a budget. Every operation takes the same
/// time however many there are.
struct ByteBoundedLRU<Key: Hashable & Sendable, Label: Equatable & Sendable>: Sendable {
    private struct Node {
        let key: Key
        let label: Label
        let bytes: [UInt8]
        var older: Int?
        var newer: Int?
    }

    let budget: Int
    private(set) var total = 0
    private var nodes: [Node?] = []
    private var free: [Int] = []
    private var places: [Key: Int] = [:]
    private var newest: Int?
    private var oldest: Int?

    init(budget: Int) {
        self.budget = budget
    }

    var count: Int { places.count }

    /// What is kept for the key, now the most recently used.
    mutating func take(_ key: Key) -> (label: Label, bytes: [UInt8])? {
        guard let place = places[key], let node = nodes[place] else { return nil }
        unlink(place)
        link(place)
        return (node.label, node.bytes)
    }

    /// Keeps it in place of what the key had. How many others had to go.
    mutating func put(_ key: Key, _ label: Label, _ bytes: [UInt8]) -> Int {
        remove(key)
        let place = free.popLast() ?? nodes.count
        if place == nodes.count { nodes.append(nil) }
        nodes[place] = Node(key: key, label: label, bytes: bytes)
        places[key] = place
        total += bytes.count
        link(place)
        var evicted = 0
        while total > budget, let oldest, let victim = nodes[oldest] {
            remove(victim.key)
            evicted += 1
        }
        return evicted
    }

    mutating func remove(_ key: Key) {
        guard let place = places.removeValue(forKey: key), let node = nodes[place] else { return }
        unlink(place)
        total -= node.bytes.count
        nodes[place] = nil
        free.append(place)
    }

    mutating func removeAll(where matches: (Key) -> Bool = { _ in true }) {
        for key in places.keys.filter(matches) { remove(key) }
    }

    private mutating func link(_ place: Int) {
        nodes[place]?.older = newest
        nodes[place]?.newer = nil
        if let newest { nodes[newest]?.newer = place } else { oldest = place }
        newest = place
    }

    private mutating func unlink(_ place: Int) {
        guard let node = nodes[place] else { return }
        if let older = node.older { nodes[older]?.newer = node.newer } else { oldest = node.newer }
        if let newer = node.newer { nodes[newer]?.older = node.older } else { newest = node.older }
    }
}
