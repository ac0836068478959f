//! Controllers that we did not write drive the switch.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Stdio};

use bofuss_tests::{Capture, Lab, Process, have, python, until};

const TOOLS: &[&str] = &["ip", "ping", "tcpdump", "tshark", "python3"];

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
    let said = std::fs::read_to_string(&output).unwrap();
    std::fs::remove_file(&output).unwrap();
    assert!(said.contains("ROLE 2"), "the controller is master: {said}");
    assert!(said.contains("TABLES") && !said.contains("ERROR"), "{said}");
    drop(lab);
    capture.is_well_formed(16653);
}

#[test]
fn c65faucet_joins_hosts_of_one_vlan_and_parts_those_of_two() {
    if !have(TOOLS) {
        return;
    }
    let dir = std::env::temp_dir().join(format!("bofuss-faucet-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let config = "vlans:\n  office:\n    vid: 100\n  guest:\n    vid: 200\n\
        dps:\n  sw1:\n    dp_id: 0x1\n    hardware: \"Generic\"\n    interfaces:\n\
        \x20     1:\n        native_vlan: office\n      2:\n        native_vlan: office\n\
        \x20     3:\n        native_vlan: guest\n";
    std::fs::write(dir.join("faucet.yaml"), config).unwrap();
    let capture = Capture::start(16654);
    let mut command = Command::new(python().with_file_name("faucet"));
    command
        .args(["--ryu-ofp-tcp-listen-port", "16654"])
        .current_dir(&dir);
    command.env("FAUCET_CONFIG", dir.join("faucet.yaml"));
    for name in ["FAUCET_LOG", "FAUCET_EXCEPTION_LOG"] {
        command.env(name, dir.join(name));
    }
    command.env("FAUCET_PROMETHEUS_PORT", "19302");
    let faucet = Process::start(command.stdout(Stdio::null()).stderr(Stdio::null()));
    let lab = Lab::new(3, &["--dpid", "0x1", "--controller", "tcp:127.0.0.1:16654"]);
    until("h1 reaches h2", || lab.pings(1, 2));
    lab.tcp(1, 2, 64);
    lab.udp(2, 1);
    assert!(!lab.pings(1, 3), "another VLAN is out of reach");
    assert!(
        !lab.log().contains("BAD_"),
        "faucet and the switch understand each other"
    );
    drop((lab, faucet));
    std::fs::remove_dir_all(&dir).unwrap();
    capture.is_well_formed(16654);
}
