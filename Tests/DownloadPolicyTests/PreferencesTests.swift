import Foundation
import TestSupport
import Testing

@testable import DownloadPolicy

@Suite(.takingTurns, .timeLimit(.minutes(10))) struct PreferencesTests {
    let folder: TemporaryFolder

    init() throws {
        folder = TemporaryFolder()
    }

    private func store() throws -> PreferencesStore {
        try PreferencesStore(path: folder.file("preferences"))
    }

    @Test func startsWithTheDefaultsAndWritesNothing() throws {
        let store = try store()
        #expect(store.current == DownloadPreferences())
        #expect(store.problem == nil)
        #expect(try !folder.names().contains("preferences"))
    }

    @Test(arguments: InputSpace.allPreferences)
    func outlivesTheStore(_ preferences: DownloadPreferences) throws {
        try store().update { $0 = preferences }
        #expect(try store().current == preferences)
    }

    @Test func leavesNothingHalfDoneBehind() throws {
        try store().update { $0.alwaysDownloadOriginal = true }
        #expect(try folder.names() == ["preferences", "preferences.lock"])
        #expect(
            try folder.text(of: "preferences") == """
                # What to download. May be edited; programs that use it notice.
                # mode: automatic, alwaysOriginal, lowest, cachedOnly. allow-roaming: yes, no.
                version = 1
                mode = alwaysOriginal
                allow-roaming = no
                end

                """)
    }

    @Test func makesItsFolders() throws {
        let store = try PreferencesStore(path: folder.file("a/b/c/preferences"))
        try store.update { $0.mode = .lowest }
        #expect(FileManager.default.fileExists(atPath: folder.file("a/b/c/preferences")))
    }

    @Test(arguments: [
        "", "version = 1\nmode = lowest\n", "version = 1\nmode = lowest\nend", "mode = lowest\nend\n",
        "version = 1\nmode = loudest\nend\n", "version = 1\nallow-roaming = perhaps\nend\n",
        "version = 1\nmode = lowest\nmode = lowest\nend\n", "version = 1\nmode\nend\n", "version = 1\n= lowest\nend\n",
        "version = 1\nmode =\nend\n", "version = 1\nend\nmode = lowest\n", "version = 1\nMODE = lowest\nend\n",
        "version = 1\nmode = low\u{0}est\nend\n", "\u{0}\u{0}\u{0}\u{0}",
    ])
    func setsADamagedFileAside(_ text: String) throws {
        try folder.write(text, to: "preferences")
        let store = try store()
        #expect(store.current == DownloadPreferences())
        guard case .damaged(_, let keptAs, _) = store.problem else {
            Issue.record("reports \(String(describing: store.problem))")
            return
        }
        #expect(keptAs == folder.file("preferences.damaged-1"))
        #expect(try folder.text(of: "preferences.damaged-1") == text)
        #expect(try self.store().problem == nil)
        try store.update { $0.mode = .lowest }
        #expect(try self.store().current.mode == .lowest)
    }

    @Test func setsAsideWhatIsNoText() throws {
        try Data([0xff, 0xfe, 0x0a]).write(to: URL(fileURLWithPath: folder.file("preferences")))
        #expect(try store().problem != nil)
    }

    @Test func setsAsideAsOftenAsItHasTo() throws {
        try folder.write("old", to: "preferences.damaged-1")
        try folder.write("new", to: "preferences")
        #expect(try store().problem != nil)
        #expect(try folder.text(of: "preferences.damaged-1") == "old")
        #expect(try folder.text(of: "preferences.damaged-2") == "new")
    }

    @Test func readsWhatPeopleWrite() throws {
        try folder.write(
            "\n#mine\nversion=1\n\tmode =   cachedOnly \n\nallow-roaming= yes\nend\n# bye\n", to: "preferences")
        let store = try store()
        #expect(store.current == DownloadPreferences(.cachedOnly, allowsRoaming: true))
        #expect(store.problem == nil)
    }

    @Test func keepsWhatALaterVersionAdds() throws {
        try folder.write("version = 1\nmode = lowest\nnight-mode = on\nend\n", to: "preferences")
        try store().update { $0.allowsRoaming = true }
        #expect(
            try folder.text(of: "preferences").hasSuffix("mode = lowest\nallow-roaming = yes\nnight-mode = on\nend\n"))
    }

    @Test func followsALinkToWhereTheFileIsKept() throws {
        try folder.write("version = 1\nmode = lowest\nend\n", to: "kept")
        #expect(symlink("kept", folder.file("preferences")) == 0)
        let store = try store()
        #expect(store.current.mode == .lowest)
        try store.update { $0.mode = .cachedOnly }
        #expect(try folder.text(of: "kept").contains("mode = cachedOnly"))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: folder.file("preferences")) == "kept")
    }

    @Test func leavesAnotherFormatAlone() throws {
        let text = "version = 2\nmode = lowest\nend\n"
        try folder.write(text, to: "preferences")
        let store = try store()
        let error = StoreError.newerVersion(path: store.path, version: "2")
        #expect(store.problem == .unreadable(error))
        #expect(throws: error) { try store.update { $0.mode = .lowest } }
        #expect(try folder.text(of: "preferences") == text)
    }

    @Test func refusesAPlaceThatIsNone() throws {
        try folder.write("", to: "file")
        #expect(throws: StoreError.system(operation: "create", path: folder.file("file/a"), code: ENOTDIR)) {
            try PreferencesStore(path: folder.file("file/a/preferences"))
        }
    }

    @Test func changesNothingIfItCannotWrite() async throws {
        let store = try store()
        try store.update { $0.mode = .lowest }
        try FileManager.default.createDirectory(
            atPath: folder.file("preferences.new"), withIntermediateDirectories: false)
        #expect(throws: StoreError.system(operation: "create", path: folder.file("preferences.new"), code: EISDIR)) {
            try store.update { $0.mode = .cachedOnly }
        }
        #expect(store.current.mode == .lowest)
        #expect(try self.store().current.mode == .lowest)
    }

    @Test func refusesWhatIsFarTooLarge() throws {
        try folder.write(String(repeating: "#\n", count: 1 << 20), to: "preferences")
        let store = try store()
        #expect(store.problem == .unreadable(.tooLarge(path: store.path, limit: 1 << 20)))
    }

    @Test func eachStreamBeginsWithThePresent() async throws {
        let store = try store()
        var first = store.changes().makeAsyncIterator()
        #expect(await first.next()?.mode == .automatic)
        try store.update { $0.mode = .lowest }
        var second = store.changes().makeAsyncIterator()
        #expect(await second.next()?.mode == .lowest)
        #expect(await first.next()?.mode == .lowest)
    }

    @Test func aSlowStreamGetsTheNewest() async throws {
        let store = try store()
        var changes = store.changes().makeAsyncIterator()
        try store.update { $0.mode = .lowest }
        try store.update { $0.mode = .cachedOnly }
        #expect(await changes.next()?.mode == .cachedOnly)
    }

    @Test func hearsOfAnotherStore() async throws {
        let (one, other) = (try store(), try store())
        var changes = one.changes().makeAsyncIterator()
        #expect(await changes.next()?.mode == .automatic)
        try other.update { $0.mode = .cachedOnly }
        #expect(await changes.next()?.mode == .cachedOnly)
        #expect(one.current.mode == .cachedOnly)
    }

    @Test func hearsOfAnotherProcess() async throws {
        let store = try store()
        var changes = store.changes().makeAsyncIterator()
        #expect(await changes.next()?.mode == .automatic)
        let helper = try HelperProcess("set-mode", store.path, "alwaysOriginal")
        #expect(await changes.next()?.alwaysDownloadOriginal == true)
        #expect(await helper.succeeds())
    }

    @Test func hearsOfAnEditor() async throws {
        let store = try store()
        var changes = store.changes().makeAsyncIterator()
        #expect(await changes.next()?.mode == .automatic)
        try folder.write("version = 1\nmode = lowest\nend\n", to: "draft")
        #expect(rename(folder.file("draft"), store.path) == 0)
        #expect(await changes.next()?.mode == .lowest)
        unlink(store.path)
        #expect(await changes.next()?.mode == .automatic)
    }

    @Test func hearsOfDamageWhileItRuns() async throws {
        let store = try store()
        try store.update { $0.mode = .lowest }
        var changes = store.changes().makeAsyncIterator()
        var problems = store.problems().makeAsyncIterator()
        #expect(await changes.next()?.mode == .lowest)
        #expect(await problems.next() == .some(nil))
        try folder.write("nonsense", to: "draft")
        #expect(rename(folder.file("draft"), store.path) == 0)
        #expect(await changes.next()?.mode == .automatic)
        #expect(await problems.next() != .some(nil))
    }

    @Test func comesBackAfterItsFolderWasTakenAway() async throws {
        let store = try PreferencesStore(path: folder.file("gone/preferences"))
        try store.update { $0.mode = .lowest }
        var changes = store.changes().makeAsyncIterator()
        #expect(await changes.next()?.mode == .lowest)
        try FileManager.default.removeItem(atPath: folder.file("gone"))
        #expect(await changes.next()?.mode == .automatic)
        try PreferencesStore(path: store.path).update { $0.mode = .cachedOnly }
        #expect(await changes.next()?.mode == .cachedOnly)
    }

    @Test func losesNoChangeOfSeveralStores() async throws {
        let path = folder.file("preferences")
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in 0..<2 {
                group.addTask {
                    let store = try PreferencesStore(path: path)
                    for _ in 0..<20 {
                        try store.update { preferences in
                            if index == 0 { preferences.allowsRoaming = true } else { preferences.mode = .lowest }
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try store().current == DownloadPreferences(.lowest, allowsRoaming: true))
    }

    @Test func streamsKeepTheStoreAndLetItGo() async throws {
        weak var weakStore: PreferencesStore?
        var changes: AsyncStream<DownloadPreferences>?
        do {
            let store = try store()
            weakStore = store
            changes = store.changes()
        }
        #expect(weakStore != nil)
        changes = nil
        #expect(weakStore == nil)
        _ = changes
    }

    @Test func leavesNoDescriptorOrThreadBehind() async throws {
        let helper = try HelperProcess("open-many", folder.file("preferences"))
        #expect(await helper.nextWord() == "nothing left")
        #expect(await helper.succeeds())
    }

    @Test func aCancelledConsumerLetsGo() async throws {
        let store = try store()
        let changes = store.changes()
        let (started, start) = AsyncStream<Void>.makeStream()
        let consumer = Task {
            for await _ in changes { start.yield() }
        }
        for await _ in started { break }
        consumer.cancel()
        await consumer.value
        try store.update { $0.mode = .lowest }
        #expect(store.current.mode == .lowest)
    }

    @Test func isWholeWheneverTheWriterIsKilled() async throws {
        let path = folder.file("preferences")
        for round in 0..<25 {
            let helper = try HelperProcess("flip-preferences", path)
            for _ in 0...(round % 5) { #expect(await helper.nextWord() == "changed") }
            #expect(await helper.killed().allSatisfy { $0 == "changed" })
            let store = try store()
            #expect(store.problem == nil)
            #expect(
                [DownloadPreferences(.lowest), DownloadPreferences(.alwaysOriginal, allowsRoaming: true)]
                    .contains(store.current))
            try store.update { _ in }
        }
        #expect(try folder.names().allSatisfy { !$0.contains("damaged") })
    }
}

@Suite(.takingTurns) struct XDGTests {
    private func path(_ place: XDG, _ environment: [String: String], home: String? = nil) throws -> String {
        try place.path(application: "app", file: "file", environment: { environment[$0] }, home: { home })
    }

    @Test func followsTheVariable() throws {
        #expect(try path(.config, ["XDG_CONFIG_HOME": "/c", "HOME": "/h"]) == "/c/app/file")
        #expect(try path(.state, ["XDG_STATE_HOME": "/s", "HOME": "/h"]) == "/s/app/file")
    }

    @Test(arguments: ["", "relative", "./relative", "~"])
    func ignoresAVariableThatIsNoAbsolutePath(_ value: String) throws {
        #expect(try path(.config, ["XDG_CONFIG_HOME": value, "HOME": "/h"]) == "/h/.config/app/file")
        #expect(try path(.state, ["HOME": "/h"]) == "/h/.local/state/app/file")
        #expect(try path(.state, ["HOME": value], home: "/u") == "/u/.local/state/app/file")
    }

    @Test func saysWhenThereIsNoHome() {
        #expect(throws: StoreError.noHome) { try path(.config, [:]) }
    }

    @Test(arguments: ["", ".", "..", "a/b", "a\u{0}b"])
    func refusesNamesThatAreNoFolder(_ name: String) {
        #expect(throws: StoreError.badApplicationName(name)) { try XDG.config.path(application: name, file: "file") }
    }

    @Test func knowsTheHomeOfTheUser() {
        #expect(XDG.homeOfUser()?.hasPrefix("/") == true)
    }
}
