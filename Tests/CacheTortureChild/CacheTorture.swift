import ResourceLoader

/// Random work on a cache that other processes work on as well, and that is killed at any moment.
struct CacheTorture {
    static let variants: [CacheVariant] = ["thumbnail", "original"]
    static let keys = 0..<30

    /// Small, so that nearly every commit evicts.
    static func configuration(_ durability: CacheDurability = .process) -> CacheConfiguration {
        var configuration = CacheConfiguration()
        configuration.byteBudget = 40 * 4096
        configuration.partsByteBudget = 20 * 4096
        configuration.durability = durability
        configuration.patience = .seconds(60)
        return configuration
    }

    /// What must never happen.
    struct Wrong: Error {
        let what: String
    }

    static func key(_ number: Int) -> CacheKey { CacheKey("key/\(number)\0") }

    static func verify(_ body: CachedBody) throws {
        let bytes = try body.bytes()
        guard let found = TortureBody(bytes), key(found.key) == body.entry.key,
            found.variant == body.entry.variant.name
        else {
            throw Wrong(
                what: "\(body.entry.variant) of \(body.entry.key.bytes): \(bytes.count) bytes, not what was committed")
        }
        try body.verify()
    }

    let cache: DiskCache
    var random: SystemRandomNumberGenerator = SystemRandomNumberGenerator()

    /// One random operation.
    mutating func step() throws {
        let number = Int.random(in: Self.keys, using: &random)
        let key = Self.key(number)
        let variant = Self.variants.randomElement(using: &random) ?? .original
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<10: try commit(try cache.scratchPart(), number, variant)
        case 10..<14: try resume(number, variant)
        case 14..<18:
            if let body = try cache.body(of: key, variant: variant) { try Self.verify(body) }
        case 18: try cache.remove(key, variant: variant)
        default:
            if Int.random(in: 0..<4, using: &random) == 0 { try cache.removeAll() }
        }
    }

    private mutating func commit(_ part: ResumablePart, _ number: Int, _ variant: CacheVariant) throws {
        let body = TortureBody(
            key: number, variant: variant.name, size: .random(in: 40...20_000, using: &random),
            fill: .random(in: 0...255, using: &random))
        let bytes = body.bytes
        try part.truncate(to: 0)
        let cut = Int.random(in: 0...bytes.count, using: &random)
        try part.append(Array(bytes[..<cut]))
        try part.append(Array(bytes[cut...]))
        let digest = bytes.count < 200 ? BodyDigest(of: bytes) : nil
        do {
            _ = try cache.commit(
                part, as: Self.key(number), variant: variant,
                expecting: BodyExpectation(length: Int64(bytes.count), digest: digest))
        } catch .cleared {
            // Another process has cleared the cache meanwhile.
        }
    }

    private mutating func resume(_ number: Int, _ variant: CacheVariant) throws {
        let part: ResumablePart
        do {
            part = try cache.claimPart(for: Array("request \(number)".utf8))
        } catch .partInUse {
            return
        }
        if Bool.random(using: &random) { return try commit(part, number, variant) }
        try part.append(Array(repeating: 1, count: .random(in: 1...9000, using: &random)))
        if Bool.random(using: &random) { try part.checkpoint(PartNote(validator: "\"v\"", total: nil)) }
        if Bool.random(using: &random) { try part.release() }
    }
}
