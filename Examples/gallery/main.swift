import Glibc

// A closed connection or pipe is an error to handle, not the end of the program.
signal(SIGPIPE, SIG_IGN)
do {
    switch try Invocation(Array(CommandLine.arguments.dropFirst())) {
    case .server(let port, let rate): try PictureServer(port: port, bytesPerSecond: rate).serve()
    case .client(let server, let folder): try await Client(server: server, folder: folder).run()
    case .story(let page): exit(try Stage(page: page).perform())
    case .insideStory(let page, let world): exit(try await Story(page: page, world: world).tell())
    case .help: say(Invocation.usage)
    }
} catch {
    complain("gallery: \(error)")
    exit(error is UsageError ? 2 : 1)
}
