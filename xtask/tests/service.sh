#!/bin/sh
# The Debian package under a systemd of its own: start, wrong and right reloads, watchdog, removal.
#
#   service.sh FOLDER PACKAGE [SUITE]
#
# As root, with debootstrap, systemd-nspawn and a network. Makes FOLDER, and removes it at the end.
set -eu
if [ "$(id -u)" != 0 ] || ! command -v debootstrap systemd-nspawn >/dev/null; then
    echo "skipped; as root, with debootstrap and systemd-container, type: sh $0 FOLDER PACKAGE"
    [ "${CI:-}" != true ]
    exit
fi
folder=$1
[ ! -e "$folder" ] || { echo "$folder is there already"; exit 2; }
trap 'rm -rf --one-file-system "$folder"' EXIT
debootstrap --variant=minbase --include=systemd-sysv,iproute2 "${3:-bookworm}" "$folder" \
    >"$folder.log" || { cat "$folder.log"; exit 1; }
rm "$folder.log"
cp "$2" "$folder/root/bofuss.deb"
cat >"$folder/root/check" <<'INSIDE'
set -eux
show() { systemctl show --property "$1" --value bofuss@s1; }
refused() { echo "this should have failed"; exit 1; }
ip link add v1 type veth peer name v2
ip link set v1 up
ip link set v2 up
dpkg -i /root/bofuss.deb
[ -z "$(systemd-analyze verify --man=no bofuss@s1.service 2>&1 | tee /dev/stderr)" ]
echo 'port = ["v1"]' >/etc/bofuss/s1.toml
systemctl enable --now bofuss@s1
dpctl show s1 | grep '1(v1)'
grep '^CapBnd:.*0000000000003000$' "/proc/$(show MainPID)/status"
# A wrong file is refused as a whole, and the switch keeps running.
echo 'port = ["v1", "nonesuch"]' >/etc/bofuss/s1.toml
! systemctl reload bofuss@s1 || refused
dpctl show s1 | grep '1(v1)'
echo 'port = ["v1", "v2", "tap:t1"]' >/etc/bofuss/s1.toml
systemctl reload bofuss@s1
dpctl show s1 | grep '2(v2)'
dpctl show s1 | grep '3(t1)'
# A switch that hangs is killed and restarted by the watchdog.
kill -STOP "$(show MainPID)"
sleep 40
[ "$(show NRestarts)" = 1 ]
dpctl show s1 | grep '2(v2)'
# An upgrade does not stop the switch; a removal does.
pid=$(show MainPID)
dpkg -i /root/bofuss.deb
[ "$(show MainPID)" = "$pid" ]
kill -KILL "$pid"
sleep 5
[ "$(show ActiveState)" = active ]
# With lock-down, it has no capabilities left.
echo 'lock-down = true' >>/etc/bofuss/s1.toml
systemctl restart bofuss@s1 || { journalctl --unit bofuss@s1 --lines 5; exit 1; }
dpctl show s1 | grep '2(v2)'
grep '^CapEff:.*0000000000000000$' "/proc/$(show MainPID)/status"
pid=$(show MainPID)
rm /etc/bofuss/s1.toml
dpkg -r bofuss
[ ! -e "/proc/$pid" ]
dpkg -P bofuss
[ -z "$(find /etc /run /usr /var -name '*bofuss*' ! -path /var/cache/man/\*)" ]
[ -z "$(systemctl --plain --no-legend --all list-units 'bofuss*.service')" ]
touch /root/passed
INSIDE
cat >"$folder/etc/systemd/system/check.service" <<'UNIT'
[Service]
Type=oneshot
ExecStart=/bin/sh /root/check
StandardOutput=append:/root/said
StandardError=inherit
ExecStopPost=systemctl --no-block poweroff
UNIT
mkdir -p "$folder/etc/systemd/system/default.target.wants"
ln -s ../check.service "$folder/etc/systemd/system/default.target.wants/"
# The test is about the system calls that the unit allows, not those that the container does.
SYSTEMD_SECCOMP=0 timeout -k 5 240 systemd-nspawn --directory="$folder" --register=no --keep-unit --private-network \
    --boot --console=pipe --machine="bofuss-$$" </dev/null >"$folder.boot" 2>&1 ||
    { cat "$folder.boot"; exit 1; }
rm "$folder.boot"
[ -e "$folder/root/passed" ] || { cat "$folder/root/said"; exit 1; }
echo "the service: 1 passed, 0 failed"
