import Foundation
import TestSupport
import Testing

/// What the README shows is what is compiled here, line by line.
@Suite(.takingTurns) struct GuideTests {
    private static let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../..").standardized
    private static let guides =
        (try? String(contentsOf: root.appendingPathComponent("README.md"), encoding: .utf8)) ?? ""

    @Test(
        .enabled(if: guides.contains("### From AFNetworking"), "the README has no porting guides"),
        arguments: [
            "Tests/Snippets/Porting/AFNetworkingBefore.swift", "Tests/NetworkTests/Modern/AFNetworkingAfter.swift",
            "Tests/Snippets/Porting/NetworkBefore.swift", "Tests/NetworkTests/Modern/NetworkAfter.swift",
            "Tests/ResourceLoaderTests/Guide/Loading.swift",
        ])
    func guidesShowWhatIsCompiled(_ path: String) throws {
        let source = try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
        #expect(Self.guides.contains("```swift\n\(source)```"))
    }
}
