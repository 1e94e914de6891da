import Netlink

/// What can happen while somebody follows the path to a host name.
enum HostEvent: Sendable {
    /// The path to everywhere, at first and after each change; again, where the name servers changed or the machine slept.
    case news(NetworkPath)
    /// The addresses that a question came to.
    case answer([IPAddress], question: Int)
    /// The time that was asked for is over.
    case alarm
    /// The path to one of the addresses.
    case path(IPAddress, NetworkPath)
}

/// Decides when to ask for the addresses of a name, which of them to watch, and which path is the one to the host. A value that knows
/// no clock, no thread and no resolver.
struct HostTracker {
    /// What has to be done after an event.
    struct Action {
        /// Asks, with that number.
        var question: Int?
        /// Sets the alarm, in place of any other.
        var alarm: Alarm?
    }

    enum Alarm: Equatable {
        case after(Duration)
        case never
    }

    /// More are left alone: each costs a lookup at every change, and the first ones are the ones that a program would connect to.
    static let mostAddresses = 16

    /// While one question is stuck with the network of before, another one can go to the network of now.
    private static let mostQuestions = 2

    /// How long a question may take before the name counts as unresolved.
    private let timeout: Duration
    /// How long after a failure to ask again; `nil` for never.
    private let retryInterval: Duration?

    /// The addresses to watch, in the resolver's order.
    private(set) var addresses: [IPAddress] = []
    private var paths: [IPAddress: NetworkPath] = [:]
    private var everywhere = NetworkPath.unknown

    private var lastQuestion = 0
    /// The newest question that has been answered, one way or the other.
    private var answeredQuestion = 0
    private var openQuestions: Set<Int> = []
    /// There is news that no question has been asked about yet.
    private var owesQuestion = false
    /// The time of the last question is running.
    private var isWaiting = false
    private var isUnresolved = false

    init(timeout: Duration, retryInterval: Duration?) {
        self.timeout = timeout
        self.retryInterval = retryInterval
    }

    /// The path to the host: over the first address that has a way out; `nil` as long as that can't be told.
    var path: NetworkPath? {
        if isUnresolved {
            if !everywhere.isOnline { return everywhere }
            return NetworkPath(status: .offline, reason: .unresolvedName, updates: everywhere.updates)
        }
        var furthest: NetworkPath?
        for address in addresses {
            guard let path = paths[address] else { return nil }
            if path.isOnline { return path }
            if furthest?.reason ?? .noInterface <= path.reason ?? .noInterface { furthest = path }
        }
        return furthest
    }

    mutating func take(_ event: HostEvent) -> Action {
        switch event {
        case .news(let path):
            everywhere = path
            return ask()
        case .answer(let addresses, let question):
            return take(addresses, question)
        case .alarm:
            return isWaiting ? giveUp() : ask()
        case .path(let address, let path):
            if addresses.contains(address) { paths[address] = path }
            return Action()
        }
    }

    private mutating func ask() -> Action {
        owesQuestion = openQuestions.count >= Self.mostQuestions
        if owesQuestion { return Action() }
        lastQuestion += 1
        openQuestions.insert(lastQuestion)
        isWaiting = true
        return Action(question: lastQuestion, alarm: .after(timeout))
    }

    /// The answer comes when it comes, and is used then.
    private mutating func giveUp() -> Action {
        isWaiting = false
        replaceAddresses([])
        return Action(alarm: retryInterval.map(Alarm.after) ?? .never)
    }

    private mutating func take(_ answer: [IPAddress], _ question: Int) -> Action {
        openQuestions.remove(question)
        var action = Action()
        // An old question's failure says nothing while a newer one is under way, and nothing at all counts against a newer answer.
        let isNews = question == lastQuestion || !answer.isEmpty
        if question > answeredQuestion, isNews {
            answeredQuestion = question
            replaceAddresses(answer)
            if question == lastQuestion {
                isWaiting = false
                action.alarm = isUnresolved ? retryInterval.map(Alarm.after) ?? .never : .never
            }
        }
        if owesQuestion {
            let next = ask()
            if next.question != nil { action = next }
        }
        return action
    }

    private mutating func replaceAddresses(_ new: [IPAddress]) {
        addresses = []
        for address in new where !addresses.contains(address) && addresses.count < Self.mostAddresses {
            addresses.append(address)
        }
        isUnresolved = addresses.isEmpty
        paths = paths.filter { addresses.contains($0.key) }
    }
}
