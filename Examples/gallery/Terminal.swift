import Glibc

/// A line on standard output, at once, also into a pipe.
func say(_ line: String) { put(line + "\n", STDOUT_FILENO) }

/// A line on standard error.
func complain(_ line: String) { put(line + "\n", STDERR_FILENO) }

private func put(_ text: String, _ descriptor: CInt) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
        if count > 0 { rest = rest.dropFirst(count) } else if errno != EINTR { return }
    }
}

/// Seconds of CLOCK_MONOTONIC.
func monotonicSeconds() -> Double {
    var time = timespec()
    clock_gettime(CLOCK_MONOTONIC, &time)
    return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
}

extension Double {
    /// With so many digits after the point.
    func fixed(_ digits: Int) -> String {
        let scale = (0..<digits).reduce(1.0) { product, _ in product * 10 }
        let units = Int64((magnitude * scale).rounded())
        let sign = self < 0 && units != 0 ? "-" : ""
        guard digits > 0 else { return sign + "\(units)" }
        let fraction = String(units % Int64(scale))
        return sign + "\(units / Int64(scale))." + String(repeating: "0", count: digits - fraction.count) + fraction
    }
}

/// A number of bytes for people.
func bytes(_ count: Int64) -> String {
    switch count {
    case ..<1000: "\(count) B"
    case ..<1_000_000: "\((Double(count) / 1e3).fixed(1)) kB"
    default: "\((Double(count) / 1e6).fixed(2)) MB"
    }
}

/// Runs a program to its end.
func run(_ words: String...) throws { try run(words) }

/// Runs a program to its end.
func run(_ words: [String]) throws {
    let status = exitStatus(of: try start(words))
    if status != 0 { throw Trouble("'\(words.joined(separator: " "))' failed with status \(status)") }
}

/// Starts a program, found by PATH.
func start(_ words: [String]) throws -> pid_t {
    var arguments = words.map { strdup($0) } + [nil]
    defer { for argument in arguments { free(argument) } }
    var child = pid_t()
    let error = posix_spawnp(&child, words[0], nil, nil, &arguments, environ)
    guard error == 0 else { throw Trouble("cannot start \(words[0]): \(String(cString: strerror(error)))") }
    return child
}

/// The exit status of a child; 128 and more for a signal.
func exitStatus(of child: pid_t) -> CInt {
    var status: CInt = 0
    while waitpid(child, &status, 0) < 0, errno == EINTR {}
    return status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
}
