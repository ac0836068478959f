//! Captures and mirrors: frames of a port both ways, OpenFlow messages, and what is refused.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::Command;

use bofuss_tests::{Lab, have, ip, ok, printed, program, run, until};

/// Sends a command to a switch. Returns what it prints, and whether it succeeded.
fn ctl(lab: &Lab, words: &[&str]) -> (String, bool) {
    let mut command = Command::new(program("bofuss"));
    let output = run(command.args(["ctl", &lab.name]).args(words));
    (printed(&output), output.status.success())
}

/// One field of those packets of a file that pass a filter, as tshark prints it.
fn tshark(file: &Path, filter: &str, field: &str) -> String {
    let mut command = Command::new("tshark");
    command
        .arg("-r")
        .arg(file)
        .args(["-Y", filter, "-T", "fields", "-e", field]);
    String::from_utf8_lossy(&run(&mut command).stdout).into_owned()
}

#[test]
fn a_capture_has_a_ports_frames_both_ways_as_the_flow_says() {
    if !have(&["ip", "tshark", "ovs-ofctl"]) {
        return;
    }
    let lab = Lab::new(2, &["--log-format", "json"]);
    let file = |name| std::env::temp_dir().join(format!("bofuss-{}-{name}", lab.name));
    let (frames, messages) = (file("frames.pcap"), file("messages.pcapng"));
    let (frames_name, messages_name) =
        (frames.display().to_string(), messages.display().to_string());
    let begun = ctl(&lab, &["capture", "1", &frames_name, "icmp"]);
    assert_eq!(begun, (String::new(), true));
    assert!(ctl(&lab, &["capture", "openflow", &messages_name]).1);
    lab.all_ping();
    lab.dpctl(&["-O", "OpenFlow14", "add-flow", "arp,actions=normal"]);
    let captures = ctl(&lab, &["captures"]).0;
    assert!(
        captures.contains(&format!("1 {frames_name} packets=4 bytes=392 lost=0")),
        "{captures}"
    );
    assert!(
        captures.contains(&format!("openflow {messages_name} packets=")),
        "{captures}"
    );
    for name in [&frames_name, &messages_name] {
        assert!(ctl(&lab, &["end-capture", name]).1);
    }
    assert_eq!(ctl(&lab, &["captures"]).0, "");
    until("the file is whole", || {
        tshark(&frames, "icmp", "icmp.type").lines().count() == 4
    });
    assert_eq!(tshark(&frames, "icmp", "icmp.type"), "8\n0\n8\n0\n");
    assert_eq!(
        tshark(&frames, "!icmp", "frame.number"),
        "",
        "ARP was left out"
    );
    let types = tshark(&messages, "openflow_v5", "openflow_v5.type");
    assert!(types.lines().any(|ty| ty == "14"), "a FLOW_MOD: {types}");
    for line in lab.log().lines() {
        let value: serde_json::Value = serde_json::from_str(line).unwrap();
        assert!(
            value["level"].is_string() && value["message"].is_string(),
            "{line}"
        );
    }
    for file in [frames, messages] {
        fs::remove_file(file).unwrap();
    }
}

#[test]
fn a_capture_of_openflow_has_the_addresses_of_each_connection() {
    if !have(&["ip", "tshark"]) {
        return;
    }
    let listen = [
        "--listen",
        "ptcp:16704:127.0.0.1",
        "--listen",
        "ptcp:16704:[::1]",
    ];
    let lab = Lab::new(1, &listen);
    let file = std::env::temp_dir().join(format!("bofuss-{}-ends.pcap", lab.name));
    let name = file.display().to_string();
    assert!(ctl(&lab, &["capture", "openflow", &name]).1);
    for address in ["tcp:127.0.0.1:16704", "tcp:[::1]:16704"] {
        ok(Command::new(program("dpctl")).args(["-O", "OpenFlow14", address, "show"]));
    }
    assert!(ctl(&lab, &["end-capture", &name]).1);
    let kinds = [("ipv4", "127.0.0.1"), ("ipv6", "::1")];
    for (kind, address) in kinds {
        let said = |filter: &str, field: &str| {
            let filter = format!("exported_pdu.{kind}_src == {address} && {filter}");
            let text = tshark(&file, &filter, &format!("exported_pdu.{field}"));
            text.lines().map(String::from).collect::<Vec<_>>()
        };
        // A FEATURES_REQUEST comes from the tool's port, and the reply goes there.
        until("the file is whole", || {
            said("openflow_v5.type == 6", "src_port") == ["16704"]
        });
        let from = said("openflow_v5.type == 5", "src_port");
        assert_eq!(said("openflow_v5.type == 6", "dst_port"), from);
        assert_eq!(said("openflow_v5.type == 5", "dst_port"), ["16704"]);
        assert_ne!(from, ["16704"]);
        assert_eq!(
            said("openflow_v5.type == 5", &format!("{kind}_dst")),
            [address]
        );
    }
    fs::remove_file(file).unwrap();
}

#[test]
fn frames_and_messages_share_a_file_that_a_killed_switch_leaves_whole() {
    if !have(&["ip", "tshark"]) {
        return;
    }
    let mut lab = Lab::new(2, &[]);
    let file = std::env::temp_dir().join(format!("bofuss-{}-both.pcapng", lab.name));
    let name = file.display().to_string();
    for words in [
        &["capture", "1", &name, "icmp"][..],
        &["capture", "2", &name],
        &["capture", "openflow", &name],
    ] {
        assert_eq!(ctl(&lab, words), (String::new(), true));
    }
    lab.all_ping();
    ok(Command::new(program("dpctl")).args(["-O", "OpenFlow14", &lab.address(), "show"]));
    let sources = "frame.interface_name";
    let count = |filter: &str| tshark(&file, filter, sources).lines().count();
    until("both are there", || {
        count("icmp") == 8 && count("openflow_v5") > 0
    });
    let (one, two) = (lab.port(1), lab.port(2));
    assert_eq!(
        tshark(
            &file,
            &format!("arp && frame.interface_name == {one}"),
            sources
        ),
        ""
    );
    for (filter, expected) in [
        (format!("icmp && frame.interface_name == {one}"), 4),
        (format!("icmp && frame.interface_name == {two}"), 4),
        // Requests come in by one port and leave by the other, and so do replies.
        ("icmp && frame.packet_flags_direction == 1".into(), 4),
        ("icmp && frame.packet_flags_direction == 2".into(), 4),
    ] {
        assert_eq!(count(&filter), expected, "{filter}");
    }
    let messages = tshark(&file, "openflow_v5", sources);
    assert!(
        messages.lines().all(|source| source == "openflow"),
        "{messages}"
    );
    let described = fs::read(&file).unwrap();
    let comment = format!("port 1 of switch {}, icmp", lab.name);
    let mut windows = described.windows(comment.len());
    assert!(windows.any(|window| window == comment.as_bytes()));

    assert!(lab.pings(1, 2));
    lab.switch.0.kill().unwrap();
    lab.switch.0.wait().unwrap();
    let mut read = Command::new("tshark");
    let read = run(read.arg("-r").arg(&file));
    assert!(read.status.success(), "{}", printed(&read));
    assert!(count("icmp") >= 8);
    fs::remove_file(file).unwrap();
}

#[test]
fn a_mirror_sends_copies_out_of_another_port() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(3, &[]);
    lab.all_ping();
    let received = || {
        let shown = lab.host(3, || ip("-s link show eth0"));
        let numbers = shown.lines().nth(3).unwrap().split_whitespace().nth(1);
        numbers.unwrap().parse::<u64>().unwrap()
    };
    let before = received();
    assert_eq!(
        ctl(&lab, &["mirror", "1", &lab.port(3), "icmp"]),
        (String::new(), true)
    );
    assert!(lab.pings(2, 1));
    until("both ways are mirrored", || received() >= before + 2);
    assert!(
        ctl(&lab, &["captures"])
            .0
            .contains("packets=2 bytes=196 lost=0")
    );
    assert!(ctl(&lab, &["end-capture", &lab.port(3)]).1);
}

#[test]
fn what_cannot_be_captured_is_refused_and_makes_no_file() {
    if !have(&["ip", "mkfifo"]) {
        return;
    }
    let lab = Lab::new(1, &[]);
    let file = std::env::temp_dir().join(format!("bofuss-{}-no.pcap", lab.name));
    let name = file.display().to_string();
    let pipe = format!("{name}.pipe");
    ok(Command::new("mkfifo").arg(&pipe));
    for (words, reason) in [
        (&["capture", "9", &name][..], "there is no port 9"),
        (&["capture", "1", &pipe], "No such device or address"),
        (&["capture", "1", &name, "tpc"], "tpc"),
        (&["capture", "1"], "PORT and FILE are required"),
        (&["capture", "1", "/nonexistent/x.pcap"], "No such file"),
        (&["mirror", "1", "1"], "cannot mirror itself"),
        (&["mirror", "1", "7"], "there is no port 7"),
        (&["end-capture", "x"], "nothing goes to x"),
    ] {
        let (said, fine) = ctl(&lab, words);
        assert!(!fine && said.contains(reason), "{words:?}: {said}");
    }
    assert!(!file.exists());
    fs::remove_file(pipe).unwrap();
    for number in 0..16 {
        let name = format!("{name}{number}");
        assert!(ctl(&lab, &["capture", "1", &name]).1);
        fs::remove_file(name).unwrap();
    }
    assert!(
        ctl(&lab, &["capture", "1", &name])
            .0
            .contains("16 captures")
    );
    let _ = ok(Command::new(program("bofuss")).args(["ctl", &lab.name, "shutdown"]));
}
