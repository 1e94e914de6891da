#!/bin/sh
# The life of a Wi-Fi link, from before there is nl80211 to its removal.
. /vm/lib.sh
. /prog/lib.sh
watch
expect offline reason=linkDown
recording /run/wifi.pcap
lsmod | grep -q 80211 && fail "asking must not load cfg80211"

say "a radio is plugged in, and its link renamed"
wifi_radios 3
ip link set wlan0 name lan7
quiet ip link set lan7 alias "no news"
wifi_join lan7
expect offline reason=noCarrier
say "an access point appears; keys are exchanged"
ap_start 1 1
expect -t 30 offline reason=noAddress
saw "offline:linkDown offline:noCarrier offline:dormant offline:noAddress"
row "Wi-Fi station without an address" lan7
dhcp lan7 600
expect wifi interface=lan7 via=lan7 interface.type=wifi "interface.evidence=nl80211 station" expensive=false ipv4=true
expect -t 15 wifi ipv6=true
saw "offline:noAddress*wifi"
row "Wi-Fi station" lan7
/prog/reach explain > /run/explain
grep -q 'network "testnet", access point 02:00:00:00:01:00, signal -[0-9]* dBm' /run/explain ||
    { cat /run/explain; fail "network and signal"; }

say "scans and signal events are no news"
scan() { wpa_cli -p /run/wpa -i lan7 scan freq=2412,2437 >/dev/null; sleep 3; }
quiet scan

say "roaming: a settled stream does not show the gap; the raw one does, unless the machine was too busy to see it"
/prog/reach watch --json --settle 1500 > /run/settled.log & SETTLED=$!
ap_start 2 6
wait_for 5 test -s /run/settled.log
wifi_roam lan7 2 || fail "no roaming"
expect -t 15 wifi
sleep 2
kill $SETTLED
grep -q offline /run/settled.log && fail "the settled stream shows offline"
saw "wifi*"

say "the access point throws the station out; it joins again"
in_ns ap hostapd_cli -p /run/hostapd -i wlan2 deauthenticate "$(cat /sys/class/net/lan7/address)" >/dev/null
passed offline
expect -t 20 wifi
saw "wifi offline:* wifi"

say "the access points go"
ap_stop 1
ap_stop 2
expect -t 10 offline reason=noCarrier
ap_start 1 1
expect -t 30 wifi
saw "wifi offline:* wifi"

say "out of range and back"
wifi_range 2
expect -t 60 offline reason=noCarrier
wifi_range 1
expect -t 40 wifi
saw "wifi offline:* wifi"

say "rfkill: the IPv4 route goes without a word"
for r in /sys/class/net/lan7/phy80211/rfkill*; do echo 1 > "$r/soft"; done
expect offline reason=linkDown
for r in /sys/class/net/lan7/phy80211/rfkill*; do echo 0 > "$r/soft"; done
ip link set lan7 up
expect -t 30 wifi ipv6=true
dhcp lan7 600
expect wifi ipv4=true

say "a monitor beside it, then an access point in its place: neither leads out, whatever the routes say"
iw dev lan7 interface add mon7 type monitor
ip link set mon7 up
row "Wi-Fi monitor" mon7
iw dev mon7 del
wifi_leave
expect offline
ip link set lan7 down
iw dev lan7 set type __ap
cat > /run/hostapd.own <<EOF
interface=lan7
driver=nl80211
ssid=mine
channel=1
hw_mode=g
EOF
hostapd -B -P /run/hostapd.own.pid /run/hostapd.own >/dev/null || fail "hostapd"
wait_for 10 operstate lan7 up || fail "access point"
ip address replace 10.9.0.1/24 dev lan7
ip route replace default via 10.9.0.2 dev lan7
wait_for 5 sh -c "ip route get 8.8.8.8 | grep -q lan7" || fail "route"
sleep 1
expect offline reason=linkDown
row "Wi-Fi access point with a default route" lan7
kill "$(cat /run/hostapd.own.pid)"
sleep 1

say "unplugged"
ap_stop 1
modprobe -r mac80211_hwsim
expect offline reason=linkDown
say "and plugged in again, with another family number perhaps"
modprobe -r mac80211 cfg80211
wait_for 5 sh -c '! lsmod | grep -q 80211' || fail "cfg80211 stays"
modprobe mac80211_hwsim radios=1
ip link set wlan0 name lan8 up
sleep 1
row "Wi-Fi after cfg80211 was loaded again" lan8
grep -q 'after cfg80211.*wifi (nl80211 station)' "$OUT/table.md" || fail "nl80211 after a reload"
recording_end /run/wifi.pcap
grep -q '"evidence":"nl80211 station"' /run/replay.json || fail "nl80211 is not in the recording"
cp /run/wifi.pcap "$OUT/"
watch_end
say "done"
