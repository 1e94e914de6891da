import Glibc
import ResourceLoader

/// `commit FOLDER` works until it is killed, with a byte on standard output before each operation. `work FOLDER COUNT`
/// does that many operations. `full FOLDER` goes through what a full disk does. Exit status 0 if all was as it should
/// be, else 1 and a line that says what was wrong.
@main struct Main {
    static func main() {
        let arguments = CommandLine.arguments
        do {
            switch arguments.dropFirst().first {
            case "commit": try commitForEver(arguments[2])
            case "work": try work(arguments[2], Int(arguments[3]) ?? 0)
            case "full": try FullDisk(folder: arguments[2]).run()
            default: throw CacheTorture.Wrong(what: "usage: CacheTortureChild commit|work|full FOLDER [COUNT]")
            }
        } catch {
            print(error)
            exit(1)
        }
    }

    static func commitForEver(_ folder: String) throws {
        let durability: CacheDurability = [.process, .process, .process, .body, .full].randomElement() ?? .process
        var torture = CacheTorture(
            cache: try DiskCache(directory: folder, configuration: CacheTorture.configuration(durability)))
        while true {
            var tick: UInt8 = 1
            if write(1, &tick, 1) != 1 { return }
            try torture.step()
        }
    }

    static func work(_ folder: String, _ count: Int) throws {
        var torture = CacheTorture(
            cache: try DiskCache(directory: folder, configuration: CacheTorture.configuration()))
        for _ in 0..<count { try torture.step() }
        guard torture.cache.incidents.isEmpty, torture.cache.statistics.lostBodies == 0 else {
            throw CacheTorture.Wrong(what: "\(torture.cache.statistics) \(torture.cache.incidents)")
        }
    }
}
