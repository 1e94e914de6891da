#!/bin/sh
# What is stacked on Wi-Fi, and Wi-Fi in another network namespace.
. /vm/lib.sh
. /prog/lib.sh
sysctl -qw net.ipv6.conf.all.disable_ipv6=1 net.ipv6.conf.default.disable_ipv6=1
modprobe -a 8021q bridge bonding tun
wifi_radios 2
sed -i 's/^wpa=2/wds_sta=1\nwpa=2/' /run/hostapd.1 2>/dev/null
ap_start 1 1
wifi_join wlan0
wait_for 30 operstate wlan0 up || fail "no association"
watch
expect offline

say "VLAN on Wi-Fi"
ip link add link wlan0 name guest type vlan id 7
ip address add 10.7.0.2/24 dev guest
ip link set guest up
ip route add default via 10.7.0.1 dev guest
expect wifi interface=guest via=wlan0 "interface.evidence=wlan0: nl80211 station"
row "VLAN on Wi-Fi" guest
ip link del guest
expect offline

say "Wi-Fi in another namespace, seen from outside its /sys"
wifi_leave
ip netns add blue
iw phy phy0 set netns name blue
in_ns blue ip link set wlan0 name eth5
watch_end
watch nsenter --net=/run/netns/blue
expect offline reason=linkDown
in_ns blue sh -c '. /vm/lib.sh; wifi_join eth5'
expect -t 30 offline reason=noAddress
in_ns blue ip address add 10.1.0.77/24 dev eth5
in_ns blue ip route add default via 10.1.0.1
expect wifi interface=eth5 "interface.evidence=nl80211 station"
say "ok: $(tail -n 1 $LOG | grep -o '"evidence":"[^"]*"' | head -1)"
wifi_leave
expect offline reason=linkDown
in_ns blue iw phy phy0 set netns 1
expect offline reason=noInterface
watch_end
wait_for 5 exists eth5
ip link set eth5 name wlan0
watch

say "a bond of Ethernet and Wi-Fi"
ip link add bond7 type bond mode active-backup miimon 100 fail_over_mac active
ip link set eth0 down
ip link set eth0 master bond7
ip link set bond7 type bond primary eth0
ip link set wlan0 down
ip link set wlan0 master bond7
ip link set bond7 up
ip address add 10.0.2.99/24 dev bond7
ip route add default via 10.0.2.2 dev bond7
expect wired interface=bond7 via=eth0
wifi_join wlan0
wait_for 30 operstate wlan0 up || fail "no association as a port"
row "bond of Ethernet and Wi-Fi, Ethernet active" bond7
cable off
expect wifi interface=bond7 via=wlan0 "interface.evidence=wlan0: nl80211 station"
row "bond of Ethernet and Wi-Fi, Wi-Fi active" bond7
cable on
expect wired interface=bond7 via=eth0
saw "offline:*wired*wifi*wired"
wifi_leave
ip link del bond7
expect offline

say "a bridge with a Wi-Fi port among taps"
ip link set wlan0 down
iw dev wlan0 set 4addr on
ip link add br7 type bridge forward_delay 0
ip tuntap add tap7 mode tap
ip link set tap7 master br7
ip link set tap7 up
ip link set wlan0 master br7
ip link set br7 up
printf 'ctrl_interface=/run/wpa\nnetwork={\n ssid="testnet"\n psk="correct horse"\n scan_freq=2412 2437\n}\n' > /run/wpa.conf
wpa_supplicant -B -i wlan0 -b br7 -D nl80211 -c /run/wpa.conf -P /run/wpa.pid -f /run/wpa.log >/dev/null
wait_for 30 operstate wlan0 up || { tail -n 20 /run/wpa.log; fail "no association as a bridge port"; }
ip address add 10.1.0.78/24 dev br7
ip route add default via 10.1.0.1 dev br7
expect wifi interface=br7 via=wlan0 "interface.evidence=wlan0: nl80211 station"
row "bridge of Wi-Fi (4-address) and a tap" br7
wifi_range 2
expect -t 60 offline reason=noCarrier
wifi_range 1
expect -t 40 wifi
watch_end
say "done"
