import DownloadPolicy
import Reachability
import ResourceLoader

func showTheLake(cachedIn folder: String) async throws {
    let loader = try ResourceLoader(
        monitor: ReachabilityMonitor(), preferences: PreferencesStore(application: "gallery"),
        cache: DiskCache(directory: folder))
    let lake = try Resource(
        "lake", thumbnail: "https://example.org/small/lake.jpg", original: "https://example.org/lake.jpg")
    for await display in loader.load(lake) {
        switch display.content {
        case .body(let picture, _): print("show \(picture.entry.size) bytes, the \(picture.entry.variant)")
        case .placeholder(let placeholder): print("show the placeholder \(placeholder)")
        case .empty: print("there is no such picture")
        }
    }
}
