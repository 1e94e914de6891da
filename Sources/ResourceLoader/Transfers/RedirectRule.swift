/// What a redirect leads to. At most 10; no secrets to another origin; never from https to http.
package enum RedirectRule {
    /// The request that follows a redirect.
    package struct Hop: Sendable, Hashable {
        package var address: WebAddress
        package var headers: [TransferHeader]
        package var body: RequestBody?
        package var count: Int
        /// Whether a host other than the first one was named on the way.
        package var hasLeftHost: Bool

        package init(
            address: WebAddress, headers: [TransferHeader], body: RequestBody?, count: Int = 0,
            hasLeftHost: Bool = false
        ) {
            self.address = address
            self.headers = headers
            self.body = body
            self.count = count
            self.hasLeftHost = hasLeftHost
        }

        /// Whether it asks if a copy of the caller's still holds.
        package var isConditional: Bool {
            headers.contains { ["if-none-match", "if-modified-since"].contains($0.name.lowercased()) }
        }
    }

    package enum Refusal: Error, Hashable {
        case tooMany
        case insecure
        case badLocation
        /// A 307 or 308 would have sent the parameters of a POST to another origin.
        case wouldLeakBody
    }

    package static let limit = 10

    /// Headers that are about content, not about who asks; everything else is taken for a secret, because a program may name its
    /// credentials as it likes.
    private static let harmless: Set<String> = [
        "accept", "accept-language", "user-agent", "content-type", "cache-control", "pragma",
    ]

    /// Whether an answer with this status redirects a request when it names a location (RFC 9110, 15.4).
    package static func isRedirect(_ status: Int) -> Bool { [301, 302, 303, 307, 308].contains(status) }

    package static func follow(_ hop: Hop, status: Int, location: String) throws(Refusal) -> Hop {
        guard hop.count < limit else { throw .tooMany }
        guard let target = WebAddress(location, relativeTo: hop.address), target.isWeb else { throw .badLocation }
        guard !(hop.address.scheme == "https" && target.scheme == "http") else { throw .insecure }
        var next = hop
        next.address = target
        next.count += 1
        if target.host != hop.address.host { next.hasLeftHost = true }
        // 301, 302 and 303 turn a POST into a GET, as every browser does (RFC 9110, 15.4.2 to 15.4.4).
        if status != 307 && status != 308 { next.body = nil }
        if !target.hasSameOrigin(as: hop.address) {
            guard next.body == nil else { throw .wouldLeakBody }
            next.headers = hop.headers.filter { harmless.contains($0.name.lowercased()) }
        }
        return next
    }
}
