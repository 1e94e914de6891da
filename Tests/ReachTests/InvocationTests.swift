import Reachability
import TestSupport
import Testing

@testable import reach

@Suite("The command line of reach", .takingTurns, .timeLimit(.minutes(10)))
struct InvocationTests {
    private func command(_ line: String) throws -> Invocation.Command {
        try Invocation(line.split(separator: " ").map(String.init)).command
    }

    @Test func watchTakesItsOptionsInEitherSpelling() throws {
        for line in ["watch --json --settle 250", "watch --settle=250 --json"] {
            guard case .watch(json: true, settling: .milliseconds(250)) = try command(line) else {
                Issue.record("\(line)")
                continue
            }
        }
        guard case .watch(json: false, settling: nil) = try command("watch") else {
            Issue.record("watch")
            return
        }
    }

    @Test func waitTakesAListAndATimeout() throws {
        guard
            case .wait(for: [.wifi, .wired], timeout: .milliseconds(1500)) = try command(
                "wait --for wifi,wired --timeout 1.5")
        else {
            Issue.record("wait with options")
            return
        }
        guard case .wait(for: NetworkPath.Status.online, timeout: nil) = try command("wait") else {
            Issue.record("wait")
            return
        }
    }

    @Test func explainTakesAnAddress() throws {
        guard case .explain(IPAddress("2001:db8::1")) = try command("explain 2001:db8::1") else {
            Issue.record("explain with an address")
            return
        }
    }

    @Test func typesBecomeRulesInTheOrderGiven() throws {
        let invocation = try Invocation(["status", "--type", "wl*=wwan", "--type=a=b=wired"])
        #expect(invocation.configuration.rules.count == 2)
    }

    @Test(arguments: [
        ("", "no command given"),
        ("dance", "there is no command 'dance'"),
        ("watch --jason", "unknown option '--jason'"),
        ("watch out", "unexpected argument 'out'"),
        ("watch --settle", "--settle needs a number of milliseconds"),
        ("watch --settle soon", "'soon' is not a number of milliseconds"),
        ("watch --settle -1", "'-1' is not a number of milliseconds"),
        ("watch --settle nan", "'nan' is not a number of milliseconds"),
        ("wait --timeout 1e10", "'1e10' is not a number of seconds"),
        ("wait --for", "--for needs a list of statuses"),
        ("wait --for wifi,,wired", "'' is not a status"),
        ("wait --for unknown", "'unknown' is not a status"),
        ("explain example.com", "'example.com' is not an IPv4 or IPv6 address"),
        ("explain 10.0.0.1 10.0.0.2", "unexpected argument '10.0.0.2'"),
        ("status --type wifi", "'wifi' is not PATTERN=TYPE"),
        ("status --type =wifi", "'=wifi' is not PATTERN=TYPE"),
        ("status --type lo=loopback", "'lo=loopback' has no such type"),
        ("record", "no file given"),
        ("record one two", "unexpected argument 'two'"),
        ("record --json", "unknown option '--json'"),
        ("replay", "no file given"),
        ("replay one two", "unexpected argument 'two'"),
    ])
    func aMistakeIsNamed(_ line: String, _ problem: String) {
        let error = #expect(throws: UsageError.self) { try command(line) }
        #expect(error?.problem == problem)
    }

    @Test func everyCommandAndOptionOfTheSynopsisIsInTheHelp() {
        for word in [
            "watch", "status", "wait", "explain", "policy", "record", "replay", "--json", "--settle", "--type",
        ] {
            #expect(Invocation.help.contains(word))
        }
    }
}
