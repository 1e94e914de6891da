#!/bin/sh
# PPP over a line, PPP over Ethernet, and both at once.
. /vm/lib.sh
. /prog/lib.sh
watch
expect offline reason=linkDown

say "dial-up"
ppp_serial ifname uplink
expect -t 30 wwan interface=uplink "interface.evidence=kind ppp" expensive=true
row "PPP over a serial line, named uplink" uplink
kill $PPP_PID; wait $PPP_PID
expect offline reason=linkDown

say "PPPoE"
modprobe -a veth pppoe
ip link add dsl type veth peer name dsl0 netns isp
in_ns isp ip link set dsl0 up
ip link set dsl up
printf 'noauth\nlocal\nlcp-echo-interval 5\nlcp-echo-failure 4\n' > /run/pppoe-server-options
touch /etc/ppp/options
in_ns isp pppoe-server -I dsl0 -L 10.65.0.1 -R 10.65.0.10 -N 1 -O /run/pppoe-server-options
dial() {
    pppd plugin "$(cd /usr/lib/pppd/*/ && pwd)/pppoe.so" nic-dsl nodetach noauth user test noipdefault defaultroute \
        lcp-echo-interval 5 lcp-echo-failure 4 > $PPP_LOG 2>&1 & PPPOE_PID=$!
}
dial
expect -t 30 wired interface=ppp0 via=dsl "interface.evidence=PPPoE over dsl" expensive=false
row "PPPoE over a veth named dsl" ppp0

say "a dial-up link beside it: one session, two ppp links, and any of them may be the modem's"
ppp_serial ifname uplink nodefaultroute
expect -t 30 wwan interface=ppp0 expensive=true
row "PPPoE beside a serial PPP link" ppp0
kill $PPP_PID; wait $PPP_PID
expect -t 10 wired interface=ppp0 expensive=false
saw "offline:* wwan offline:* wired wwan wired"

say "the cable is pulled: ppp0 stays up until its echoes fail, and yet"
in_ns isp ip link set dsl0 down
expect -t 1 offline reason=noCarrier
grep -q UP /sys/class/net/ppp0/flags || ip link show dev ppp0 | grep -q UP || fail "ppp0 is down already: nothing is shown"
in_ns isp ip link set dsl0 up
expect wired
saw "wired offline:noCarrier wired"
kill $PPPOE_PID; wait $PPPOE_PID
expect offline
watch_end
say "done"
