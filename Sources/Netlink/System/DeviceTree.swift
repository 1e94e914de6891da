/// What sysfs and procfs say about the hardware behind a link.
package struct DeviceTree: Sendable {
    private let sysfs: String
    private let procfs: String

    /// - Parameters: where the file systems are mounted; a test gives folders of its own.
    package init(sysfs: String = "/sys", procfs: String = "/proc") {
        self.sysfs = sysfs
        self.procfs = procfs
    }

    package func facts(of link: LinkMessage) -> DeviceFacts {
        var facts = DeviceFacts()
        if link.kind == "ppp" || link.hardwareType == ARPHRD.ppp { facts.pppoeDevices = pppoeDevices() }
        let folder = "\(sysfs)/class/net/\(link.name)"
        guard let uevent = SmallFile.read("\(folder)/uevent") else { return facts }
        let properties = Dictionary(
            uevent.split(separator: "\n").compactMap { line -> (Substring, Substring)? in
                let parts = line.split(separator: "=", maxSplits: 1)
                return parts.count == 2 ? (parts[0], parts[1]) : nil
            }, uniquingKeysWith: { first, _ in first })
        // sysfs shows the namespace of whoever mounted it, which need not be that of the sockets: another link may have the name.
        guard properties["IFINDEX"].flatMap({ Int32($0) }) == link.index else { return facts }
        facts.devtype = properties["DEVTYPE"].map(String.init)
        facts.hasPhy80211 = SmallFile.exists("\(folder)/phy80211") || SmallFile.exists("\(folder)/wireless")
        facts.hasDevice = SmallFile.exists("\(folder)/device")
        facts.driver = SmallFile.linkTarget("\(folder)/device/driver")
        facts.lowerLinks = SmallFile.entries(of: folder).filter { $0.hasPrefix("lower_") }.map {
            String($0.dropFirst(6))
        }
        .sorted()
        return facts
    }

    /// The third column of /proc/net/pppoe: the links under the kernel's PPPoE sessions.
    private func pppoeDevices() -> [String] {
        // Through `self`, because a process that changed its namespace still sees its own list there.
        let lines = SmallFile.read("\(procfs)/self/net/pppoe")?.split(separator: "\n").dropFirst() ?? []
        return lines.compactMap { $0.split { $0 == " " || $0 == "\t" }.last.map(String.init) }
    }
}
