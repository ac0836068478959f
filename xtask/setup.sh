#!/bin/sh
# Sets the machine up, builds as the calling user, and elevates only the run.
#
#   need TIER        install what TIER (demo, check, test, fuzz, dist, docs, ns3, long, interop) lacks: packages,
#                    the pinned Rust, and mdBook
#   cargo ARGS...    the pinned cargo, as the calling user
#   pages FROM TO    print the manual pages of the programs of one folder into another, as the calling user
#   venv [NAME]      make the tests' Python environment, or venv-python, that of the package's tests, or
#                    venv-interop, as the calling user; print its python
#   java             fetch the tests' Java libraries with Maven, as the calling user; print the file that has their
#                    class path
#   elevate CMD...   run with the rights to make interfaces, in the caller's own network
#   isolate CMD...   the same in new namespaces (network, processes, mounts), which vanish with the command
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
version=$(sed -n 's/^channel *= *"\(.*\)"/\1/p' "$root/rust-toolchain.toml")
cargo_home=${CARGO_HOME:-${HOME:-/root}/.cargo}
rustup_home=${RUSTUP_HOME:-${HOME:-/root}/.rustup}

say() { printf 'bofuss: %s\n' "$*" >&2; }
die() { say "$*"; exit 2; }
have() { command -v "$1" >/dev/null 2>&1; }
is_root() { [ "$(id -u)" = 0 ]; }
have ip && have ethtool || PATH=$PATH:/usr/sbin:/sbin # not on a plain user's PATH on Debian
export PATH

# Under sudo, builds as the user who called sudo; only the run is root's.
as_caller() {
    if is_root && [ "${SUDO_USER:-root}" != root ]; then
        exec sudo -EHu "$SUDO_USER" -- sh "$0" "$@"
    fi
}

# --- packages -----------------------------------------------------------------------------------

# The lines "program package" of a tier: the program is looked for, and the package is what apt installs. Without
# apt, the programs are named. pgrep is looked for instead of kill, which is built into shells.
wanted() {
    echo 'cc gcc
libc-headers libc6-dev
ip iproute2
ping iputils-ping'
    case $1 in test) echo 'clang clang
git git
python3 python3
python3-venv python3-venv
python3-headers python3-dev
ovs-ofctl openvswitch-common
ovs-testcontroller openvswitch-testcontroller
openssl openssl
tshark tshark
dumpcap wireshark-common
iperf3 iperf3
iperf iperf
mn mininet
ethtool ethtool
pgrep procps
systemd-analyze systemd
sudo sudo
zsh zsh
fish fish
curl curl
cbindgen cbindgen
pkg-config pkg-config
valgrind valgrind
gdb gdb
strace strace
pdflatex texlive-latex-base' ;; fuzz) echo 'c++ g++' ;; ns3) echo 'c++ g++
make make
ns3-headers libns3-dev
ovs-testcontroller openvswitch-testcontroller' ;; interop) echo 'java default-jdk-headless
javac default-jdk-headless
mvn maven
python3 python3
python3-venv python3-venv
tshark tshark' ;; long) echo 'chromium chromium
java default-jdk-headless
javac default-jdk-headless
mvn maven
debootstrap debootstrap
qemu-aarch64-static qemu-user-static
systemd-nspawn systemd-container' ;; dist) echo 'clang clang
dpkg-deb dpkg
python3 python3
python3-venv python3-venv
x86_64-linux-gnu-gcc gcc-x86-64-linux-gnu
x86_64-headers libc6-dev-amd64-cross
aarch64-linux-gnu-gcc gcc-aarch64-linux-gnu
aarch64-headers libc6-dev-arm64-cross' ;; esac
    # These packages start services, which a developer may not want.
    [ "$1" != test ] || [ -z "${CI-}" ] || echo 'prometheus prometheus
ovs-vswitchd openvswitch-switch
nfcapd nfdump
nfdump nfdump
sfcapd nfdump-sflow'
    [ "$1" != long ] || [ -z "${CI-}" ] || echo 'bird bird2'
    sh "$0" has-cargo "$1" || echo 'curl curl
ca-certificates ca-certificates'
}

has_program() {
    case $1 in
        libc-headers) echo '#include <stdio.h>' | cc -E - >/dev/null 2>&1 ;;
        *64-headers) echo '#include <stdio.h>' | "${1%-headers}-linux-gnu-gcc" -E - >/dev/null 2>&1 ;;
        python3-venv) python3 -c 'import venv, ensurepip' 2>/dev/null ;;
        python3-headers) python3 -c 'import sysconfig as s, os
os.stat(s.get_path("include") + "/Python.h")' 2>/dev/null ;;
        ns3-headers) [ -e /usr/include/ns3/core-module.h ] ;;
        ca-certificates) [ -e /etc/ssl/certs/ca-certificates.crt ] || [ -d /etc/pki/tls/certs ] ;;
        *) have "$1" ;;
    esac
}

packages() {
    missing=$(wanted "$1" | while read -r program package; do
        has_program "$program" || echo "$program $package"
    done)
    [ "$missing" ] || return 0
    programs=$(echo "$missing" | cut -d' ' -f1 | xargs)
    packages=$(echo "$missing" | cut -d' ' -f2 | xargs)
    have apt-get || die "missing programs: $programs. Install them, then repeat the command."
    say "missing programs: $programs"
    say "installing with apt-get: $packages"
    set -- apt-get -qy install --no-install-recommends $packages
    sudo=
    if ! is_root; then
        say "root is needed to install these packages"
        can_sudo || refuse sh -c "apt-get -q update && $*"
        sudo=sudo
    fi
    $sudo apt-get -q update >&2
    $sudo env DEBIAN_FRONTEND=noninteractive "$@" >&2
}

# --- Rust ---------------------------------------------------------------------------------------

# Puts the cargo of the pinned version first on PATH, if there is one.
find_cargo() {
    for bin in "$(dirname "$(command -v cargo || echo /none)")" "$cargo_home/bin"; do
        case $(RUSTUP_AUTO_INSTALL=0 "$bin/cargo" --version 2>/dev/null) in
            "cargo $version "*)
                # Only if needed: what is built for a PATH is built again for another.
                [ "$(command -v cargo) $(command -v rustc)" = "$bin/cargo $bin/rustc" ] ||
                    PATH=$bin:$PATH
                return 0 ;;
        esac
    done
    return 1
}

has_cargo() { # TIER; check and test also need rustfmt and clippy
    find_cargo && case $1 in
        check | test) cargo fmt --version && cargo clippy --version ;;
    esac >/dev/null 2>&1
}

install_rust() {
    ! has_cargo "$1" || return 0
    other=$(command -v cargo) && say "$other is $(cargo --version 2>/dev/null || echo another); it stays"
    say "no cargo $version answers here. Installing the toolchain of rust-toolchain.toml:"
    say "  what      Rust $version, minimal profile, with rustfmt and clippy"
    say "  how big   about 130 MB to download, 650 MB on disk"
    say "  where     $rustup_home and $cargo_home; PATH and start-up files stay as they are"
    set -- --profile minimal --component rustfmt --component clippy
    PATH=$PATH:$cargo_home/bin
    if have rustup; then
        say "  with      your rustup"
        rustup toolchain install "$version" --no-self-update "$@" >&2
    else
        say "  with      the official installer, https://sh.rustup.rs"
        installer=$(curl --proto '=https' --tlsv1.2 -sSf https://sh.rustup.rs) ||
            die "the download of https://sh.rustup.rs failed; see above. Repeat the command when it works"
        echo "$installer" | RUSTUP_INIT_SKIP_PATH_CHECK=yes sh -s -- -y --no-modify-path \
            --default-toolchain "$version" "$@" >&2 || die "the installer failed; see above"
    fi
    has_cargo check || die "the installer ran, but no cargo $version answers in $cargo_home/bin"
}

# make test and make dist pack static programs, for which Rust needs the musl targets; make dist also packs
# Python's module for the other machine. Without rustup, the compiler may have these targets nevertheless.
static_target() {
    case $1 in test | dist) ;; *) return 0 ;; esac
    have rustup && find_cargo || return 0
    triples=$(uname -m)-unknown-linux-musl
    [ "$1" = test ] || for machine in x86_64 aarch64; do
        triples="$triples $machine-unknown-linux-musl $machine-unknown-linux-gnu"
    done
    for triple in $triples; do
        [ ! -e "$(rustc --print target-libdir --target "$triple")" ] || continue
        say "installing Rust's target $triple, 218 MB on disk"
        rustup target add --toolchain "$version" "$triple" >&2 ||
            die "the download of that target failed; see above. Repeat the command when it works"
    done
}

# make docs needs mdBook, and so does make test in continuous integration. One that is there is used.
mdbook=0.5.4

needs_mdbook() { # TIER
    case $1${CI:+ci} in docs* | testci) ;; *) return 1 ;; esac
    ! have mdbook && [ ! -x "$cargo_home/bin/mdbook" ]
}

install_mdbook() {
    needs_mdbook "$1" && find_cargo || return 0
    say "installing mdBook $mdbook with cargo: three minutes of processor time"
    say "  where     $cargo_home/bin"
    cargo install --locked --quiet --version "$mdbook" --no-default-features --features search mdbook >&2 ||
        die "mdBook could not be installed; see above. Repeat the command when it can"
}

# Says what make test does before it begins.
announce() {
    say "make test: builds and runs what continuous integration does:"
    say "  format, tidy, sizes, lints, unit tests"
    say "  documentation, packages"
    say "  end to end, Python and examples,"
    say "  meanwhile the tutorials"
    say "  disk                                      5 GB below $target"
    say "  installs, if missing                      $(wanted test | cut -d' ' -f2 | sort -u | xargs)"
    say "                                            Rust $version and its target for static programs"
    ! needs_mdbook test || say "                                            mdBook $mdbook"
}

# --- rights -------------------------------------------------------------------------------------

can_sudo() { have sudo && { sudo -n true 2>/dev/null || { [ -t 0 ] && sudo -v; }; }; }

refuse() { # COMMAND...
    say "$(id -un) may not do this here. Whoever may types the next line; then repeat the command"
    if have sudo; then die "type: sudo $(quoted "$@")"; fi
    if [ "$1 ${2-}" = 'sh -c' ]; then die "type: su -c $(quoted "$3")"; fi
    die "type: su -c $(quoted "$(quoted "$@")")"
}

quoted() { # shell words that paste back as they are
    for word; do
        case $word in
            *[!A-Za-z0-9_./:=@%+,-]* | '')
                printf "'%s' " "$(printf %s "$word" | sed "s/'/'\\\\''/g")" ;;
            *) printf '%s ' "$word" ;;
        esac
    done | sed 's/ $//'
}

# The first process of the new PID namespace. It ends with the command: it removes the temporary files that a
# test has left, and the kernel ends all other processes there.
inside='trap "exit 130" INT TERM
TMPDIR=$(mktemp -d) && export TMPDIR && chmod 1777 "$TMPDIR" && trap "rm -rf $TMPDIR" EXIT
mount -t tmpfs run /run && mkdir -p /run/netns && mount -t sysfs sysfs /sys 2>/dev/null
ip link set lo up && "$@"'

run_elevated() { # FLAGS-OF-UNSHARE COMMAND...
    flags=$1
    shift
    case $1 in /*) ;; */*) program=$PWD/$1 && shift && set -- "$program" "$@" ;; esac
    if is_root; then
        # A container's root may lack the capabilities, which sudo cannot give.
        [ -z "$flags" ] || unshare -nm true 2>/dev/null || die "this root may not make network" \
            "namespaces: it is one of a container without CAP_SYS_ADMIN and CAP_NET_ADMIN. Run on a" \
            "machine, or in a container with these (podman run --privileged)"
        [ "$flags" ] || exec "$@"
        exec unshare $flags "$@"
    fi
    if unshare -rm ${flags:--n} sh -c 'ip link add type veth' >/dev/null 2>&1; then
        exec unshare -rm $flags "$@"
    fi
    say "root is needed to make network interfaces (no user namespace may make them here)"
    [ -z "$flags" ] || can_sudo || refuse make -C "$root" test
    can_sudo || refuse "$@"
    exec sudo -- env "PATH=$PATH" ${CI:+"CI=$CI"} ${NO_COLOR:+"NO_COLOR=$NO_COLOR"} \
        ${BOFUSS_BIN_DIR:+"BOFUSS_BIN_DIR=$BOFUSS_BIN_DIR"} \
        ${BOFUSS_PYTHON:+"BOFUSS_PYTHON=$BOFUSS_PYTHON"} \
        ${BOFUSS_DIST:+"BOFUSS_DIST=$BOFUSS_DIST"} \
        ${BOFUSS_WORKERS:+"BOFUSS_WORKERS=$BOFUSS_WORKERS"} ${flags:+unshare $flags} "$@"
}

# ------------------------------------------------------------------------------------------------

verb=${1:?see the head of $0}
shift
case $verb in
    need)
        [ "$1" != test ] || announce
        packages "$1"
        sh "$0" toolchain "$1"
        ;;
    has-cargo)
        as_caller "$verb" "$@"
        has_cargo "$1"
        ;;
    toolchain)
        as_caller "$verb" "$@"
        install_rust "$1"
        static_target "$1"
        install_mdbook "$1"
        ;;
    cargo)
        as_caller "$verb" "$@"
        find_cargo || die "no cargo $version here; make check installs it"
        mkdir -p "$target" 2>/dev/null && [ -w "$target" ] ||
            die "$(id -un) may not write $target. Type: sudo chown -R $(id -un): $root"
        exec cargo "$@"
        ;;
    pages)
        as_caller "$verb" "$@"
        exec sh "$root/xtask/man.sh" "$@"
        ;;
    venv)
        as_caller "$verb" "$@"
        cd "$root"
        # The controllers need two environments, because ryu needs old libraries.
        names=${1:-venv}
        [ "$names" != venv ] || names='venv venv-ryu'
        for name in $names; do
            wanted=tests/requirements${name#venv}.txt
            cmp -s "$wanted" "$target/$name/requirements.txt" && continue
            say "making $target/$name from $wanted"
            python3 -m venv --clear "$target/$name"
            # ryu's own setup does not work with newer setuptools.
            echo 'setuptools<67' >"$target/$name/build.txt"
            PIP_CONSTRAINT="$target/$name/build.txt" "$target/$name/bin/pip" install -qq \
                --no-cache-dir --disable-pip-version-check -r "$wanted" >&2
            cp "$wanted" "$target/$name/requirements.txt"
        done
        echo "$target/${1:-venv}/bin/python"
        ;;
    java)
        as_caller "$verb" "$@"
        cd "$root"
        wanted=tests/interop/pom.xml
        have mvn || die "missing program: mvn. make interop installs it, or says what is missing"
        if ! cmp -s "$wanted" "$target/interop/pom.xml"; then
            say "fetching the libraries of $wanted"
            mkdir -p "$target/interop"
            mvn -q -B -f "$wanted" dependency:build-classpath \
                -Dmdep.outputFile="$target/interop/classpath" >&2
            cp "$wanted" "$target/interop/pom.xml"
        fi
        echo "$target/interop/classpath"
        ;;
    elevate) run_elevated '' "$@" ;;
    isolate)
        run_elevated '-nm --pid --fork --kill-child --mount-proc' sh -c "$inside" sh "$@"
        ;;
    *) die "unknown verb $verb; see the head of $0" ;;
esac
