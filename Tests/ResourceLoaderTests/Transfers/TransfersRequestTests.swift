import Foundation
import TestSupport
import Testing

@testable import ResourceLoader

@Suite("A request", .takingTurns, .timeLimit(.minutes(10)))
struct TransfersRequestTests {
    private func post(
        _ body: RequestBody, url: String = "http://h/x", headers: [TransferHeader] = [], stableID: String? = nil,
        varying: [String]? = nil
    )
        throws -> RequestIdentity
    {
        try TransferRequest(
            .post(body), url: url, headers: headers, stableID: stableID, varyingHeaders: varying, kind: .original
        ).identity
    }

    @Test func withOtherParametersIsAnotherOne() throws {
        let one = try post(.form([.init("imageId", "1")]))
        #expect(try one == post(.form([.init("imageId", "1")])))
        #expect(try one != post(.form([.init("imageId", "2")])))
        #expect(try one != post(.json(.object(["imageId": .integer(1)]))))
        #expect(try one != post(.form([.init("imageId", "1")]), url: "http://h/y"))
        #expect(try one != TransferRequest(url: "http://h/x", kind: .original).identity)
        #expect(try one.digest != post(.form([.init("imageId", "2")])).digest)
    }

    @Test func isTheSameInWhateverOrderItsPartsAreBuilt() throws {
        #expect(
            try post(.form([.init("a", "1"), .init("b", "2")])) == post(.form([.init("b", "2"), .init("a", "1")])))
        #expect(
            try post(.form([.init("a", "1"), .init("a", "2")])) != post(.form([.init("a", "2"), .init("a", "1")])))
        let (first, second) = (TransferHeader("Accept", "x"), TransferHeader("X-Key", "y"))
        let body = RequestBody.json(.object(["b": .null, "a": .bool(true)]))
        #expect(
            try post(body, headers: [first, second]) == post(body, headers: [second, TransferHeader("accept", "x")]))
    }

    @Test func partsCannotSpillIntoEachOther() throws {
        func identity(_ name: String, _ value: String) throws -> RequestIdentity {
            try TransferRequest(url: "http://h/", headers: [TransferHeader(name, value)], kind: .original).identity
        }
        #expect(try identity("ab", "c") != identity("a", "bc"))
        #expect(try post(.bytes([1, 2], contentType: "a")) != post(.bytes([2], contentType: "a\u{1}")))
    }

    @Test func stableIDsStandInForURLs() throws {
        let body = RequestBody.form([])
        #expect(
            try post(body, url: "http://h/a?sig=1", stableID: "7") == post(body, url: "http://h/b?sig=2", stableID: "7")
        )
        #expect(try post(body, url: "http://h/a", stableID: "http://h/a") != post(body, url: "http://h/a"))
    }

    @Test func onlyNamedHeadersVaryIt() throws {
        let body = RequestBody.form([])
        let (one, two) = ([TransferHeader("Authorization", "1")], [TransferHeader("authorization", "2")])
        #expect(try post(body, headers: one) != post(body, headers: two))
        #expect(try post(body, headers: one, varying: ["Accept"]) == post(body, headers: two, varying: ["accept"]))
        #expect(
            try post(body, headers: one, varying: ["AUTHORIZATION"])
                != post(body, headers: two, varying: ["AUTHORIZATION"]))
    }

    @Test func bodiesAreCanonical() throws {
        let form = RequestBody.form([.init("q", "a b&c=ä*"), .init("a", "")])
        #expect(String(decoding: form.canonicalBytes, as: UTF8.self) == "a=&q=a+b%26c%3D%C3%A4*")
        let value = JSONValue.object([
            "z": .array([.integer(-1), .number(1.5), .null, .bool(false)]), "a\"\\\n\u{1}é": .string("\u{1F600}/"),
        ])
        let text = String(decoding: value.canonicalBytes, as: UTF8.self)
        #expect(text == "{\"a\\\"\\\\\\u000a\\u0001é\":\"\u{1F600}/\",\"z\":[-1,1.5,null,false]}")
        let parsed = try #require(JSONSerialization.jsonObject(with: Data(value.canonicalBytes)) as? [String: Any])
        #expect(parsed["a\"\\\n\u{1}é"] as? String == "\u{1F600}/")
    }

    @Test(arguments: [
        ("", TransferRequestError.badURL), ("nonsense", .badURL), ("http://", .badURL), ("http://h\u{0}/", .badURL),
        ("http://h/a b", .badURL), ("http://h:99999/", .badURL), ("ftp://h/x", .unsupportedScheme("ftp")),
        ("file:///etc/passwd", .unsupportedScheme("file")),
    ])
    func thatCannotBeMadeIsRefused(_ url: String, _ expected: TransferRequestError) {
        #expect(throws: expected) { try TransferRequest(url: url, kind: .original) }
    }

    @Test(arguments: [
        TransferHeader("A", "b\r\nC: d"), TransferHeader("", "x"), TransferHeader("A b", "x"),
        TransferHeader("A", "x\u{0}"),
        TransferHeader("Range", "bytes=0-"), TransferHeader("if-range", "x"), TransferHeader("Accept-Encoding", "gzip"),
        TransferHeader("Content-Length", "3"), TransferHeader("Transfer-Encoding", "chunked"),
        TransferHeader("Host", "x"),
    ])
    func withABadHeaderIsRefused(_ header: TransferHeader) {
        #expect(throws: TransferRequestError.badHeader(name: header.name)) {
            try TransferRequest(url: "http://h/", headers: [header], kind: .original)
        }
    }

    @Test func withBadNumbersIsRefused() {
        #expect(throws: TransferRequestError.numberNotFinite) {
            try TransferRequest(.post(.json(.array([.number(.nan)]))), url: "http://h/", kind: .original)
        }
        #expect(throws: TransferRequestError.badDigest(byteCount: 3)) {
            try TransferRequest(url: "http://h/", kind: .original, digest: [1, 2, 3])
        }
        #expect(throws: TransferRequestError.badLimit) {
            try TransferRequest(url: "http://h/", kind: .original, limits: TransferLimits(bytes: 0))
        }
        #expect(throws: TransferRequestError.badLimit) {
            try TransferRequest(url: "http://h/", kind: .original, timeouts: TransferTimeouts(stall: .zero))
        }
    }

    @Test func neverShowsItsSecrets() throws {
        let request = try TransferRequest(
            .post(.form([.init("token", "SECRET1")])), url: "https://user:SECRET2@h/path?key=SECRET3#SECRET4",
            headers: [TransferHeader("Authorization", "Bearer SECRET5"), TransferHeader("X-Key", "SECRET6")],
            kind: .original)
        var dumped = ""
        dump(request, to: &dumped)
        dump(request.identity, to: &dumped)
        dump(request.headers, to: &dumped)
        dump(request.method, to: &dumped)
        dump(request.method.body, to: &dumped)
        dump(RequestBody.FormField("token", "SECRET8"), to: &dumped)
        dump(ResponseHead(status: 200, headers: [TransferHeader("Set-Cookie", "SECRET7")]), to: &dumped)
        let texts = [
            dumped, "\(request)", String(reflecting: request), "\(request.headers)", "\(request.method)",
            "\(RequestBody.FormField("a", "SECRET9"))",
        ]
        for text in texts { #expect(!text.contains("SECRET"), "\(text)") }
        #expect("\(request)" == "POST https://h/path?… (original, visible)")
    }

    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func digestsAreThoseOfTheStandard(_ text: String, _ expected: String) {
        #expect(SHA256.digest(of: Array(text.utf8)).hexadecimal == expected)
    }

    @Test func digestsDoNotDependOnThePieces() {
        let bytes = pattern(1000)
        let whole = SHA256.digest(of: bytes)
        for size in [1, 3, 55, 56, 63, 64, 65, 127, 128, 999] {
            var hash = SHA256()
            for start in stride(from: 0, to: bytes.count, by: size) {
                bytes[start..<min(start + size, bytes.count)].withUnsafeBytes { hash.update($0) }
            }
            #expect(hash.finish() == whole)
        }
        #expect(
            SHA256.digest(of: [UInt8](repeating: 0x61, count: 1_000_000)).hexadecimal
                == "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0")
    }
}

@Suite("A redirect", .takingTurns, .timeLimit(.minutes(10)))
struct TransfersRedirectTests {
    private func hop(_ url: String, _ headers: [TransferHeader] = [], body: RequestBody? = nil) throws
        -> RedirectRule.Hop
    {
        RedirectRule.Hop(address: try #require(WebAddress(url)), headers: headers, body: body)
    }

    private let secrets = [
        TransferHeader("Authorization", "s"), TransferHeader("Cookie", "s"), TransferHeader("X-Api-Key", "s"),
        TransferHeader("Proxy-Authorization", "s"), TransferHeader("Accept", "image/png"),
    ]

    @Test func keepsSecretsWithinTheOrigin() throws {
        let next = try RedirectRule.follow(hop("https://h/a/b", secrets), status: 302, location: "../c?d=1")
        #expect(next.address.text == "https://h/c?d=1")
        #expect(next.headers == secrets)
        #expect(!next.hasLeftHost)
        let sameWithPort = try RedirectRule.follow(
            hop("https://h/a", secrets), status: 302, location: "https://H:443/x")
        #expect(sameWithPort.headers == secrets)
    }

    @Test(arguments: [
        "https://other/x", "https://h:444/x", "//other/x", "https://h.evil.example/x", "https://h@evil.example/",
    ])
    func takesNoSecretsToAnotherOrigin(_ location: String) throws {
        let next = try RedirectRule.follow(hop("https://h/a", secrets), status: 302, location: location)
        #expect(next.headers.map(\.name) == ["Accept"])
        let back = try RedirectRule.follow(next, status: 302, location: "https://h/a")
        #expect(back.headers.map(\.name) == ["Accept"])
    }

    @Test(arguments: ["//other/x", "https://other/x", "https://h:444/x", "//h:444"])
    func takesNoPasswordOfTheURLToAnotherOrigin(_ location: String) throws {
        let next = try RedirectRule.follow(hop("https://user:secret@h/a"), status: 302, location: location)
        #expect(!next.address.text.contains("secret"))
    }

    @Test func takesNoSecretsFromHTTPToHTTPSEither() throws {
        let next = try RedirectRule.follow(hop("http://h/a", secrets), status: 301, location: "https://h/a")
        #expect(next.headers.map(\.name) == ["Accept"])
    }

    @Test func neverLeadsFromHTTPSToHTTP() throws {
        let start = try hop("https://h/a")
        #expect(throws: RedirectRule.Refusal.insecure) {
            try RedirectRule.follow(start, status: 302, location: "http://h/a")
        }
    }

    @Test(arguments: ["file:///etc/passwd", "ftp://h/x", "javascript:alert(1)", "http://", "http://h:0x/"])
    func leadsToTheWebOnly(_ location: String) throws {
        let start = try hop("http://h/a")
        #expect(throws: RedirectRule.Refusal.badLocation) {
            try RedirectRule.follow(start, status: 302, location: location)
        }
    }

    @Test func isFollowedTenTimes() throws {
        var current = try hop("http://h/0")
        for number in 1...10 { current = try RedirectRule.follow(current, status: 302, location: "/\(number)") }
        let last = current
        #expect(throws: RedirectRule.Refusal.tooMany) { try RedirectRule.follow(last, status: 302, location: "/11") }
    }

    @Test func turnsAPostIntoAGetUnlessItsStatusForbidsIt() throws {
        let start = try hop("http://h/a", body: .form([]))
        for status in [301, 302, 303] {
            #expect(try RedirectRule.follow(start, status: status, location: "http://other/").body == nil)
        }
        for status in [307, 308] {
            #expect(try RedirectRule.follow(start, status: status, location: "/b").body != nil)
            #expect(throws: RedirectRule.Refusal.wouldLeakBody) {
                try RedirectRule.follow(start, status: status, location: "http://other/")
            }
        }
    }
}
