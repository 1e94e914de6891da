import CCurl

/// A URL as libcurl reads it, so that what is checked here is what is connected to there.
package struct WebAddress: Sendable, Hashable {
    package let text: String
    package let scheme: String
    package let host: String
    package let port: Int

    /// `nil` when libcurl cannot parse it as an absolute URL with a host.
    package init?(_ text: String) {
        self.init(text, relativeTo: nil)
    }

    /// Resolves a reference against `base` (RFC 3986, 5.2).
    package init?(_ reference: String, relativeTo base: WebAddress?) {
        guard !reference.utf8.contains(0), let handle = curl_url() else { return nil }
        defer { curl_url_cleanup(handle) }
        let flags = UInt32(CURLU_NON_SUPPORT_SCHEME)
        if let base, curl_url_set(handle, CURLUPART_URL, base.text, flags) != CURLUE_OK { return nil }
        guard curl_url_set(handle, CURLUPART_URL, reference, flags) == CURLUE_OK,
            let text = Self.part(CURLUPART_URL, of: handle),
            let scheme = Self.part(CURLUPART_SCHEME, of: handle)?.lowercased()
        else { return nil }
        let host = Self.part(CURLUPART_HOST, of: handle)?.lowercased() ?? ""
        // Other schemes need no host; http and https do.
        guard !host.isEmpty || (scheme != "http" && scheme != "https") else { return nil }
        let port = Self.part(CURLUPART_PORT, of: handle, flags: UInt32(CURLU_DEFAULT_PORT)).flatMap { Int($0) }
        self.text = text
        self.scheme = scheme
        self.host = host
        self.port = port ?? 0
    }

    package var isWeb: Bool { scheme == "http" || scheme == "https" }

    /// Whether secrets meant for one may be sent to the other: the same scheme, host and port (RFC 6454).
    package func hasSameOrigin(as other: WebAddress) -> Bool {
        scheme == other.scheme && host == other.host && port == other.port
    }

    /// Scheme, host, port and path: without user name, password, query and fragment, which hold credentials.
    package static func redact(_ url: String) -> String {
        guard let address = WebAddress(url), let handle = curl_url() else { return "(no URL)" }
        defer { curl_url_cleanup(handle) }
        guard curl_url_set(handle, CURLUPART_URL, address.text, UInt32(CURLU_NON_SUPPORT_SCHEME)) == CURLUE_OK
        else { return "(no URL)" }
        let hadQuery = part(CURLUPART_QUERY, of: handle) != nil
        for secret in [CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_OPTIONS, CURLUPART_QUERY, CURLUPART_FRAGMENT] {
            curl_url_set(handle, secret, nil, 0)
        }
        return (part(CURLUPART_URL, of: handle) ?? "(no URL)") + (hadQuery ? "?…" : "")
    }

    private static func part(_ part: CURLUPart, of handle: OpaquePointer, flags: UInt32 = 0) -> String? {
        var text: UnsafeMutablePointer<CChar>?
        guard curl_url_get(handle, part, &text, flags) == CURLUE_OK, let text else { return nil }
        defer { curl_free(text) }
        return String(cString: text)
    }
}

extension WebAddress: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    package var description: String { Self.redact(text) }
    package var debugDescription: String { description }
    package var customMirror: Mirror { Mirror(self, children: ["url": description]) }
}
