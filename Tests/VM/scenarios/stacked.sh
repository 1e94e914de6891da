#!/bin/sh
# What is stacked on Ethernet and modems: VLAN, macvlan, bridge, bond, VRF, tunnels.
. /vm/lib.sh
. /prog/lib.sh
# over DEVICE: the address and the default route move there.
ADDRESS=10.0.2.99/24
over() {
    ip address flush dev "$1"
    ip address add $ADDRESS dev "$1"
    ip link set "$1" up
    ip route replace default via 10.0.2.2 dev "$1"
}
# Here it is all about IPv4: the network of qemu advertises IPv6 routes by itself.
sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
watch
wired 100
expect wired interface=eth0 via=eth0 "interface.evidence=name eth0" expensive=false
row "Ethernet (virtio)" eth0
ip link set eth0 down
expect offline reason=linkDown
ip link set eth0 name lan0
wired_up() { ip link set lan0 up; over lan0; }
wired_up
expect wired interface=lan0 "interface.evidence=Ethernet device"
row "Ethernet (virtio), renamed lan0" lan0

say "VLAN, macvlan"
ip address flush dev lan0
modprobe -a 8021q macvlan bridge bonding vrf veth tun wireguard ipip xfrm_interface dummy
ip link add link lan0 name office type vlan id 7
over office
expect wired interface=office via=lan0 "interface.evidence=lan0: Ethernet device"
row "VLAN on Ethernet" office
cable off
expect offline reason=noCarrier
cable on
expect wired
ip link del office
ip link add link lan0 name mac0 type macvlan mode bridge
over mac0
expect wired interface=mac0 via=lan0
row "macvlan on Ethernet" mac0
ip link del mac0
expect offline
saw "offline:linkDown*wired offline:* wired offline:* wired offline:noCarrier wired offline:* wired offline:*"

say "a bridge with the Ethernet port among a tap and a container's port"
ip link add br0 type bridge forward_delay 0
ip tuntap add tap0 mode tap
ip link add veth0 type veth peer name inside
for port in tap0 veth0 lan0; do ip link set $port master br0; ip link set $port up; done
ip link set inside up
over br0
expect wired interface=br0 via=lan0
row "bridge of Ethernet, a tap and a veth" br0
cable off
expect offline reason=noCarrier
cable on
expect wired
say "the port leaves, and the link lives on; what is left leads to nobody knows what"
ip link set lan0 nomaster
expect other interface=br0 via=br0
row "bridge of a tap and a veth" br0
ip link del br0
wired_up
expect wired interface=lan0

say "a VRF: the default route inside is none outside"
ip address flush dev lan0
ip link add blue type vrf table 100
ip link set blue up
ip link set lan0 master blue
ip address add $ADDRESS dev lan0
ip route add default via 10.0.2.2 dev lan0 vrf blue
ip route get 8.8.8.8 vrf blue | grep -q lan0 || fail "no way out in the VRF"
expect offline reason=noRoute
row "Ethernet in a VRF, default route there" lan0
ip link set lan0 nomaster
ip link del blue
wired_up
expect wired interface=lan0

say "WireGuard, with the rules of wg-quick"
ip link add wg0 type wireguard
(umask 077 && wg genkey > /run/key)
wg set wg0 private-key /run/key fwmark 51820 peer "$(wg genkey | wg pubkey)" endpoint 10.0.2.2:51820 allowed-ips 0.0.0.0/0
ip address add 10.66.0.2/32 dev wg0
ip link set wg0 up
ip route add default dev wg0 table 51820
ip rule add not fwmark 51820 table 51820
ip rule add table main suppress_prefixlength 0
expect wired interface=wg0 via=lan0 interface.type=other "interface.evidence=kind wireguard"
row "WireGuard over Ethernet (wg-quick)" wg0
cable off
expect offline reason=noCarrier
cable on
expect wired interface=wg0
say "a modem as the way out beneath it"
ip netns add isp
usb_modem cdc_ether || fail "no wwan0"
ip link set usb0 netns isp
ip link set wwan0 up
network isp usb0 2
wait_for 10 sh -c 'ip link show dev wwan0 | grep -q LOWER_UP' && dhcp wwan0 50 || fail "DHCP"
ip route del default dev lan0
expect wwan interface=wg0 via=wwan0 expensive=true
row "WireGuard over a modem" wg0
say "a namespace that owns just the tunnel"
ip rule del table main suppress_prefixlength 0
ip rule del not fwmark 51820 table 51820
ip netns add pod
ip link set wg0 netns pod
in_ns pod ip address add 10.66.0.2/32 dev wg0
in_ns pod ip link set wg0 up
in_ns pod ip route add default dev wg0
in_ns pod /prog/reach status --json > /run/pod.json
fits "$(cat /run/pod.json)" other interface=wg0 via=wg0 || { cat /run/pod.json; fail "only a tunnel"; }
say "ok: other"
ip netns del pod
ip route del default dev wwan0
ip route add default via 10.0.2.2 dev lan0
expect wired interface=lan0

say "ipip and xfrm"
ip route add 192.0.2.9/32 via 10.0.2.2 dev lan0
ip link add ipip1 type ipip remote 192.0.2.9 local 10.0.2.99
ip address add 10.67.0.2/30 dev ipip1
ip link set ipip1 up
ip route add default dev ipip1 metric 5
ip route del default dev lan0
ip route add default via 10.0.2.2 dev lan0 metric 500
expect wired interface=ipip1 via=lan0 "interface.evidence=kind ipip"
row "ipip over Ethernet" ipip1
ip link del ipip1
ip link add xfrm1 type xfrm dev lan0 if_id 5
ip address add 10.68.0.2/30 dev xfrm1
ip link set xfrm1 up
ip route add default dev xfrm1 metric 5
expect wired interface=xfrm1 via=lan0 "interface.evidence=kind xfrm"
row "xfrm interface over Ethernet" xfrm1
cable off
expect offline reason=noCarrier
cable on
expect wired interface=xfrm1
ip link del xfrm1
ip route del default metric 500

say "a bond of Ethernet and a modem: failover is a change of medium"
ip address flush dev lan0
ip address flush dev wwan0
ip link add bond7 type bond mode active-backup miimon 100 fail_over_mac active
for port in lan0 wwan0; do ip link set $port down; ip link set $port master bond7; done
ip link set bond7 type bond primary lan0
over bond7
expect wired interface=bond7 via=lan0 expensive=false
row "bond, Ethernet active" bond7
saw "*wired"
cable off
expect wwan interface=bond7 via=wwan0 "interface.evidence=wwan0: DEVTYPE wwan" expensive=true
row "bond, modem active" bond7
cable on
expect wired via=lan0 expensive=false
saw "wired*wwan*wired"
ip link del bond7
usb_unplug

say "what leads nowhere, and what has but a name"
ip link set lan0 down
ip link add dummy7 type dummy
ip address add 10.70.0.2/24 dev dummy7
ip link set dummy7 up
ip route add default via 10.70.0.1 dev dummy7
wait_for 5 sh -c 'ip route get 8.8.8.8 | grep -q dummy7' || fail "route"
expect offline reason=noAddress
row "dummy with a default route" dummy7
ip link del dummy7
ip link set veth0 down
ip link set veth0 name wlan9
ip link set wlan9 up
over wlan9
expect wifi interface=wlan9 "interface.evidence=name wlan9"
row "veth renamed wlan9" wlan9
ip tuntap add tun7 mode tun
ip address add 10.71.0.2/24 dev tun7
ip link set tun7 up
ip route replace default dev tun7 metric 0
expect offline reason=noCarrier
row "tun without a reader, default route" tun7
watch_end
say "done"
