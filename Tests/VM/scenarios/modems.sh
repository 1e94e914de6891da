#!/bin/sh
# Modems and phones on the drivers that Linux has for them.
. /vm/lib.sh
. /prog/lib.sh
watch
expect offline reason=linkDown
ip netns add isp

say "a modem on cdc_ether: Ethernet in all but DEVTYPE"
usb_modem cdc_ether || fail "no wwan0"
ip link set usb0 netns isp
ip link set wwan0 name lan5
ip link set lan5 up
network isp usb0 2
wait_for 10 sh -c 'ip link show dev lan5 | grep -q LOWER_UP'
dhcp lan5 700 || fail "DHCP"
expect wwan interface=lan5 "interface.evidence=DEVTYPE wwan" expensive=true ipv4=true
row "modem, cdc_ether, renamed lan5" lan5
say "the modem loses the network"
in_ns isp ip link set usb0 down
expect offline reason=noCarrier
in_ns isp ip link set usb0 up
expect wwan
saw "offline:* wwan offline:noCarrier wwan"
kill "$(cat /run/dnsmasq.isp.usb0)"
usb_unplug
expect offline reason=linkDown

say "a modem on qmi_wwan, in raw IP mode"
usb_modem qmi_wwan || fail "no wwan0"
echo Y > /sys/class/net/wwan0/qmi/raw_ip
ip link set wwan0 name data0
ip link set data0 up
ip address add 100.64.0.2/30 dev data0
ip route add default dev data0 metric 700
expect wwan interface=data0 "interface.evidence=DEVTYPE wwan" expensive=true
row "modem, qmi_wwan, raw IP, renamed data0" data0
say "a multiplexed channel of it"
ip link set data0 down
expect offline
echo 1 > /sys/class/net/data0/qmi/add_mux
ip link set data0 up
ip link set qmimux0 up
ip address add 100.64.1.2/30 dev qmimux0
ip route add default dev qmimux0 metric 600
expect wwan interface=qmimux0 via=data0 "interface.evidence=data0: DEVTYPE wwan" expensive=true
row "modem, qmimux channel" qmimux0
usb_unplug
expect offline reason=linkDown

say "the WWAN framework"
modprobe wwan_hwsim devices=1 || fail "no wwan_hwsim"
wait_for 5 exists wwan0 || wait_for 5 test -e /sys/class/wwan/wwan0 || fail "no wwan0"
ip link add dev anything parentdev wwan0 type wwan linkid 3
ip link set anything up
ip address add 100.64.0.2/32 dev anything
ip route add default dev anything metric 700
expect wwan interface=anything "interface.evidence=kind wwan" expensive=true
row "modem, WWAN framework, named anything" anything
modprobe -r wwan_hwsim
expect offline reason=linkDown

for f in rndis:rndis_host ncm:cdc_ncm; do
    say "a phone on ${f#*:}"
    modprobe "${f#*:}"
    usb_plug "${f%:*}" 1d6b 0104 usb1 || fail "no usb1"
    ip link set usb0 netns isp
    ip link set usb1 up
    network isp usb0 3
    wait_for 10 sh -c 'ip link show dev usb1 | grep -q LOWER_UP' && dhcp usb1 650 || fail "DHCP"
    expect wired interface=usb1 "interface.evidence=driver ${f#*:}" expensive=true
    row "phone, ${f#*:}" usb1
    kill "$(cat /run/dnsmasq.isp.usb0)"
    usb_unplug
    expect offline reason=linkDown
done
saw "wwan offline:* wwan offline:* wwan offline:* wwan offline:* wired offline:* wired offline:linkDown"
watch_end
say "done"
