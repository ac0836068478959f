//! Bundles end to end: as Open vSwitch's tool sends them in 1.3, and as ours does, also at a time.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use bofuss_tests::peers::contains;
use bofuss_tests::{Capture, Lab, get, have};

const TOOLS: &[&str] = &["ip", "ping", "ovs-ofctl", "dumpcap", "tshark"];

/// Two hosts reach each other by these flows, and not by a part of them.
const PATH: &str = "add in_port=1,actions=goto_table:1
add in_port=2,actions=goto_table:1
add table=1,in_port=1,actions=output:2
add table=1,in_port=2,actions=output:1
";

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
    if !have(TOOLS) {
        return;
    }
    let capture = Capture::start(16671);
    let lab = Lab::new(2, &["--fail-mode", "secure", "--listen", "ptcp:16671"]);
    let tools = lab.ofctl13();
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
    capture.is_well_formed(16671);
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
    lab.asks(&["--bundle", "--at", "+0.5", "add-flows", file.name()]);
    assert!(
        start.elapsed() >= Duration::from_millis(490),
        "then it is told"
    );
    assert!(lab.pings(1, 2));
    let (_, metrics) = get("127.0.0.1:16672", "/metrics", "");
    let mut lines = metrics.lines();
    let line = lines.find(|line| line.starts_with("bofuss_bundle_commit_error_seconds_count"));
    assert!(line.is_some_and(|line| line.ends_with(" 1")), "{line:?}");
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
