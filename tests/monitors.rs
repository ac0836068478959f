//! Flow monitors end to end: Open vSwitch's tool in 1.0 and 1.3 to 1.5, and ours, follow how
//! entries change. `misread.rs` has what tshark does not know of them.
#![allow(clippy::unwrap_used)]

use std::fs::{self, File};
use std::path::PathBuf;
use std::process::Command;

use bofuss_tests::{Lab, Process, have, program, until};

/// A tool that prints what the switch reports.
struct Follower {
    printed: PathBuf,
    process: Process,
}

impl Follower {
    /// Starts a tool. Its output is kept in a file of this name.
    fn start(name: &str, command: &mut Command) -> Self {
        let name = format!("bofuss-{name}-{}", std::process::id());
        let printed = std::env::temp_dir().join(name);
        let file = File::create(&printed).unwrap();
        command.stdout(file.try_clone().unwrap()).stderr(file);
        let process = Process::start(command);
        Self { printed, process }
    }

    /// Waits until it has printed these texts, in this order.
    fn prints(&self, texts: &[&str]) {
        until(&format!("{texts:?} in {}", self.printed.display()), || {
            let printed = fs::read_to_string(&self.printed).unwrap();
            let mut rest = printed.as_str();
            texts.iter().all(|text| match rest.find(text) {
                Some(at) => {
                    rest = &rest[at + text.len()..];
                    true
                }
                None => false,
            })
        });
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        let _ = self.process.0.kill();
        let _ = fs::remove_file(&self.printed);
    }
}

#[test]
fn ovs_ofctl_follows_entries_in_1_0_and_1_3_to_1_5() {
    if have(&["ip", "ovs-ofctl"]) {
        ovs_ofctl_follows_entries("OpenFlow10", "ADDED");
        ovs_ofctl_follows_entries("OpenFlow13", "ADDED");
        ovs_ofctl_follows_entries("OpenFlow14", "INITIAL");
        ovs_ofctl_follows_entries("OpenFlow15", "INITIAL");
    }
}

/// `ovs-ofctl` follows entries in a version, which says `first` of those that are there already.
/// Without `!own`, since 1.4 it asks for its own changes alone (3.1).
fn ovs_ofctl_follows_entries(version: &str, first: &str) {
    let lab = Lab::new(1, &["--fail-mode", "secure"]);
    lab.asks(&[
        "add-flow",
        "table=1,priority=7,cookie=9,ip,actions=output:1",
    ]);
    let address = lab.tools_address();
    let mut command = Command::new("ovs-ofctl");
    command.env("OVS_RUNDIR", std::env::temp_dir());
    command.args(["-O", version, "monitor", "--no-names", &address]);
    let follower = Follower::start(version, command.arg("watch:!own"));
    let entry = "table=1 cookie=0x9 ip";
    follower.prints(&[&format!("event={first} {entry} actions=output:1")]);
    lab.asks(&["mod-flows", "table=1,actions=drop"]);
    lab.asks(&[
        "add-flow",
        "priority=3,hard_timeout=1,in_port=1,actions=drop",
    ]);
    lab.asks(&["del-flows", "table=1"]);
    let added = "event=ADDED table=0 hard_timeout=1 cookie=0 in_port=1";
    follower.prints(&[
        &format!("event=MODIFIED {entry}"),
        added,
        &format!("event=DELETED reason=delete {entry}"),
    ]);
    // On a busy machine the second may be over before the entry of table 1 is deleted.
    follower.prints(&[added, "event=DELETED reason=hard table=0 hard_timeout=1"]);
}

#[test]
fn dpctl_follows_entries() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(1, &["--fail-mode", "secure"]);
    lab.asks(&[
        "add-flow",
        "table=1,priority=7,cookie=9,ip,actions=output:1",
    ]);
    let mut command = Command::new(program("dpctl"));
    let watch = ["monitor", "watch:!modify,table=1"];
    command.args(["-O", "OpenFlow13", &lab.name]).args(watch);
    let follower = Follower::start("dpctl-monitor", &mut command);
    let entry = "table=1,cookie=0x9,priority=7,ip";
    follower.prints(&[&format!("event=added,{entry} actions=output:1")]);
    lab.asks(&["mod-flows", "table=1,actions=drop"]);
    lab.asks(&["add-flow", "actions=drop"]);
    lab.asks(&["del-flows", "table=1"]);
    follower.prints(&[
        "RECEIVED",
        "RECEIVED",
        "event=removed,reason=delete,table=1",
    ]);
    let printed = fs::read_to_string(&follower.printed).unwrap();
    assert!(
        !printed.contains("modified") && !printed.contains("table=0"),
        "{printed}"
    );
    for (wrong, said) in [
        ("watch:cookie=1/1", "a monitor has table"),
        ("watch:nonsense", "nonsense"),
        ("watch:out_group=1", "cannot say out_group"),
    ] {
        let output = lab.dpctl(&["-O", "OpenFlow13", "monitor", wrong]);
        let text = String::from_utf8(output.stderr).unwrap();
        assert!(text.contains(said), "{wrong}: {text}");
    }
}
