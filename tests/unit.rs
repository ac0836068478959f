//! The package's unit under a running systemd, with everything that the unit forbids.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use bofuss_tests::{have, printed, program, run};

/// Exit code of `unit.sh` where no systemd can be started.
const CANNOT: i32 = 77;

/// The script of what happens to the service, run inside; it prints `passed` at the end.
const SCRIPT: &str = r#"set -eux
show() { systemctl show --property "$1" --value bofuss@s1; }
status() { sed -n "s/^$1:\t//p" "/proc/$(show MainPID)/status"; }
systemd-sysusers
ip link add v1 type veth peer name v2
ip link set v1 up
ip link set v2 up
setting=/proc/sys/net/ipv4/conf/v1/arp_ignore
echo 2 >$setting
echo 'port = ["v1"]' >/etc/bofuss/s1.toml
systemctl start bofuss@s1
[ "$(show ActiveState)" = active ]
dpctl show s1 | grep '1(v1)'
[ "$(ps -o user= -p "$(show MainPID)")" = bofuss ]
[ "$(status CapEff)" = 0000000000003000 ]
[ "$(status CapBnd)" = 0000008000003000 ]
[ "$(status NoNewPrivs)" = 1 ]
[ "$(status Seccomp)" = 2 ]
[ "$(cat $setting)" = 8 ]
# A wrong file is refused whole, and the switch goes on.
echo 'port = ["v1", "nonesuch"]' >/etc/bofuss/s1.toml
! systemctl reload bofuss@s1 || exit 1
dpctl show s1 | grep '1(v1)'
echo 'port = ["v1", "v2"]' >/etc/bofuss/s1.toml
systemctl reload bofuss@s1
dpctl show s1 | grep '2(v2)'
# One that is killed comes again.
pid=$(show MainPID)
kill -KILL "$pid"
for _ in $(seq 200); do
    [ "$(show MainPID)" = "$pid" ] || [ "$(show ActiveState)" != active ] || break
    sleep 0.1
done
[ "$(show NRestarts)" = 1 ]
dpctl show s1 | grep '2(v2)'
# What an interface was, it is again.
systemctl stop bofuss@s1
[ "$(cat $setting)" = 2 ]
[ "$(show Result)" = success ]
# Locked down, it has no rights left.
printf 'port = ["v1", "v2"]\nlock-down = true\n' >/etc/bofuss/s1.toml
systemctl start bofuss@s1
dpctl show s1 | grep '2(v2)'
for _ in $(seq 200); do [ "$(status CapEff)" != 0000000000000000 ] || break; sleep 0.1; done
[ "$(status CapEff)" = 0000000000000000 ]
dpctl add-flow s1 arp,actions=normal
systemctl stop bofuss@s1
[ "$(show Result)" = success ]
# A TAP interface and a listening socket stay through a restart, and go with the service.
# As udev makes it, where there is none.
mknod -m 666 /run/tun c 10 200
mount --bind /run/tun /dev/net/tun
printf 'port = ["v1", "tap:tk0"]\nlisten = ["ptcp:6653:127.0.0.1"]\n' >/etc/bofuss/s1.toml
systemctl start bofuss@s1
index() { cat /sys/class/net/tk0/ifindex; }
first=$(index)
[ "$(show NFileDescriptorStore)" = 2 ]
systemctl restart bofuss@s1
[ "$(index)" = "$first" ]
dpctl show tcp:127.0.0.1:6653 | grep '2(tk0)'
echo 'port = ["v1"]' >/etc/bofuss/s1.toml
systemctl reload bofuss@s1
[ ! -e /sys/class/net/tk0 ]
[ "$(show NFileDescriptorStore)" = 0 ]
systemctl stop bofuss@s1
echo passed
"#;

/// A folder, and cgroups of this test alone, removed when dropped.
struct Stage {
    folder: PathBuf,
    cgroups: Vec<PathBuf>,
}

impl Stage {
    fn new() -> Self {
        let name = format!("bofuss-unit-{}", std::process::id());
        let folder = std::env::temp_dir().join(&name);
        fs::create_dir_all(&folder).unwrap();
        let hierarchies = ["", "systemd", "unified", "pids", "devices", "memory"];
        let mut cgroups = Vec::new();
        for hierarchy in hierarchies {
            let parent = PathBuf::from("/sys/fs/cgroup").join(hierarchy);
            let group = parent.join(&name);
            if parent.join("cgroup.procs").exists() && fs::create_dir(&group).is_ok() {
                cgroups.push(group);
            }
        }
        Self { folder, cgroups }
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        for group in &self.cgroups {
            // Inner cgroups first.
            let mut find = Command::new("find");
            find.arg(group)
                .args(["-depth", "-type", "d", "-exec", "rmdir", "{}", ";"]);
            let _ = find.output();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

#[test]
fn the_unit_starts_reloads_restarts_and_gives_settings_back() {
    if !have(&["ip", "unshare", "systemctl", "ps"]) {
        return;
    }
    let stage = Stage::new();
    let repository = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    let join: String = stage
        .cgroups
        .iter()
        .map(|group| format!("echo $$ >{}/cgroup.procs; ", group.display()))
        .collect();
    // A namespace of cgroups begins where its first process is.
    let start = "exec timeout -k 5 120 unshare -mpfnCiu --kill-child sh \"$@\"";
    let mut command = Command::new("sh");
    command.args(["-c", &format!("{join}{start}"), "sh"]);
    command.arg(format!("{repository}/tests/unit.sh"));
    command.args([program("bofuss"), program("dpctl"), repository.into()]);
    let output = run(command.arg(&stage.folder).arg(SCRIPT));
    if output.status.code() == Some(CANNOT) {
        println!(
            "not run: no systemd can be started here: {}",
            printed(&output)
        );
        return;
    }
    let read = |name| fs::read_to_string(stage.folder.join(name)).unwrap_or_default();
    let said = format!("{}{}{}", printed(&output), read("boot"), read("said"));
    assert!(said.ends_with("passed\n"), "{said}");
}
