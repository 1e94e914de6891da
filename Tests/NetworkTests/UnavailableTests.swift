import Foundation
import TestSupport
import Testing

/// Connections are not to be had, and programs have to learn that from the compiler.
@Suite(.takingTurns) struct UnavailableTests {
    /// What the compiler says about a source; `nil` where it can't be asked.
    private static func diagnose(_ source: String) throws -> String? {
        // Tests run in .build/<triple>/<configuration>, next to the modules.
        let products = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
            .deletingLastPathComponent()
        let modules = products.appendingPathComponent("Modules")
        guard FileManager.default.fileExists(atPath: modules.appendingPathComponent("Network.swiftmodule").path) else {
            return nil
        }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("unavailable-\(UUID()).swift")
        try source.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let compiler = Process()
        let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../..").standardized
        compiler.executableURL = URL(fileURLWithPath: "/bin/sh")
        // What SwiftPM passes for the system library at the bottom of it all.
        compiler.arguments = [
            "-c",
            """
            swiftc -typecheck -I "$0" -Xcc -fmodule-map-file="$1/Sources/CNetlink/module.modulemap" \
                $(pkg-config --cflags libnl-3.0) "$2"
            """,
            modules.path, root.path, file.path,
        ]
        let pipe = Pipe()
        compiler.standardError = pipe
        try compiler.run()
        let said = pipe.fileHandleForReading.readDataToEndOfFile()
        compiler.waitUntilExit()
        return compiler.terminationStatus == 127 ? nil : String(decoding: said, as: UTF8.self)
    }

    private static let uses = """
        import Network
        let monitor = NWPathMonitor()
        func connect() {
            _ = NWConnection(host: "example.com", port: 443, using: .tls)
            _ = try? NWListener(using: .tcp, on: 8080)
            _ = NWBrowser(for: .bonjour(type: "_http._tcp", domain: nil), using: .init())
            var group: NWConnectionGroup?
            _ = NWParameters.udp
        }
        """

    @Test func connectionsDoNotCompileAndTheErrorSaysWhatToUse() throws {
        let said = try #require(try Self.diagnose(Self.uses), "no compiler, or no modules, next to the tests")
        for type in ["NWConnection", "NWListener", "NWBrowser", "NWConnectionGroup", "NWParameters"] {
            #expect(said.contains("error: '\(type)' is unavailable: this module watches the network on Linux"))
        }
        let errors = said.split(separator: "\n").filter { $0.hasPrefix("/") && $0.contains("error:") }
        #expect(errors.count == 5, "one error for each, and none for what there is")
    }
}
