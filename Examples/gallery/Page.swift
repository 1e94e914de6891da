import Glibc

/// The story as one HTML page without anything from outside: what was on the screen, what the network was, and what each
/// link carried, over time.
struct Page {
    private let entries: Diary.Entries

    private let left = 140.0
    private let width = 1080.0

    init(_ entries: Diary.Entries) { self.entries = entries }

    func write(to path: String) throws {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644)
        guard file >= 0 else { throw Trouble("cannot write \(path): \(String(cString: strerror(errno)))") }
        defer { close(file) }
        var rest = Array(html.utf8)[...]
        while !rest.isEmpty {
            let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            guard count > 0 else { throw Trouble("cannot write \(path): \(String(cString: strerror(errno)))") }
            rest = rest.dropFirst(count)
        }
    }

    private func position(_ time: Double) -> Double { left + width * time / max(0.1, entries.end) }

    private func x(_ time: Double) -> String { position(time).fixed(1) }

    private func span(_ from: Double, _ to: Double) -> String { (width * (to - from) / max(0.1, entries.end)).fixed(1) }

    // MARK: - The page

    private var html: String {
        let checks = entries.chapters.flatMap(\.checks)
        let held = checks.filter(\.holds).count
        return """
            <!doctype html>
            <html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
            <title>A phone between two networks</title><style>\(Self.style)</style></head><body><main>
            <header><h1>A phone between two networks</h1>
            <p>What <code>gallery story</code> saw: a loader in a network namespace with two uplinks, over
            \(entries.end.fixed(0)) seconds. <b class="\(held == checks.count ? "ok" : "wrong")">\(held) of \(checks.count)
            statements held.</b></p></header>
            <figure>\(timeline)<figcaption>\(legend)</figcaption></figure>
            <section class="facts">\(totals)</section>
            <section class="chapters">\(chapters)</section>
            </main></body></html>

            """
    }

    private var legend: String {
        let keys = [
            ("wifi", "Wi-Fi"), ("wwan", "cellular"), ("offline", "no network"), ("original", "original on the screen"),
            ("thumbnail", "thumbnail"), ("placeholder", "placeholder"), ("travels", "bytes travel"),
            ("waits", "a part waits"),
        ]
        return keys.map { "<span><i class=\"\($0.0)\"></i>\($0.1)</span>" }.joined()
    }

    private var totals: String {
        let last = entries.samples.last?.received ?? Received()
        let first = entries.samples.first?.received ?? Received()
        let carried = last - first
        let facts =
            [("over Wi-Fi", bytes(carried.wifi)), ("over cellular", bytes(carried.cellular))]
            + entries.facts.map { ($0.0, $0.1) }
        return facts.map { "<div><b>\(escaped($0.1))</b><span>\(escaped($0.0))</span></div>" }.joined()
    }

    private var chapters: String {
        entries.chapters.enumerated().map { number, chapter in
            let checks = chapter.checks.map { check in
                "<li class=\"\(check.holds ? "ok" : "wrong")\">\(escaped(check.what))</li>"
            }
            return """
                <article><h2><em>\(number + 1)</em>\(escaped(chapter.title))</h2>
                <time>from \(chapter.time.fixed(1)) s</time><ul>\(checks.joined())</ul></article>
                """
        }.joined()
    }

    // MARK: - The drawing

    private var timeline: String {
        let names = Picture.names.filter { entries.screens[$0] != nil }
        let statusTop = 44.0
        let chartTop = 84.0
        let chartHeight = 130.0
        let screensTop = chartTop + chartHeight + 34
        let rowHeight = 66.0
        let height = screensTop + rowHeight * Double(names.count) + 30
        var svg = """
            <svg viewBox="0 0 \((left + width + 20).fixed(0)) \(height.fixed(0))" role="img"
            aria-label="status, bytes and screen over time">
            """
        var marker = -Double.infinity
        for (number, chapter) in entries.chapters.enumerated() {
            // Chapters that follow each other at once would cover each other's numbers.
            marker = max(position(chapter.time), marker + 24)
            svg += """
                <line class="chapter" x1="\(x(chapter.time))" x2="\(x(chapter.time))" y1="26" y2="\((height - 24).fixed(0))"/>
                <circle class="chapter" cx="\(marker.fixed(1))" cy="16" r="10"/>
                <text class="number" x="\(marker.fixed(1))" y="20">\(number + 1)</text>
                """
        }
        svg += label("network", statusTop + 18)
        for (index, status) in entries.statuses.enumerated() {
            let end = index + 1 < entries.statuses.count ? entries.statuses[index + 1].time : entries.end
            svg += """
                <rect class="\(status.status)" x="\(x(status.time))" y="\(statusTop.fixed(0))" height="26" rx="3"
                width="\(span(status.time, end))"><title>\(escaped(status.words))</title></rect>
                """
        }
        svg += label("received", chartTop + 18) + chart(chartTop, chartHeight)
        for (row, name) in names.enumerated() { svg += screen(name, screensTop + Double(row) * rowHeight) }
        for second in stride(from: 0.0, through: entries.end, by: 5) {
            svg += "<text class=\"tick\" x=\"\(x(second))\" y=\"\((height - 6).fixed(0))\">\(second.fixed(0)) s</text>"
        }
        return svg + "</svg>"
    }

    private func label(_ text: String, _ y: Double) -> String {
        "<text class=\"label\" x=\"\((left - 14).fixed(0))\" y=\"\(y.fixed(0))\">\(text)</text>"
    }

    /// Bytes a second on both links, over quarters of a second.
    private func chart(_ top: Double, _ height: Double) -> String {
        let window = 0.25
        let buckets = Int(entries.end / window) + 1
        var wifi = [Double](repeating: 0, count: buckets)
        var cellular = wifi
        for (before, after) in zip(entries.samples, entries.samples.dropFirst()) {
            let bucket = min(buckets - 1, max(0, Int(after.time / window)))
            // A counter starts anew when its link is made anew.
            wifi[bucket] += Double(max(0, after.received.wifi - before.received.wifi)) / window
            cellular[bucket] += Double(max(0, after.received.cellular - before.received.cellular)) / window
        }
        let top100 = max(1, (wifi + cellular).max() ?? 1)
        func area(_ rates: [Double], _ name: String) -> String {
            var points = "\(x(0)),\((top + height).fixed(1))"
            for (index, rate) in rates.enumerated() {
                let y = (top + height - height * (rate / top100)).fixed(1)
                let (from, to) = (Double(index) * window, min(entries.end, Double(index + 1) * window))
                points += " \(x(from)),\(y) \(x(to)),\(y)"
            }
            return "<polygon class=\"area \(name)\" points=\"\(points) \(x(entries.end)),\((top + height).fixed(1))\"/>"
        }
        return """
            <line class="axis" x1="\(x(0))" x2="\(x(entries.end))" y1="\((top + height).fixed(1))" y2="\((top + height).fixed(1))"/>
            <text class="scale" x="\((left - 14).fixed(0))" y="\((top + 36).fixed(0))">up to \(bytes(Int64(top100)))/s</text>
            \(area(wifi, "wifi"))\(area(cellular, "wwan"))
            """
    }

    /// What one picture's place on the screen showed.
    private func screen(_ name: String, _ top: Double) -> String {
        let screens = entries.screens[name] ?? []
        let seed = Picture.names.firstIndex(of: name) ?? 0
        var svg = """
            <image x="\((left - 78).fixed(0))" y="\(top.fixed(0))" width="64" height="48" preserveAspectRatio="xMidYMid slice"
            href="data:image/png;base64,\(base64(Picture(width: 64, height: 48, seed: seed).png))"/>
            <text class="name" x="\((left - 86).fixed(0))" y="\((top + 28).fixed(0))">\(name)</text>
            """
        var runs: [(from: Double, to: Double, screen: Diary.Screen)] = []
        for (index, screen) in screens.enumerated() {
            let end = index + 1 < screens.count ? screens[index + 1].time : entries.end
            if let last = runs.last, last.screen.picture == screen.picture {
                runs[runs.count - 1].to = end
            } else {
                runs.append((screen.time, end, screen))
            }
        }
        for run in runs {
            let kind = run.screen.picture.hasPrefix("[") ? "placeholder" : run.screen.picture
            let isWide = (run.to - run.from) / max(0.1, entries.end) * width > 70
            svg += """
                <rect class="\(kind)" x="\(x(run.from))" y="\(top.fixed(0))" width="\(span(run.from, run.to))" height="34" rx="3">
                <title>\(escaped("\(run.screen.picture) from \(run.from.fixed(2)) s: \(run.screen.why)"))</title></rect>
                """
            if isWide {
                svg += """
                    <text class="on-\(kind)" x="\((left + width * run.from / max(0.1, entries.end) + 9).fixed(1))"
                    y="\((top + 22).fixed(0))">\(escaped(run.screen.picture))</text>
                    """
            }
        }
        // Beneath it, what travelled for it and what waited.
        var works: [(from: Double, to: Double, kind: String)] = []
        for (index, screen) in screens.enumerated() where !screen.progress.isEmpty {
            let end = index + 1 < screens.count ? screens[index + 1].time : entries.end
            let kind = screen.progress.contains("waits") ? "waits" : "travels"
            if let last = works.last, last.kind == kind, last.to == screen.time {
                works[works.count - 1].to = end
            } else {
                works.append((screen.time, end, kind))
            }
        }
        for work in works {
            svg += """
                <rect class="\(work.kind)" x="\(x(work.from))" y="\((top + 37).fixed(0))" width="\(span(work.from, work.to))"
                height="7"><title>\(work.kind)</title></rect>
                """
        }
        return svg
    }

    private func escaped(_ text: String) -> String {
        text.reduce(into: "") { result, character in
            switch character {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            default: result.append(character)
            }
        }
    }

    private func base64(_ bytes: [UInt8]) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
        var text: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: 3) {
            let group = bytes[start..<min(start + 3, bytes.count)]
            let bits = group.reduce(0) { $0 << 8 | Int($1) } << (8 * (3 - group.count))
            for place in 0..<4 {
                text.append(place <= group.count ? alphabet[bits >> (18 - 6 * place) & 63] : UInt8(ascii: "="))
            }
        }
        return String(decoding: text, as: UTF8.self)
    }

    private static let style = """
        :root{--ink:#1c2733;--soft:#6a7886;--line:#dfe5ea;--page:#f5f7f9;--card:#fff;--wifi:#2f7fd8;--wwan:#e8862e;
        --off:#b6bfc8;--orig:#2d9d78;--thumb:#9ad4bf;--hold:#e6eaee}
        @media (prefers-color-scheme:dark){:root{--ink:#e8edf2;--soft:#93a1af;--line:#2c3843;--page:#11181f;--card:#18222b;
        --off:#4a5763;--thumb:#2b6b57;--hold:#25313c}}
        *{box-sizing:border-box}body{margin:0;background:var(--page);color:var(--ink);
        font:15px/1.5 system-ui,"Segoe UI",Roboto,"Noto Sans",sans-serif}
        main{max-width:1280px;margin:0 auto;padding:36px 28px 60px}h1{font-size:30px;letter-spacing:-.02em;margin:0 0 4px}
        header p{margin:0 0 22px;color:var(--soft);max-width:70ch}code{font-size:.92em}
        b.ok{color:var(--orig)}b.wrong{color:#d5443a}
        figure,article,.facts div{background:var(--card);border:1px solid var(--line);border-radius:12px}
        figure{margin:0;padding:18px 18px 12px}svg{width:100%;height:auto;display:block}
        figcaption{display:flex;flex-wrap:wrap;gap:6px 20px;color:var(--soft);font-size:13px;padding:8px 4px 2px 0}
        figcaption i{display:inline-block;width:12px;height:12px;border-radius:3px;margin-right:7px;vertical-align:-1px}
        .wifi{fill:var(--wifi);background:var(--wifi)}.wwan{fill:var(--wwan);background:var(--wwan)}
        .offline,.unknown{fill:var(--off);background:var(--off)}.wired,.other{fill:#8a6fd1;background:#8a6fd1}
        .original{fill:var(--orig);background:var(--orig)}.thumbnail{fill:var(--thumb);background:var(--thumb)}
        .placeholder{fill:var(--hold);background:var(--hold)}.travels{fill:var(--ink);background:var(--ink);opacity:.75}
        .waits{fill:var(--ink);background:var(--ink);opacity:.16}.area{opacity:.82}line.axis{stroke:var(--line)}
        line.chapter{stroke:var(--line);stroke-dasharray:3 4}circle.chapter{fill:var(--ink)}
        text{fill:var(--ink);font-size:13px}text.number{fill:var(--card);font-weight:700;text-anchor:middle;font-size:12px}
        text.label,text.scale,text.name{text-anchor:end}text.label{font-weight:600}text.scale,text.tick{fill:var(--soft);font-size:11px}
        text.name{font-weight:600}text.on-original{fill:#fff;font-weight:600}text.on-placeholder{fill:var(--soft)}
        .facts{display:grid;grid-template-columns:repeat(auto-fit,minmax(190px,1fr));gap:14px;margin:18px 0}
        .facts div{padding:14px 16px}.facts b{display:block;font-size:19px;letter-spacing:-.01em}
        .facts span{color:var(--soft);font-size:13px}
        .chapters{display:grid;grid-template-columns:repeat(auto-fit,minmax(350px,1fr));gap:14px}
        article{padding:16px 18px}h2{font-size:16px;line-height:22px;margin:0;display:flex;gap:9px}h2 em{display:inline-flex;flex:none;width:22px;height:22px;
        border-radius:50%;background:var(--ink);color:var(--card);font:700 12px/22px inherit;font-style:normal;
        align-items:center;justify-content:center}
        time{color:var(--soft);font-size:12px;margin-left:31px}ul{list-style:none;margin:8px 0 0;padding:0 0 0 31px}
        li{position:relative;margin:3px 0}li:before{position:absolute;left:-22px;font-weight:700}
        li.ok:before{content:"\\2713";color:var(--orig)}li.wrong:before{content:"\\2717";color:#d5443a}
        li.wrong{color:#d5443a;font-weight:600}
        """
}
