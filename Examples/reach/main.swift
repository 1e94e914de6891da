import Reachability

let monitor = ReachabilityMonitor()
try monitor.start()
for await path in monitor { print(path) }
