import Glibc

/// An open file, closed with the last reference. A lock taken on it goes with it.
final class FileDescriptor: Sendable {
    let raw: Int32

    /// Takes over an open descriptor; `nil` for the -1 of a failed open.
    init?(_ raw: Int32) {
        guard raw >= 0 else { return nil }
        self.raw = raw
    }

    deinit {
        // Closing alone would keep the lock for as long as a child that is being started has the descriptor, too.
        flock(raw, LOCK_UN)
        close(raw)
    }

    enum Lock {
        case shared
        case exclusive
    }

    /// An advisory lock of this open file, without waiting. The kernel drops it when the process dies, however it dies.
    func tryLock(_ kind: Lock) -> Bool {
        flock(raw, (kind == .shared ? LOCK_SH : LOCK_EX) | LOCK_NB) == 0
    }

    /// The same, waiting for the other holders.
    func lockExclusively() -> Bool {
        retryingInterruptions { flock(raw, LOCK_EX) } == 0
    }

    var status: stat? {
        var status = stat()
        return fstat(raw, &status) == 0 ? status : nil
    }

    /// Fills as much of the buffer as the file has from there; -1 with errno set on failure.
    func read(into buffer: UnsafeMutableRawBufferPointer, at offset: Int64) -> Int {
        var done = 0
        while done < buffer.count {
            let rest = UnsafeMutableRawBufferPointer(rebasing: buffer[done...])
            let got = retryingInterruptions { pread(raw, rest.baseAddress, rest.count, off_t(offset) + done) }
            if got < 0 { return -1 }
            if got == 0 { break }
            done += got
        }
        return done
    }

    /// How many bytes were written before the end or a failure, which `errno` then tells.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: Int64) -> Int {
        var done = 0
        while done < bytes.count {
            let rest = UnsafeRawBufferPointer(rebasing: bytes[done...])
            let put = retryingInterruptions { pwrite(raw, rest.baseAddress, rest.count, off_t(offset) + done) }
            if put <= 0 { break }
            done += put
        }
        return done
    }
}

func retryingInterruptions<Result: SignedInteger>(_ call: () -> Result) -> Result {
    while true {
        let result = call()
        if result != -1 || errno != EINTR { return result }
    }
}
