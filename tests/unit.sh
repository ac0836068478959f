# Boots a systemd of its own above a copy of this root that vanishes with it, installs the unit there
# as the package does, and runs a script in it. As root, in a mount, process, network and cgroup
# namespace: sh unit.sh BOFUSS DPCTL REPOSITORY OUT SCRIPT. What the script says goes to OUT/said.
# Exit code 77: this kernel or container allows no such systemd.
set -e
out=$4
mount --make-rprivate /
root=$out/root
mkdir "$root"
mount -t tmpfs layers "$root"
mkdir "$root/upper" "$root/work" "$root/merged"
mount -t overlay merged -o "lowerdir=/,upperdir=$root/upper,workdir=$root/work" "$root/merged" ||
    exit 77
root=$root/merged
mount -t proc proc "$root/proc"
mount -t sysfs sysfs "$root/sys" || exit 77
mount --rbind /dev "$root/dev"
mount -t tmpfs -o mode=755 run "$root/run"
mount -t tmpfs -o mode=1777 tmp "$root/tmp"
if [ -e /sys/fs/cgroup/cgroup.controllers ]; then
    mount -t cgroup2 cgroup "$root/sys/fs/cgroup" || exit 77
else
    mount -t tmpfs -o mode=755 cgroup "$root/sys/fs/cgroup"
    mkdir "$root/sys/fs/cgroup/unified" "$root/sys/fs/cgroup/systemd"
    mount -t cgroup -o none,name=systemd cgroup "$root/sys/fs/cgroup/systemd" || exit 77
    mount -t cgroup2 cgroup "$root/sys/fs/cgroup/unified" || exit 77
fi
# Nothing of this machine is started but the script.
units=$root/run/systemd/system
mkdir -p "$units" "$root/run/sysusers.d" "$root/etc/bofuss" "$root/run/out"
mount --bind "$out" "$root/run/out"
for program in "$1" "$2"; do
    there=$root/usr/bin/$(basename "$program")
    rm -f "$there"
    touch "$there"
    mount --bind "$program" "$there"
done
cp "$3/contrib/bofuss@.service" "$units"
cp "$3/contrib/bofuss.sysusers" "$root/run/sysusers.d/bofuss.conf"
printf '%s\n' "$5" >"$out/script"
cat >"$units/script.service" <<END
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
ExecStart=/bin/sh /run/out/script
ExecStopPost=systemctl --no-block --force exit
StandardOutput=append:/run/out/said
StandardError=inherit
END
export container=lxc
exec chroot "$root" /lib/systemd/systemd --system --unit=script.service \
    >"$out/boot" 2>&1 </dev/null
