//! Bundles end to end: as Open vSwitch's tool sends them in 1.3 to 1.5, and as ours does, also at
//! a time.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bofuss_tests::peers::{Ofctl, contains};
use bofuss_tests::{Capture, Lab, get, have};

const TOOLS: &[&str] = &["ip", "ping", "ovs-ofctl", "dumpcap", "tshark"];

/// Two hosts reach each other by these flows, and not by a part of them.
const PATH: &str = "add in_port=1,actions=goto_table:1
add in_port=2,actions=goto_table:1
add table=1,in_port=1,actions=output:2
add table=1,in_port=2,actions=output:1
";

/// The number of seconds after which a bundle is to be committed: even on a busy machine the switch
/// has it by then.
const AHEAD: &str = "+2";

/// A file of a test.
struct Written(PathBuf);

impl Written {
    fn new(text: &str) -> Self {
        let name = format!("bofuss-bundle-{:?}", std::thread::current().id());
        let name = format!("{name}-{}", std::process::id());
        let this = Self(std::env::temp_dir().join(name));
        this.holds(text);
        this
    }
    fn holds(&self, text: &str) {
        fs::write(&self.0, text).unwrap();
    }
    fn name(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Written {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

#[test]
fn ovs_ofctl_changes_all_or_nothing_in_a_bundle() {
    if have(TOOLS) {
        changes_all_or_nothing("OpenFlow13", 16671, None);
        changes_all_or_nothing("OpenFlow14", 16673, Some("openflow_v5.type"));
        changes_all_or_nothing("OpenFlow15", 16674, Some("openflow_v6.type"));
    }
}

/// `ovs-ofctl` sends bundles in a version to a switch that listens at `port`. tshark names the type
/// of a message by `field`; without one, as it does for 1.3.
fn changes_all_or_nothing(version: &'static str, port: u16, field: Option<&str>) {
    let capture = Capture::start(port);
    let listen = format!("ptcp:{port}");
    let lab = Lab::new(2, &["--fail-mode", "secure", "--listen", &listen]);
    let tools = Ofctl { lab: &lab, version };
    let file = Written::new(PATH);
    tools.told("add-flows", &["--bundle", file.name()]);
    assert_eq!(tools.entries(&[]), 4);
    assert!(lab.pings(1, 2));
    file.holds("delete\nadd priority=7,actions=group:9\nadd actions=drop\n");
    contains(
        &tools.refused("add-flows", &["--bundle", file.name()]),
        &["OFPBAC_BAD_OUT_GROUP", "OFPBFC_MSG_FAILED"],
    );
    assert_eq!(tools.entries(&[]), 4);
    assert!(lab.pings(1, 2), "all is as it was");
    let changes = "group add group_id=9,type=all,bucket=output:2\n\
                   flow add table=1,in_port=1,priority=9,actions=group:9\n";
    file.holds(changes);
    tools.told("bundle", &[file.name()]);
    assert_eq!(tools.entries(&["out_group=9"]), 1);
    assert!(lab.pings(1, 2));
    tools.told("del-flows", &["--bundle", "table=1"]);
    assert!(!lab.pings(1, 2));
    drop(lab);
    match field {
        Some(field) => capture.is_well_formed_in(port, field),
        None => capture.is_well_formed(port),
    }
}

#[test]
fn dpctl_changes_all_or_nothing_in_a_bundle() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure"]);
    let file = Written::new(PATH);
    lab.asks(&["--bundle", "add-flows", file.name()]);
    assert!(lab.pings(1, 2));
    file.holds("delete\nadd actions=group:9\n");
    let output = lab.dpctl(&["--bundle", "add-flows", file.name()]);
    let text = String::from_utf8(output.stderr).unwrap();
    contains(&text, &["BAD_OUT_GROUP", "(to message 2 of 2)"]);
    assert!(lab.pings(1, 2), "all is as it was");
    let old = lab.dpctl(&["-O", "OpenFlow10", "--bundle", "add-flow", "actions=drop"]);
    let text = String::from_utf8(old.stderr).unwrap();
    contains(&text, &["this OpenFlow version cannot say BUNDLE_CONTROL"]);
}

#[test]
fn packets_meet_a_bundle_at_its_time() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure", "--metrics", "16672"]);
    let file = Written::new(PATH);
    let start = Instant::now();
    lab.asks(&["--bundle", "--at", AHEAD, "add-flows", file.name()]);
    assert!(
        start.elapsed() >= Duration::from_millis(1_990),
        "the answer comes then"
    );
    assert!(lab.pings(1, 2));
    has_measured_one_commit(16672);
    let seconds = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs();
    let past = (seconds - 10).to_string();
    let output = lab.dpctl(&["--bundle", "--at", &past, "del-flows"]);
    let text = String::from_utf8(output.stderr).unwrap();
    contains(&text, &["BUNDLE_FAILED/SCHED_PAST"]);
    assert!(lab.pings(1, 2), "nothing is changed");
    let told = lab.asks(&["bundle-features"]);
    contains(
        &told,
        &["sched_accuracy=0.0", "capabilities=atomic|ordered|time"],
    );
}

/// Checks that the metrics at a port of this machine count one bundle that was committed at a time.
fn has_measured_one_commit(port: u16) {
    let (_, metrics) = get(&format!("127.0.0.1:{port}"), "/metrics", "");
    let mut lines = metrics.lines();
    let line = lines.find(|line| line.starts_with("bofuss_bundle_commit_error_seconds_count"));
    assert!(line.is_some_and(|line| line.ends_with(" 1")), "{line:?}");
}

#[test]
fn packets_meet_a_bundle_at_its_time_in_atomic_time() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let clock = ["--bundle-clock", "tai", "--metrics", "16699"];
    let lab = Lab::new(2, &[&["--fail-mode", "secure"], &clock[..]].concat());
    // Seconds between the two clocks differ from system to system: some do not know them.
    let read = || -> f64 {
        let told = lab.asks(&["bundle-features"]);
        let (_, rest) = told.split_once("timestamp=").expect(&told);
        rest.split([',', ']']).next().unwrap().parse().unwrap()
    };
    let file = Written::new(PATH);
    let ahead: f64 = AHEAD.parse().unwrap();
    let at = read() + ahead;
    let asked = format!("{at:.6}");
    lab.asks(&["--bundle", "--at", &asked, "add-flows", file.name()]);
    assert!(read() >= at, "the answer comes then");
    assert!(lab.pings(1, 2));
    has_measured_one_commit(16699);
    let past = format!("{:.6}", at - 10.0);
    let output = lab.dpctl(&["--bundle", "--at", &past, "del-flows"]);
    let text = String::from_utf8(output.stderr).unwrap();
    contains(&text, &["BUNDLE_FAILED/SCHED_PAST"]);
    assert!(lab.pings(1, 2), "nothing is changed");
}
