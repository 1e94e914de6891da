# What scenarios say about `reach`. Source it after /vm/lib.sh, which makes the devices: . /prog/lib.sh
export LD_LIBRARY_PATH=/prog/lib
LOG=/run/reach.log

# watch [COMMAND...]: starts `reach watch --json`, by way of COMMAND (such as: in_ns blue).
watch() {
    : > $LOG
    SEEN=0
    "$@" /prog/reach watch --json >> $LOG 2> /run/reach.err & WATCH=$!
    wait_for 5 test -s $LOG || { cat /run/reach.err; fail "no first report"; }
}
watch_end() {
    kill $WATCH
    wait $WATCH || fail "reach watch ended with status $?"
}

# fits LINE WORD...: STATUS, or key=value, of a line of JSON.
# Keys: reason, expensive, ipv4, ipv6, dns; interface and via (names), and their type and evidence: via.evidence=…
fits() {
    f_line=$1; shift
    for f_word in "$@"; do
        f_key=${f_word%%=*}; f_value=${f_word#*=}
        case $f_word in
        interface=* | via=*) f_part=$f_line; f_text="\"$f_key\":{\"name\":\"$f_value\"" ;;
        interface.*=* | via.*=*)
            f_part=$(echo "$f_line" | sed -n "s/.*\"${f_key%%.*}\":\({[^}]*}\).*/\1/p")
            f_text="\"${f_key#*.}\":\"$f_value\"" ;;
        expensive=* | ipv4=* | ipv6=* | dns=*) f_part=$f_line; f_text="\"$f_key\":$f_value" ;;
        *=*) f_part=$f_line; f_text="\"$f_key\":\"$f_value\"" ;;
        *) f_part=$f_line; f_text="\"status\":\"$f_word\"" ;;
        esac
        case $f_part in *"$f_text"*) ;; *) return 1 ;; esac
    done
}
last_fits() { fits "$(tail -n 1 $LOG)" "$@"; }

# expect [-t SECONDS] STATUS [key=value...]: the last report comes to this.
expect() {
    # Emulated, and often beside a compiler.
    e_time=10
    [ "$1" != -t ] || { e_time=$2; shift 2; }
    wait_for $e_time last_fits "$@" || { tail -n 4 $LOG; fail "expected $*"; }
    say "ok: $*"
}

# saw WORDS: the statuses reported since the last `saw` (or `watch`), with the reason after a colon where one is given: one
# word for each run of equal ones. A word may be a shell pattern. The last status is carried over.
saw() {
    s_seen=$(tail -n +$((SEEN > 0 ? SEEN : 1)) $LOG |
        sed 's/.*"status":"\([a-z]*\)","reason":\(null\|"\([A-Za-z]*\)"\).*/\1:\3/; s/:$//' | uniq | tr '\n' ' ')
    SEEN=$(wc -l < $LOG)
    case "$s_seen" in $1" ") say "ok: saw $s_seen" ;; *) fail "expected to see: $1, saw: $s_seen" ;; esac
}
# passed STATUS: since the last `saw` it was reported, if only for a moment.
passed() {
    wait_for 10 sh -c "tail -n +$((SEEN + 1)) $LOG | grep -q '\"status\":\"$1\"'" || fail "$1 was never reported"
}
# quiet COMMAND...: COMMAND brings no report.
quiet() {
    q_lines=$(wc -l < $LOG)
    "$@"
    [ "$(wc -l < $LOG)" = "$q_lines" ] || { tail -n +$((q_lines + 1)) $LOG; fail "a report where none was due: $*"; }
}

# recording FILE: `reach record` from here on. recording_end FILE: whatever the watch reported since, the recording says, too.
recording() {
    /prog/reach record "$1" & RECORD=$!
    wait_for 5 test -s "$1" || fail "nothing recorded"
    RECORDED=$(wc -l < $LOG)
}
statuses() { sed 's/.*"status":"\([a-z]*\)".*/\1/' | uniq; }
recording_end() {
    kill $RECORD
    wait $RECORD || fail "reach record ended with status $?"
    tail -n +"$RECORDED" $LOG | statuses > /run/watched
    /prog/reach replay --json "$1" > /run/replay.json || fail "reach replay ended with status $?"
    statuses < /run/replay.json > /run/replayed
    # The watch may have looked less often than there were messages.
    awk 'NR == FNR { want[++n] = $0; next } $0 == want[i + 1] { i++ } END { exit i != n }' /run/watched /run/replayed ||
        { cat /run/watched; echo "---"; cat /run/replayed; fail "the recording does not say what was watched"; }
    [ "$(tail -n 1 /run/watched)" = "$(tail -n 1 /run/replayed)" ] || fail "the recording ends otherwise"
    say "ok: replayed $(tr '\n' ' ' < /run/replayed)"
}

# mode IFACE: what nl80211 says.
mode() { iw dev "$1" info 2>/dev/null | sed -n 's/.*type //p'; }
# row DEVICE IFACE: adds a line to the table of evidence, with what the kernel shows and what `reach explain` says.
row() {
    r_sys=/sys/class/net/$2
    r_kind=$(ip -d -o link show dev "$2" | sed 's/.*promiscuity//' | grep -oE "\b($KINDS)\b" | head -1)
    r_devtype=$(sed -n 's/^DEVTYPE=//p' $r_sys/uevent)
    r_driver=$(readlink $r_sys/device/driver | sed 's/.*\///')
    r_mode=$(lsmod | grep -q '^cfg80211' && mode "$2")
    r_words=$(/prog/reach explain | awk -v name="$2" '
        $1 == "link" { found = ($2 == name); next }
        found && /^ / { sub(/^ +/, ""); print; exit }')
    r_status=$(tail -n 1 $LOG | sed 's/.*"status":"\([a-z]*\)","reason":\(null\|"\([A-Za-z]*\)"\).*/\1 \3/; s/ $//')
    echo "| $1 | ${r_kind:--} | $(cat $r_sys/type) | ${r_devtype:--} | ${r_driver:--} | ${r_mode:--} | $r_status | $r_words |" \
        >> "$OUT/table.md"
}
KINDS='veth|dummy|bridge|bond|team|vlan|vrf|macvlan|ipvlan|wireguard|tun|ipip|sit|gre|xfrm|vti|ppp|wwan|vxlan'
