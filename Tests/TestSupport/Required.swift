import Foundation

/// Whether nothing may be skipped for want of rights or tools, which is so in CI.
public let isEverythingRequired = ProcessInfo.processInfo.environment["CI"] == "true"
