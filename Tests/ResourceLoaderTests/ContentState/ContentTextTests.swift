import TestSupport
import Testing

@testable import ResourceLoader

@Suite(.takingTurns) struct ContentTextTests {
    static let lines: [(ContentState<String>, String)] = [
        (.idle, ""), (.loading(previous: nil), "[loading]"), (.loading(previous: "cat"), "cat [loading]"),
        (.content("cat", refresh: .none), "cat"), (.content("cat", refresh: .loading), "cat [refreshing]"),
        (
            .content("cat", refresh: .failed(.timeout, retry: .offered)),
            "cat [not refreshed: took too long, r to try again]"
        ),
        (
            .content("cat", refresh: .offline(suspected: false, retry: .automatic)),
            "cat [not refreshed: no network, waiting, r to try now]"
        ),
        (.empty, "[no data]"),
        (.offline(previous: nil, suspected: false, retry: .automatic), "[no network, waiting, r to try now]"),
        (.offline(previous: "cat", suspected: true, retry: .underway), "cat [network seems down, trying again]"),
        (.failed(.missing, previous: nil, retry: .offered), "[not there any more, r to try again]"),
    ]

    @Test(arguments: lines) func saysWhatIsShown(_ state: ContentState<String>, line: String) {
        #expect(ContentText().line(state) { $0 } == line)
    }

    @Test func keepsToItsWidth() {
        for width in 0...60 {
            let text = ContentText(width: width)
            for (state, _) in Self.lines {
                let line = text.line(state) {
                    $0 + " with a very long name, longer than any terminal is wide, even this one"
                }
                #expect(line.count <= max(8, width))
            }
        }
        #expect(
            ContentText(width: 24).line(.content("a long name indeed", refresh: .loading)) { $0 }
                == "a long n... [refreshing]")
    }

    @Test func letsNoValueCommandTheTerminal() {
        let text = ContentText()
        let state = ContentState<String>.content("a\u{1B}[2Jb\r\nc\u{7}d\u{9B}e\u{202E}f\0g", refresh: .none)
        #expect(text.line(state) { $0 } == "a [2Jb  c d e f g")
    }

    @Test(arguments: FailureClass.allCases) func hasWordsForEveryFailure(_ failure: FailureClass) {
        let line = ContentText().line(ContentState<String>.failed(failure, previous: nil, retry: .offered)) { $0 }
        #expect(line.hasPrefix("[") && line.hasSuffix(", r to try again]") && line.count > 20)
    }
}
