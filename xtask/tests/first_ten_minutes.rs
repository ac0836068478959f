//! The first ten minutes on a machine: runs `setup.sh` with fake programs.
//!
//! Each test makes a machine: a folder with the few real programs that the script needs, and fakes
//! for the rest, which append to `log` how they were called. `clean_debian.sh` tests the same on a
//! real Debian.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

const REAL: [&str; 12] = [
    "sh", "echo", "env", "dirname", "sed", "cut", "xargs", "cat", "mkdir", "chmod", "cmp", "cp",
];
/// The fake programs of a machine that lacks nothing, each with its script.
const FAKES: [(&str, &str); 13] = [
    ("id", "case $1 in -un) echo ann ;; *) echo 1000 ;; esac"),
    ("cargo", "log cargo $*; echo cargo 1.95.0 '(x)'"),
    ("cc", "exit 0"),
    ("ip", "exit 0"),
    ("ping", "exit 0"),
    ("ethtool", "exit 0"),
    ("curl", "log curl $*; cat ../installer"),
    ("apt-get", "log apt-get $*"),
    (
        "sudo",
        "log sudo $*; [ $1 != -- ] || shift; [ $1 = -n ] || \"$@\"",
    ),
    ("unshare", "log unshare $*; exit 0"),
    ("rustc", "echo rustc"),
    ("rustfmt", "echo rustfmt"),
    ("bofuss", "log ran bofuss $*"),
];
/// The script in place of rustup's installer: it logs how it is called, and installs a cargo.
const INSTALLER: &str = "log installer $*; mkdir -p \"$CARGO_HOME/bin\"
cp \"$REAL_CARGO\" \"$CARGO_HOME/bin/cargo\"\n";
const OFFICIAL: &str = "installer -y --no-modify-path --default-toolchain 1.95.0 --profile minimal";

struct Machine {
    folder: PathBuf,
}

/// The result of a command: exit code, output, and the log of the programs that it called.
struct Outcome {
    code: Option<i32>,
    said: String,
    log: String,
}

impl Machine {
    /// A machine of a plain user that lacks only `missing`.
    fn without(name: &str, missing: &[&str]) -> Machine {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join("first")
            .join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("bin")).unwrap();
        for name in REAL {
            let real = ["/bin", "/usr/bin"].map(|f| Path::new(f).join(name));
            let real = real
                .iter()
                .find(|p| p.exists())
                .expect("every system has these");
            symlink(real, folder.join("bin").join(name)).unwrap();
        }
        let machine = Machine { folder };
        fs::create_dir_all(machine.folder.join("later")).unwrap();
        for (name, does) in FAKES {
            let folder = if missing.contains(&name) {
                "later"
            } else {
                "bin"
            };
            machine.fake_in(folder, name, does);
        }
        fs::write(
            machine.folder.join("installer"),
            format!("{LOG}{INSTALLER}"),
        )
        .unwrap();
        machine
    }

    /// Puts a fake program on PATH.
    fn fake(&self, name: &str, does: &str) {
        self.fake_in("bin", name, does);
    }

    fn fake_in(&self, folder: &str, name: &str, does: &str) {
        let path = self.folder.join(folder).join(name);
        fs::write(&path, format!("#!/bin/sh\n{LOG}{does}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs `setup.sh` with these arguments and environment variables.
    fn setup(&self, words: &str, settings: &[(&str, &str)]) -> Outcome {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("setup.sh");
        let log = self.folder.join("log");
        let _ = fs::remove_file(&log);
        let mut sh = Command::new(self.folder.join("bin/sh"));
        sh.arg(script)
            .args(words.split(' '))
            .current_dir(self.folder.join("bin"))
            .env_clear();
        sh.env("PATH", self.folder.join("bin"))
            .env("HOME", &self.folder)
            .env("LOG", &log);
        sh.env("CARGO_HOME", self.folder.join("cargo"))
            .env("CARGO_TARGET_DIR", &self.folder);
        sh.env("REAL_CARGO", self.folder.join("later/cargo"))
            .envs(settings.iter().copied());
        let output = sh.output().unwrap();
        let said = [output.stdout, output.stderr].concat();
        let said = String::from_utf8(said).unwrap();
        let log = fs::read_to_string(log).unwrap_or_default();
        Outcome {
            code: output.status.code(),
            said,
            log,
        }
    }
}

const LOG: &str = "log() { echo \"$*\" >>\"$LOG\"; }\n";
const ROOT: &str = "case $1 in -un) echo root ;; *) echo 0 ;; esac";
const SUDO_ASKS: &str = "log sudo $*; exit 1";

#[test]
fn a_machine_that_has_everything_is_left_alone() {
    let ran = Machine::without("ready", &[]).setup("need demo", &[]);
    assert_eq!((ran.code, ran.said.as_str()), (Some(0), ""));
    assert!(
        ran.log.lines().all(|l| l == "cargo --version"),
        "{}",
        ran.log
    );
}

#[test]
fn root_gets_the_missing_packages_and_rust() {
    let machine = Machine::without("root", &["cc", "cargo", "curl"]);
    machine.fake("id", ROOT);
    machine.fake(
        "apt-get",
        "log apt-get $*; for p in cc curl; do cp ../later/$p $p; done",
    );
    let ran = machine.setup("need demo", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.said);
    for line in [
        "missing programs: cc libc-headers curl\n",
        "installing with apt-get: gcc libc6-dev curl\n",
        "Rust 1.95.0, minimal profile",
        "130 MB to download, 650 MB on disk",
        "root/cargo; PATH and start-up files stay as they are",
        "https://sh.rustup.rs",
    ] {
        assert!(ran.said.contains(line), "{line} not in {}", ran.said);
    }
    let log: Vec<&str> = ran
        .log
        .lines()
        .filter(|l| !l.starts_with("cargo"))
        .collect();
    assert_eq!(log[0], "apt-get -q update");
    assert_eq!(
        log[1],
        "apt-get -qy install --no-install-recommends gcc libc6-dev curl"
    );
    assert!(
        log[2].starts_with("curl --proto =https") && log[3].starts_with(OFFICIAL),
        "{log:?}"
    );
}

#[test]
fn an_old_cargo_first_on_path_is_passed_by() {
    let machine = Machine::without("old", &["cargo"]);
    machine.fake("cargo", "log old $*; echo cargo 1.70.0 '(x)'");
    let ran = machine.setup("need demo", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.said);
    assert!(ran.log.contains(OFFICIAL), "{}", ran.log);
    let told = "bin/cargo is cargo 1.70.0 (x); it stays\n";
    assert!(ran.said.contains(told), "{}", ran.said);
    let ran = machine.setup("cargo build", &[]);
    assert!(
        ran.log.contains("cargo build") && !ran.log.contains("old build"),
        "{}",
        ran.log
    );
}

#[test]
fn a_rustup_that_is_there_installs_the_toolchain() {
    let machine = Machine::without("rustup", &["cargo"]);
    machine.fake(
        "rustup",
        "log rustup $*; mkdir -p ../cargo/bin; cp ../later/cargo ../cargo/bin",
    );
    let ran = machine.setup("need demo", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.said);
    assert!(
        ran.log.contains("rustup toolchain install 1.95.0"),
        "{}",
        ran.log
    );
    assert!(!ran.log.contains("\ncurl"), "{}", ran.log);
}

#[test]
fn the_site_gets_mdbook_and_only_where_it_is_missing() {
    let machine = Machine::without("site", &[]);
    let ran = machine.setup("need docs", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.said);
    let install = "cargo install --locked --quiet --version 0.5.4 ";
    assert!(ran.log.contains(install), "{}", ran.log);
    assert!(ran.said.contains("three minutes"), "{}", ran.said);
    let ran = machine.setup("toolchain test", &[("CI", "true")]);
    assert!(ran.log.contains(install), "{}", ran.log);
    machine.fake("mdbook", "exit 0");
    for words in ["need docs", "toolchain demo"] {
        let ran = machine.setup(words, &[("CI", "true")]);
        assert!(!ran.log.contains("install"), "{words}: {}", ran.log);
    }
}

#[test]
fn a_download_that_fails_is_reported_as_such() {
    let machine = Machine::without("offline", &["cargo"]);
    machine.fake(
        "curl",
        "echo 'curl: (6) Could not resolve host' >&2; exit 6",
    );
    let ran = machine.setup("need demo", &[]);
    assert_eq!(ran.code, Some(2), "{}", ran.said);
    assert!(
        ran.said
            .contains("the download of https://sh.rustup.rs failed")
    );
    assert!(!ran.said.contains("the installer ran"), "{}", ran.said);
}

#[test]
fn root_without_the_rights_is_not_told_to_use_sudo() {
    let machine = Machine::without("container", &[]);
    machine.fake("id", ROOT);
    machine.fake("unshare", "exit 1");
    let ran = machine.setup("isolate true", &[]);
    assert_eq!(ran.code, Some(2), "{}", ran.said);
    assert!(ran.said.contains("may not make network namespaces"));
    assert!(!ran.said.contains("sudo"), "{}", ran.said);
}

#[test]
fn a_user_with_sudo_reads_why_it_is_needed() {
    let machine = Machine::without("sudo", &["cc"]);
    machine.fake("apt-get", "log apt-get $*; cp ../later/cc cc");
    let ran = machine.setup("need demo", &[]);
    assert_eq!(ran.code, Some(0), "{}", ran.said);
    assert!(
        ran.said
            .contains("root is needed to install these packages"),
        "{}",
        ran.said
    );
    assert!(ran.log.contains("apt-get -qy install"), "{}", ran.log);
}

#[test]
fn a_user_who_may_not_install_gets_the_command_to_type() {
    let machine = Machine::without("neither", &["cc", "sudo"]);
    let ran = machine.setup("need demo", &[]);
    assert_eq!(ran.code, Some(2));
    let line = ran.said.lines().last().unwrap();
    // A new machine has no lists of packages yet.
    let command = "bofuss: type: su -c 'apt-get -q update && apt-get -qy install ";
    assert!(line.starts_with(command), "{line}");
    assert!(line.ends_with(" gcc libc6-dev'"), "{line}");
    assert!(ran.said.contains("Whoever may types the next line"));
    let machine = Machine::without("no-sudoer", &["cc"]);
    machine.fake("sudo", SUDO_ASKS);
    let ran = machine.setup("need demo", &[]);
    let line = ran.said.lines().last().unwrap();
    let command = "bofuss: type: sudo sh -c 'apt-get -q update && apt-get -qy install ";
    assert!(line.starts_with(command), "{line}");
}

#[test]
fn other_systems_get_a_list_of_programs() {
    let ran = Machine::without("other", &["cc", "apt-get"]).setup("need demo", &[]);
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.said
            .contains("missing programs: cc libc-headers. Install"),
        "{}",
        ran.said
    );
}

#[test]
fn under_sudo_the_caller_builds() {
    let machine = Machine::without("under", &[]);
    machine.fake("id", ROOT);
    machine.fake("sudo", "log sudo $*; cp ../later/id id; shift 3; \"$@\"");
    machine.fake_in("later", "id", "echo 1000");
    let ran = machine.setup("cargo build", &[("SUDO_USER", "ann")]);
    assert!(ran.log.starts_with("sudo -EHu ann -- sh "), "{}", ran.log);
    assert!(ran.log.ends_with("cargo build\n"), "{}", ran.log);
}

#[test]
fn root_runs_directly() {
    let machine = Machine::without("direct", &[]);
    machine.fake("id", ROOT);
    let ran = machine.setup("elevate bofuss demo", &[]);
    assert_eq!(
        (ran.log.as_str(), ran.said.as_str()),
        ("ran bofuss demo\n", "")
    );
}

#[test]
fn a_user_namespace_comes_before_sudo() {
    let machine = Machine::without("userns", &[]);
    machine.fake(
        "unshare",
        "log unshare $*; shift; [ $1 != -n ] || shift; \"$@\"",
    );
    let ran = machine.setup("elevate bofuss demo", &[]);
    let expected = "unshare -rm -n sh -c ip link add type veth\nunshare -rm bofuss demo\n\
        ran bofuss demo\n";
    assert_eq!((ran.log.as_str(), ran.said.as_str()), (expected, ""));
}

#[test]
fn sudo_runs_after_a_line_that_says_why() {
    let machine = Machine::without("why", &[]);
    machine.fake("unshare", "exit 1");
    let ran = machine.setup("elevate bofuss demo", &[("NO_COLOR", "1"), ("HOME", "/")]);
    assert!(
        ran.said
            .starts_with("bofuss: root is needed to make network interfaces")
    );
    assert!(ran.log.contains("NO_COLOR=1") && ran.log.ends_with("ran bofuss demo\n"));
}

#[test]
fn without_any_right_the_exact_command_is_printed() {
    let machine = Machine::without("refused", &[]);
    machine.fake("unshare", "exit 1");
    machine.fake("sudo", SUDO_ASKS);
    let ran = machine.setup("elevate bofuss demo --controller it's", &[]);
    assert_eq!(ran.code, Some(2));
    let line = ran.said.lines().last().unwrap();
    let command = line.strip_prefix("bofuss: type: sudo ").unwrap();
    machine.fake("id", ROOT);
    let mut sh = Command::new("sh");
    sh.args(["-c", command])
        .env("PATH", machine.folder.join("bin"));
    let log = machine.folder.join("log");
    assert!(sh.env("LOG", &log).status().unwrap().success(), "{command}");
    assert!(
        fs::read_to_string(log)
            .unwrap()
            .ends_with("ran bofuss demo --controller it's\n")
    );
}

#[test]
#[ignore = "long: builds on a fresh Debian root, as root, with debootstrap and a network"]
fn a_clean_debian_runs_the_demo_for_everybody() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/clean_debian.sh");
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clean-debian");
    let mut sh = Command::new("sh");
    assert!(sh.arg(script).arg(folder).status().unwrap().success());
}
