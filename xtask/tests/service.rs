//! Tests the service under a real systemd, installed from the Debian package.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::Command;

#[test]
#[ignore = "long: boots a fresh Debian root, as root, with systemd-nspawn and a network"]
fn the_service_starts_reloads_is_watched_and_goes() {
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    assert!(xtask.args(["dist", "--debug"]).status().unwrap().success());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let dist: PathBuf = folder.join("../dist-debug");
    let names = dist.read_dir().unwrap().map(|entry| entry.unwrap().path());
    let package = names
        .into_iter()
        .find(|path| path.extension().is_some_and(|e| e == "deb"));
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/service.sh");
    let mut sh = Command::new("sh");
    sh.arg(script)
        .arg(folder.join("service"))
        .arg(package.unwrap());
    assert!(sh.status().unwrap().success());
}
