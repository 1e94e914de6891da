/// What a statement about an interface rests on, strongest first. It travels with the answer, so that people can be told.
public indirect enum Evidence: Sendable, Hashable {
    /// The program said so (``InterfaceRule``), by a pattern or a described predicate.
    case rule(String)
    /// nl80211 knows it as a wireless interface of this mode.
    case nl80211(mode: String)
    /// IFLA_INFO_KIND, the kernel's word for a virtual interface, such as `wwan` or `wireguard`.
    case kind(String)
    /// `ifi_type`, the hardware type: a number of `if_arp.h`, such as 512 for PPP.
    case hardwareType(Int)
    /// DEVTYPE in sysfs, such as `wlan` or `wwan`.
    case devtype(String)
    /// sysfs lists a wireless PHY beneath it.
    case phy80211
    /// The driver bound to the device, such as `rndis_host` of a tethered phone.
    case driver(String)
    /// A PPPoE session over this interface (/proc/net/pppoe).
    case pppoe(over: String)
    /// sysfs lists this interface beneath it.
    case lowerLink(String)
    /// Nothing but the name.
    case name(String)
    /// Hardware that speaks Ethernet, and nothing says that it is a radio.
    case ethernetDevice
    /// The interface beneath or in it, and what is known of that.
    case beneath(String, Evidence)
    /// The type: a modem costs money unless the program says otherwise.
    case type(NetworkInterface.InterfaceType)
    /// Nothing is known either way.
    case nothing
}

extension Evidence: CustomStringConvertible {
    /// A few words, such as `kind wwan` or `name wlan0`.
    public var description: String {
        switch self {
        case .rule(let text): "rule \(text)"
        case .nl80211(let mode): "nl80211 \(mode)"
        case .kind(let kind): "kind \(kind)"
        case .hardwareType(let number): "hardware type \(number)"
        case .devtype(let type): "DEVTYPE \(type)"
        case .phy80211: "phy80211"
        case .driver(let driver): "driver \(driver)"
        case .pppoe(let link): "PPPoE over \(link)"
        case .lowerLink(let link): "lower link \(link)"
        case .name(let name): "name \(name)"
        case .ethernetDevice: "Ethernet device"
        case .beneath(let name, let evidence): "\(name): \(evidence)"
        case .type(let type): "type \(type.rawValue)"
        case .nothing: "nothing known"
        }
    }
}
