import CCurl
import Glibc

/// What an attempt tells the engine while libcurl runs it.
protocol AttemptObserver: AnyObject {
    func now() -> Duration
    /// Whether the engine's thread is wanted elsewhere before more bytes are taken.
    var isWanted: Bool { get }
    /// The request is about to be sent.
    func attemptConnected(_ attempt: Attempt)
    /// A head arrived that is not a redirect.
    func attemptAnswered(_ attempt: Attempt)
    func attemptProgressed(_ attempt: Attempt, by bytes: Int)
}

/// One request and its answer: a libcurl easy handle and what is read from it. Lives on the engine's thread.
final class Attempt {
    /// What the answer turned out to be.
    enum Conclusion: Equatable {
        /// No complete head yet.
        case none
        case redirect(location: String)
        /// A status that carries no body of ours.
        case status
        case body
        case alreadyComplete
        /// The copy that the request asked about still holds.
        case notModified
        case startOver
        case portal
        case unfit(FailureEvidence.Verdict)
    }

    let number: Int
    let flight: UInt64
    let request: TransferRequest
    let hop: RedirectRule.Hop
    /// What was asked to be completed.
    let part: PartialBody?
    let lane: SinkLane
    private(set) var easy: UnsafeMutableRawPointer?
    private unowned let observer: any AttemptObserver
    private var headerList: UnsafeMutablePointer<curl_slist>?
    private let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: Int(CURL_ERROR_SIZE))

    private(set) var conclusion = Conclusion.none
    private(set) var head = ResponseHead()
    private(set) var isPaused = false
    /// Paused only to let the engine's thread attend to something.
    private(set) var hasYielded = false
    private(set) var lastActivity: Duration
    /// Where the next byte of the body goes, and how long the body will be.
    private(set) var position: Int64
    private(set) var total: Int64?
    /// Whether what is written now can be gone on with later.
    private(set) var isResumable = false
    /// The bytes already in the sink that the answer built on.
    private(set) var resumedFrom: Int64 = 0
    private var isHeadComplete = false
    /// Bytes on their way to the sink, and at first those that show whether it is a portal's page.
    private var gathered: [UInt8] = []
    private var hasBegun = false
    private var picture = PictureHeader()
    private var ignored = 0
    private var uploaded: Int64 = 0

    /// Bodies of answers that are not wanted are read up to here, so that their connection can be used again.
    private static let ignorable = 65_536
    private static let bufferSize = 512 << 10

    init?(
        _ request: TransferRequest, hop: RedirectRule.Hop, part: PartialBody?, number: Int, flight: UInt64,
        lane: SinkLane, observer: any AttemptObserver, dnsCacheSeconds: Int
    ) {
        self.request = request
        self.hop = hop
        self.part = part
        self.number = number
        self.flight = flight
        self.lane = lane
        self.observer = observer
        position = part?.offset ?? 0
        total = part?.total
        lastActivity = observer.now()
        errorText.initialize(repeating: 0, count: Int(CURL_ERROR_SIZE))
        guard let easy = curl_easy_init() else { return nil }
        self.easy = easy
        configure(easy, dnsCacheSeconds: dnsCacheSeconds)
    }

    deinit {
        close()
        errorText.deallocate()
    }

    /// Frees the handle; must not be in a multi handle any more.
    func close() {
        if let easy { curl_easy_cleanup(easy) }
        easy = nil
        curl_slist_free_all(headerList)
        headerList = nil
    }

    var errorDescription: String { String(cString: errorText) }

    // MARK: - The request

    private func configure(_ easy: UnsafeMutableRawPointer, dnsCacheSeconds: Int) {
        let user = Unmanaged.passUnretained(self).toOpaque()
        ccurl_set_string(easy, CURLOPT_URL, hop.address.text)
        ccurl_set_string(easy, CURLOPT_PROTOCOLS_STR, "http,https")
        // Redirects are followed by the engine, which knows which headers are secret.
        ccurl_set_long(easy, CURLOPT_FOLLOWLOCATION, 0)
        // One connection for each transfer: closing it stops this transfer's bytes and no other's, and holding it back fills the
        // kernel's window instead of libcurl's memory. Neither is true of streams that share an HTTP/2 connection.
        ccurl_set_long(easy, CURLOPT_HTTP_VERSION, Int(CURL_HTTP_VERSION_1_1))
        ccurl_set_long(easy, CURLOPT_NOSIGNAL, 1)
        // On a connection that was used before and turns out to be dead, libcurl sends the request again by itself.
        if !request.isRepeatable { ccurl_set_long(easy, CURLOPT_FRESH_CONNECT, 1) }
        // Without it, giving up a transfer waits for its name to resolve.
        ccurl_set_long(easy, CURLOPT_QUICK_EXIT, 1)
        ccurl_set_long(easy, CURLOPT_BUFFERSIZE, Self.bufferSize)
        ccurl_set_long(
            easy, CURLOPT_CONNECTTIMEOUT_MS, Int(min(request.timeouts.connect, .seconds(86_400)) / .milliseconds(1)))
        ccurl_set_long(easy, CURLOPT_DNS_CACHE_TIMEOUT, dnsCacheSeconds)
        ccurl_set_pointer(easy, CURLOPT_ERRORBUFFER, errorText)
        ccurl_set_pointer(easy, CURLOPT_PRIVATE, user)
        // What a proxy says about a tunnel to the host is no answer of the host's.
        ccurl_set_long(easy, CURLOPT_SUPPRESS_CONNECT_HEADERS, 1)
        ccurl_set_data_function(easy, CURLOPT_HEADERFUNCTION, headerArrived)
        ccurl_set_pointer(easy, CURLOPT_HEADERDATA, user)
        ccurl_set_data_function(easy, CURLOPT_WRITEFUNCTION, bodyArrived)
        ccurl_set_pointer(easy, CURLOPT_WRITEDATA, user)
        ccurl_set_prerequest_function(easy, requestReady)
        ccurl_set_pointer(easy, CURLOPT_PREREQDATA, user)
        ccurl_set_long(easy, CURLOPT_NOPROGRESS, 0)
        ccurl_set_progress_function(easy, transferProgressed)
        ccurl_set_pointer(easy, CURLOPT_XFERINFODATA, user)
        // Asks for the bytes as they are; libcurl decodes what a server codes all the same.
        ccurl_set_string(easy, CURLOPT_ACCEPT_ENCODING, "identity")
        var lines = hop.headers.map { $0.value.isEmpty ? "\($0.name);" : "\($0.name): \($0.value)" }
        if let part, let validator = part.validator {
            lines += ["Range: bytes=\(part.offset)-", "If-Range: \(validator.text)"]
        }
        if let body = hop.body {
            let bytes = body.canonicalBytes
            ccurl_set_long(easy, CURLOPT_POST, 1)
            ccurl_set_offset(easy, CURLOPT_POSTFIELDSIZE_LARGE, curl_off_t(bytes.count))
            bytes.withUnsafeBytes { buffer in
                // libcurl copies the bytes here, as many as were announced.
                _ = ccurl_set_pointer(
                    easy, CURLOPT_COPYPOSTFIELDS, UnsafeMutableRawPointer(mutating: buffer.baseAddress))
            }
            if !hop.headers.contains(where: { $0.name.lowercased() == "content-type" }) {
                lines.append("Content-Type: \(body.contentType)")
            }
            // Waiting for 100 Continue costs a round trip, or a second where servers do not know it.
            lines.append("Expect:")
        }
        for line in lines { headerList = curl_slist_append(headerList, line) }
        ccurl_set_list(easy, CURLOPT_HTTPHEADER, headerList)
    }

    fileprivate func requestIsReady() {
        lastActivity = observer.now()
        observer.attemptConnected(self)
    }

    fileprivate func sent(_ bytes: Int64) {
        guard bytes > uploaded else { return }
        uploaded = bytes
        lastActivity = observer.now()
    }

    // MARK: - The head

    /// - Returns: whether the transfer goes on.
    fileprivate func take(headerLine bytes: UnsafeRawBufferPointer) -> Bool {
        lastActivity = observer.now()
        let line = String(decoding: bytes, as: UTF8.self).trimmingLineEnd
        // Lines after the head are trailers, which say nothing we act on.
        if isHeadComplete { return true }
        if line.hasPrefix("HTTP/") {
            head = ResponseHead(status: line.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0)
        } else if line.isEmpty {
            // 1xx is followed by the head proper.
            if head.status >= 200 {
                isHeadComplete = true
                return headIsComplete()
            }
        } else if let colon = line.firstIndex(of: ":") {
            head.headers.append(
                TransferHeader(String(line[..<colon]), line[line.index(after: colon)...].trimmingSpaces))
        }
        return true
    }

    private func headIsComplete() -> Bool {
        if RedirectRule.isRedirect(head.status), let location = head["location"] {
            conclusion = .redirect(location: location)
            return true
        }
        conclusion = judgeHead()
        observer.attemptAnswered(self)
        switch conclusion {
        case .body, .status: return true
        // Their bodies may be large and are not wanted; closing the connection is cheaper than reading on.
        case .portal, .unfit, .startOver: return false
        case .alreadyComplete, .notModified, .none, .redirect: return true
        }
    }

    private func judgeHead() -> Conclusion {
        let evidence = FailureEvidence(
            status: head.status, isHTML: head.isHTML, expects: request.expects, leftHost: hop.hasLeftHost)
        if evidence.isPortal { return .portal }
        // The answer is about the caller's own copy, also where a part of another body was to be completed.
        if head.status == 304, hop.isConditional { return .notModified }
        guard head.hasUsableLength else { return .unfit(.lengthMismatch) }
        switch ResumeAnswer(part: part, head: head) {
        case .notInTable: return .status
        case .startOver: return .startOver
        case .finish: return .alreadyComplete
        case .take(let offset):
            position = offset
            resumedFrom = offset
            total = head.contentRange?.total
            isResumable = true
        case .takeWhole:
            position = 0
            // The length of a coded body is not that of the bytes it becomes.
            total = head.isEncoded ? nil : head.contentLength
            isResumable = head.validator != nil && !head.isEncoded && hop.body == nil && head.status == 200
        }
        if let announced = total ?? head.contentLength, announced > request.limits.bytes {
            return .unfit(.tooManyBytes)
        }
        return .body
    }

    // MARK: - The body

    /// - Returns: what libcurl's write function returns.
    fileprivate func take(body bytes: UnsafeRawBufferPointer) -> Int {
        guard conclusion == .body else {
            ignored += bytes.count
            return ignored > Self.ignorable ? 0 : bytes.count
        }
        // libcurl would go on reading while bytes keep coming, for up to a hundred buffers; pausing is the way out of its loop.
        hasYielded = observer.isWanted
        if hasYielded || lane.mustPause() {
            isPaused = true
            return Int(CURL_WRITEFUNC_PAUSE)
        }
        lastActivity = observer.now()
        position += Int64(bytes.count)
        if position > request.limits.bytes { return refuse(.tooManyBytes) }
        if let total, position > total { return refuse(.lengthMismatch) }
        if resumedFrom == 0, request.limits.pixels != nil {
            picture.feed(bytes)
            if picture.finding.exceeds(request.limits.pixels) { return refuse(.tooManyPixels) }
        }
        // libcurl gives 16 KiB at most in one call; the sink is better served with more.
        if gathered.isEmpty {
            gathered = lane.spareBuffer()
            gathered.reserveCapacity(Self.bufferSize)
        }
        gathered += bytes
        if gathered.count > Self.bufferSize - Int(CURL_MAX_WRITE_SIZE) || !hasBegun { handOn() }
        return conclusion == .body ? bytes.count : 0
    }

    /// Hands what was gathered on to the sink.
    func handOn() {
        guard conclusion == .body, !gathered.isEmpty else { return }
        if !hasBegun {
            // Too little to tell from a portal's page.
            guard gathered.count >= HTMLSniffer.window || resumedFrom > 0 else { return }
            guard begin() else { return }
        }
        sendGathered()
    }

    private func sendGathered() {
        guard !gathered.isEmpty else { return }
        observer.attemptProgressed(self, by: gathered.count)
        lane.send(.write(gathered, attempt: number))
        gathered = []
    }

    private func refuse(_ verdict: FailureEvidence.Verdict) -> Int {
        conclusion = .unfit(verdict)
        return 0
    }

    /// Opens the sink, once the first bytes are known not to be a portal's page: only then is what was kept replaced.
    private func begin() -> Bool {
        if resumedFrom == 0, request.expects == .picture, HTMLSniffer.looksLikeHTML(gathered) {
            conclusion = .portal
            return false
        }
        hasBegun = true
        let validator = isResumable ? (part != nil && resumedFrom > 0 ? part?.validator : head.validator) : nil
        lane.send(.begin(PartialBody(offset: resumedFrom, total: total, validator: validator), attempt: number))
        return true
    }

    /// No more bytes come: what is still held goes to the sink.
    func bodyEnded() {
        guard conclusion == .body, hasBegun || begin() else { return }
        sendGathered()
    }

    /// Goes on after the sink has caught up.
    func unpause() {
        guard isPaused, let easy else { return }
        isPaused = false
        hasYielded = false
        lastActivity = observer.now()
        curl_easy_pause(easy, CURLPAUSE_CONT)
    }

    // MARK: - The end

    /// What libcurl's result says about the transport; `nil` when the transport did its work.
    func transportError(_ code: CURLcode) -> FailureEvidence.Transport? {
        if let tunnelRefusal {
            // From 500 on, the proxy did not get through to the host; others refuse the request itself.
            return tunnelRefusal >= 500 ? .noConnection : nil
        }
        switch code {
        case CURLE_OK, CURLE_BAD_CONTENT_ENCODING, CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY: return nil
        case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: return .nameNotFound
        case CURLE_COULDNT_CONNECT: return systemError == Int(ETIMEDOUT) ? .timedOut : .noConnection
        case CURLE_OPERATION_TIMEDOUT: return .timedOut
        case CURLE_SSL_CONNECT_ERROR:
            // OpenSSL calls a connection that breaks off in the handshake a TLS error, which it is not.
            let brokeOff = ["SSL_ERROR_SYSCALL", "Connection reset", "unexpected eof"]
            return brokeOff.contains { errorDescription.contains($0) } ? .connectionLost : .tls
        case CURLE_PEER_FAILED_VERIFICATION, CURLE_SSL_CERTPROBLEM, CURLE_SSL_CIPHER, CURLE_SSL_CACERT_BADFILE,
            CURLE_SSL_CRL_BADFILE, CURLE_SSL_ISSUER_ERROR, CURLE_SSL_PINNEDPUBKEYNOTMATCH, CURLE_SSL_INVALIDCERTSTATUS,
            CURLE_SSL_CLIENTCERT, CURLE_SSL_ENGINE_NOTFOUND, CURLE_SSL_ENGINE_SETFAILED, CURLE_SSL_ENGINE_INITFAILED,
            CURLE_USE_SSL_FAILED:
            return .tls
        default: return .connectionLost
        }
    }

    /// What libcurl's result says about an answer that cannot be used.
    func verdict(_ code: CURLcode) -> FailureEvidence.Verdict? {
        switch code {
        case CURLE_BAD_CONTENT_ENCODING: .undecodableBody
        case CURLE_UNSUPPORTED_PROTOCOL, CURLE_WEIRD_SERVER_REPLY: .unusableAnswer
        default: tunnelRefusal == nil ? nil : .unusableAnswer
        }
    }

    /// The status with which a proxy refused a tunnel to the host.
    private var tunnelRefusal: Int? {
        var status = 0
        if let easy { ccurl_get_long(easy, CURLINFO_HTTP_CONNECTCODE, &status) }
        return status >= 300 ? status : nil
    }

    private var systemError: Int {
        var error = 0
        if let easy { ccurl_get_long(easy, CURLINFO_OS_ERRNO, &error) }
        return error
    }

    /// The attempt an easy handle belongs to.
    static func of(_ user: UnsafeMutableRawPointer?) -> Attempt? {
        // Set from a live attempt that owns the handle; libcurl calls back only while the handle lives.
        user.map { Unmanaged<Attempt>.fromOpaque($0).takeUnretainedValue() }
    }
}

extension String {
    fileprivate var trimmingLineEnd: String {
        var text = self[...]
        while let last = text.unicodeScalars.last, last == "\r" || last == "\n" { text.unicodeScalars.removeLast() }
        return String(text)
    }
}

extension Substring {
    fileprivate var trimmingSpaces: String {
        var text = self.drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return String(text)
    }
}

private func headerArrived(
    _ data: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ user: UnsafeMutableRawPointer?
) -> Int {
    guard let attempt = Attempt.of(user) else { return 0 }
    return attempt.take(headerLine: UnsafeRawBufferPointer(start: data, count: size * count)) ? size * count : 0
}

private func bodyArrived(
    _ data: UnsafeMutablePointer<CChar>?, _ size: Int, _ count: Int, _ user: UnsafeMutableRawPointer?
) -> Int {
    Attempt.of(user)?.take(body: UnsafeRawBufferPointer(start: data, count: size * count)) ?? 0
}

private func requestReady(
    _ user: UnsafeMutableRawPointer?, _ remote: UnsafeMutablePointer<CChar>?, _ local: UnsafeMutablePointer<CChar>?,
    _ remotePort: Int32, _ localPort: Int32
) -> Int32 {
    Attempt.of(user)?.requestIsReady()
    return CURL_PREREQFUNC_OK
}

private func transferProgressed(
    _ user: UnsafeMutableRawPointer?, _ downTotal: curl_off_t, _ down: curl_off_t, _ upTotal: curl_off_t,
    _ up: curl_off_t
) -> Int32 {
    Attempt.of(user)?.sent(Int64(up))
    return 0
}
