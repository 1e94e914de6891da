import TestSupport
import Testing

@testable import Netlink

@Suite(.takingTurns) struct PcapFileTests {
    private static let datagrams = [
        RecordedDatagram(time: 1_700_000_000_123_456_789, family: .route, bytes: [1, 2, 3, 4, 5]),
        RecordedDatagram(time: 1_700_000_001_000_000_001, family: .generic, bytes: []),
        RecordedDatagram(
            time: 1_700_000_002_000_000_000, family: .program, bytes: [UInt8](repeating: 7, count: 70_000)),
    ]
    private static let file = PcapFile.header + datagrams.flatMap(PcapFile.packet)

    @Test func readsWhatItWrote() throws {
        let content = try PcapFile.content(of: Self.file)
        #expect(content.datagrams == Self.datagrams)
        #expect(content.skipped == 0)
        #expect(!content.isCutShort)
    }

    @Test func aFileThatEndsInTheMiddleOfAPacketKeepsWhatCameBefore() throws {
        for length in PcapFile.header.count...Self.file.count {
            let content = try PcapFile.content(of: Array(Self.file.prefix(length)))
            #expect(content.datagrams == Array(Self.datagrams.prefix(content.datagrams.count)))
            let isWhole = (0...3).contains { count in
                length == PcapFile.header.count + Self.datagrams.prefix(count).flatMap(PcapFile.packet).count
            }
            #expect(content.isCutShort != isWhole)
            if length > 200, length < Self.file.count - 10 { break }
        }
    }

    @Test func anythingElseIsRefusedAndSaysWhy() {
        #expect(throws: RecordingError.notACapture) { try PcapFile.content(of: []) }
        #expect(throws: RecordingError.notACapture) {
            try PcapFile.content(of: Array("#!/bin/sh, all of it text".utf8))
        }
        #expect(throws: RecordingError.notACapture) { try PcapFile.content(of: Array(PcapFile.header.prefix(23))) }
        #expect(throws: RecordingError.otherByteOrder) {
            try PcapFile.content(of: PcapFile.header.prefix(4).reversed() + PcapFile.header.dropFirst(4))
        }
        var ethernet = PcapFile.header
        ethernet.replaceSubrange(20..<24, with: [1, 0, 0, 0])
        #expect(throws: RecordingError.otherLinkType(1)) { try PcapFile.content(of: ethernet) }
    }

    @Test func whatIsSaidToTheKernelIsLeftOut() throws {
        var packet = PcapFile.packet(Self.datagrams[0])
        packet.replaceSubrange(16..<18, with: [0, 7])
        let content = try PcapFile.content(of: PcapFile.header + packet + PcapFile.packet(Self.datagrams[1]))
        #expect(content.datagrams == [Self.datagrams[1]])
        #expect(content.skipped == 1)
    }

    @Test func microsecondsAreUnderstood() throws {
        var file = Self.file
        file.replaceSubrange(0..<4, with: MessageBytes.number(UInt32(0xA1B2_C3D4)))
        file.replaceSubrange(28..<32, with: MessageBytes.number(UInt32(5)))
        #expect(try PcapFile.content(of: file).datagrams.first?.time == 1_700_000_000_000_005_000)
    }
}

@Suite(.takingTurns) struct RecordingNoteTests {
    static let notes: [RecordingNote] = [
        .snapshotBegins, .snapshotEnds, .nameservers([]), .remark("dial: a = b"),
        .nameservers([IPAddress(10, 1, 0, 1), IPAddress("fd00::1")].compactMap(\.self)),
        .device(index: 3, DeviceFacts()),
        .device(
            index: 9,
            DeviceFacts(
                devtype: "wwan", hasPhy80211: true, driver: "a=b", hasDevice: true, lowerLinks: ["wwan0", "x"],
                pppoeDevices: ["eth0", "eth0"])),
    ]

    @Test(arguments: notes) func isReadAsItWasWritten(_ note: RecordingNote) {
        #expect(RecordingNote(text: note.text) == note)
        var read: [RecordingNote?] = []
        RecordedDatagram(time: 0, family: .program, bytes: note.message).forEachMessage {
            read.append(RecordingNote(message: $0))
        }
        #expect(read == [note])
    }

    @Test(arguments: ["", "\n", "device=", "device=x\n", "something=else"])
    func anythingElseIsNone(_ text: String) { #expect(RecordingNote(text: text) == nil) }
}
