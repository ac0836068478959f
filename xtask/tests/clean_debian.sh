#!/bin/sh
# The first ten minutes on a clean Debian: `make demo` as root, as a user with sudo, as one without, and as
# one whose PATH has Debian's old cargo; then `make test` as the one without.
#
#   clean_debian.sh FOLDER [SUITE]
#
# As root, with debootstrap and a network. Makes FOLDER, and removes it at the end. The Rust of this
# machine stands in for the official installer's download. What it mounts vanishes with it.
set -eu
if [ "$(id -u)" != 0 ] || ! command -v debootstrap >/dev/null; then
    echo "skipped; as root, with debootstrap, type: sh $0 FOLDER"
    [ "${CI:-}" != true ]
    exit
fi
if [ "${INSIDE:-}" != yes ]; then
    INSIDE=yes exec unshare -m sh "$0" "$@"
fi

folder=$1
suite=${2:-bookworm}
tree=$(cd "$(dirname "$0")/../.." && pwd)
toolchain=$(cd "$tree" && rustc --print sysroot)
[ ! -e "$folder" ] || { echo "$folder is there already"; exit 2; }
trap 'umount -l "$folder"/proc "$folder"/dev/net "$folder"/dev "$folder"/sys "$folder"/toolchain 2>/dev/null
    rm -rf --one-file-system "$folder"' EXIT

debootstrap --variant=minbase "$suite" "$folder" >"$folder.log" || { cat "$folder.log"; exit 1; }
rm "$folder.log"
mkdir "$folder/toolchain" "$folder/srv/bofuss"
for path in /proc /dev /sys; do mount --rbind "$path" "$folder$path"; done
mount --bind "$toolchain" "$folder/toolchain"
# With the mode that udev sets; on this machine only root may have access.
mount -t tmpfs tmpfs "$folder/dev/net"
mknod -m 666 "$folder/dev/net/tun" c 10 200
cp /etc/resolv.conf "$folder/etc/"
echo "127.0.0.1 localhost $(hostname)" >"$folder/etc/hosts"
cp -r /usr/local/share/ca-certificates "$folder/usr/local/share/"
(cd "$tree" && git ls-files -co --exclude-standard -z | xargs -0 tar c) | tar x -C "$folder/srv/bofuss"
cat >"$folder/usr/local/bin/curl" <<'FAKE'
#!/bin/sh
case $* in
    *rustup*) echo 'mkdir -p ~/.cargo/bin && ln -s /toolchain/bin/* ~/.cargo/bin/' ;;
    *) exec /usr/bin/curl "$@" ;;
esac
FAKE
chmod +x "$folder/usr/local/bin/curl"

# Like chroot, but by pivot_root: inside a chroot, the kernel refuses user namespaces.
clean() {
    env -i PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin unshare -m sh -c 'mount --rbind "$0" "$0"
        cd "$0" && mkdir -p old && pivot_root . old && umount -l /old && exec "$@"' "$folder" "$@"
}
as() { # USER COMMAND; leaves the seconds that it took in $took
    echo "== as $1: $2"
    clean chown -R "$1" /srv/bofuss
    start=$(date +%s)
    clean su - "$1" -c "cd /srv/bofuss && $2" </dev/null
    took=$(($(date +%s) - start))
    echo "== as $1: $2: $took s"
}

clean apt-get -qq update
clean apt-get -qqy install --no-install-recommends git make sudo curl >/dev/null
clean useradd -m -s /bin/sh ann
clean useradd -m -s /bin/sh bob
clean useradd -m -s /bin/sh carl
echo 'ann ALL=(ALL) NOPASSWD: ALL' >"$folder/etc/sudoers.d/ann"

# Builds the demo from a cold cache, after the downloads and installations.
build_demo() {
    as ann 'sh xtask/setup.sh need demo && sh xtask/setup.sh cargo fetch --locked'
    as ann 'make demo'
    echo "the demo from a cold cache: $took s on $(nproc) cores"
    [ "$took" -le 90 ] || [ "$(cut -d. -f1 /proc/loadavg)" -gt "$(nproc)" ] || exit 1
}

before=$(ip -br link)
build_demo
as ann 'sudo make demo'
as bob 'make demo'
as root 'make demo'
clean apt-get -qqy install --no-install-recommends cargo >/dev/null
as carl 'cargo --version && make demo'
clean apt-get -qqy purge --autoremove cargo >/dev/null
as ann 'sh xtask/setup.sh need test'
as bob 'make test'
[ "$(ip -br link)" = "$before" ] || { echo "interfaces were left behind"; exit 1; }
left=$(clean find /tmp /run /var/tmp -mindepth 1 -newer /usr/local/bin/curl ! -type d ! -name adduser ! -path /run/shm)
[ -z "$left" ] || { echo "files were left behind: $left"; exit 1; }
echo "the first ten minutes: 7 passed, 0 failed"
