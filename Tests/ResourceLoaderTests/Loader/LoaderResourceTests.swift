import DownloadPolicy
import Testing

@testable import ResourceLoader

@Suite("A resource")
struct LoaderResourceTests {
    private static let plain = Rendition(.original, url: "http://example.org/1")

    private func key(_ renditions: Rendition..., id: ResourceID = "1") throws -> CacheKey {
        try Resource(id, renditions: renditions).cacheKey
    }

    private func with(_ variant: CacheVariant, _ header: TransferHeader, varying: [String]? = nil) -> Rendition {
        Rendition(variant, url: "http://example.org/1", headers: [header], varyingHeaders: varying)
    }

    @Test func isStoredUnderItsIdWhereTheIdSaysItAll() throws {
        #expect(try key(Self.plain) == CacheKey("1"))
        #expect(try key(Rendition(.original, url: "http://other.org/2")) == CacheKey("1"))
        #expect(try key(with(.original, TransferHeader("Accept", "image/*"), varying: [])) == CacheKey("1"))
    }

    @Test func isAnotherOneWithOtherVaryingHeadersOrParameters() throws {
        let keys = [
            try key(Self.plain),
            try key(with(.original, TransferHeader("Authorization", "a"))),
            try key(with(.original, TransferHeader("Authorization", "b"))),
            try key(with(.thumbnail, TransferHeader("Authorization", "b"), varying: ["authorization"]), Self.plain),
            try key(Rendition(.original, .post(.form([])), url: "http://example.org/1")),
        ]
        #expect(Set(keys).count == keys.count)
    }

    @Test func isTheSameWithOneRungMoreOfItsKind() throws {
        let header = TransferHeader("Authorization", "a")
        #expect(try key(with(.original, header)) == key(with(.thumbnail, header), with(.original, header)))
    }

    @Test func cannotPassForAnotherByItsId() throws {
        let name = try Resource("1", renditions: [with(.original, TransferHeader("Authorization", "a"))]).identity
        #expect(try key(Self.plain, id: name) != CacheKey(name.name))
    }

    @Test func showsNoSecretInItsIdentity() throws {
        let secret = try Resource("1", renditions: [with(.original, TransferHeader("Authorization", "hush"))])
        #expect(!secret.identity.name.contains("hush") && secret.identity.name.hasPrefix("1#"))
    }
}
