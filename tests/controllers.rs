//! Controllers that we did not write drive the switch.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Stdio};

use bofuss_tests::peers::joins_ovs;
use bofuss_tests::{Capture, Lab, Process, have, program, python, until};

const TOOLS: &[&str] = &["ip", "ping", "dumpcap", "tshark", "python3"];

fn controller(arguments: &[&str]) -> Command {
    let mut command = Command::new(python());
    command.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("controllers"));
    command.args(arguments).stderr(Stdio::null());
    command
}

#[test]
fn a_learning_switch_on_os_ken_joins_three_hosts() {
    if !have(TOOLS) {
        return;
    }
    let capture = Capture::start(16653);
    let output = std::env::temp_dir().join(format!("bofuss-os-ken-{}", std::process::id()));
    let stdout = std::fs::File::create(&output).unwrap();
    let _controller = Process::start(controller(&["learning.py", "16653"]).stdout(stdout));
    let lab = Lab::new(3, &["--controller", "tcp:127.0.0.1:16653"]);
    lab.all_ping();
    lab.tcp(1, 2, 64);
    lab.udp(2, 3);
    let said = || std::fs::read_to_string(&output).unwrap();
    until("the controller is master", || said().contains("ROLE 2"));
    until("it has the tables", || said().contains("TABLES"));
    assert!(!said().contains("ERROR"), "{}", said());
    std::fs::remove_file(&output).unwrap();
    drop(lab);
    capture.is_well_formed(16653);
}

#[test]
fn the_example_of_oflib_is_a_hub() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let mut example = Command::new(program("examples/controller"));
    let _controller = Process::start(example.arg("127.0.0.1:16654").stdout(Stdio::null()));
    let lab = Lab::new(3, &["--controller", "tcp:127.0.0.1:16654"]);
    lab.all_ping();
    let flows = String::from_utf8(lab.dpctl(&["dump-flows"]).stdout).unwrap();
    let entries: Vec<&str> = flows
        .lines()
        .filter(|line| line.contains("n_packets"))
        .collect();
    assert_eq!(entries.len(), 1, "{flows}");
    assert!(entries[0].contains("CONTROLLER:65535"), "{flows}");
    assert!(!entries[0].contains("n_packets=0"), "{flows}");
}

#[test]
fn ovs_testcontroller_joins_three_hosts() {
    if !have(&[TOOLS, &["ovs-testcontroller"]].concat()) {
        return;
    }
    let log = joins_ovs("1.3", 16767, Some("openflow_v4.type"));
    assert!(!log.contains("BAD_"), "{log}");
}
