//! Fields that a configuration alone brings, as their guide has them, with real hosts: matched,
//! set, counted and printed, in super-frames, too.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use bofuss_tests::{Lab, PATIENCE, address, have, ok, program, run};

const PAGE: &str = include_str!("../docs/guide/add-a-field-by-configuration.md");
const PORT: u16 = 6363;
/// A byte of the payload of a TCP segment whose header has a time stamp option.
const OF_TCP: &str = "record=tcp:256:8,number=3,mask,hex,ip_proto=6";

/// The text of the page's first block of a kind.
fn block(kind: &str) -> &'static str {
    let fence = format!("```{kind}\n");
    let (_, rest) = PAGE.split_once(&fence).unwrap();
    rest.split_once("```").unwrap().0
}

/// A file that is removed when dropped.
struct TemporaryFile(PathBuf);

impl TemporaryFile {
    fn new(name: &str, text: &str) -> Self {
        let folder = std::env::temp_dir();
        let path = folder.join(format!("bofuss-{name}-{}.toml", std::process::id()));
        fs::write(&path, text).unwrap();
        Self(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Runs the page's shell commands on this switch. Returns what they print.
fn shell(lab: &Lab) -> String {
    let dpctl = program("dpctl");
    let lines = block("console").replace("\ndpctl", &format!("\n{}", dpctl.display()));
    let lines = lines.replace(" icn '", &format!(" {} '", lab.address()));
    ok(Command::new("sh").args(["-e", "-c", &lines]))
}

#[test]
fn the_fields_of_the_guide_are_matched_set_counted_and_printed() {
    if !have(&["ip", "sh"]) {
        return;
    }
    let text = block("toml").replace("name = \"icn\"\n", "");
    let file = TemporaryFile::new("icn", &text);
    let lab = Lab::new(2, &["--config", file.path(), "--fail-mode", "secure"]);
    for flow in ["arp,actions=flood", "priority=2,udp,actions=drop"] {
        assert!(lab.dpctl(&["add-flow", flow]).status.success());
    }
    shell(&lab);
    let receiver = lab.host(2, || UdpSocket::bind((address(2), PORT)).unwrap());
    receiver.set_read_timeout(Some(PATIENCE)).unwrap();
    lab.host(1, || {
        let sender = UdpSocket::bind((address(1), 0)).unwrap();
        for data in [b"\x06dropped", b"\x05changed"] {
            sender.send_to(data, (address(2), PORT)).unwrap();
        }
    });
    let mut data = [0; 64];
    let count = receiver.recv(&mut data).unwrap();
    assert_eq!(&data[..count], b"\x05\x01\x02\x03\x04ged");
    receiver
        .set_read_timeout(Some(Duration::from_millis(1)))
        .unwrap();
    assert!(receiver.recv(&mut data).is_err(), "the other was dropped");
    let printed = shell(&lab);
    let wanted = ["icn_type=0x5", "set_field:0x1020304->icn_hash"];
    for part in wanted {
        assert!(printed.contains(part), "{part} in {printed}");
    }
}

#[test]
fn segments_of_a_super_frame_are_told_apart_by_what_they_carry() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(2, &["--field", OF_TCP, "--fail-mode", "secure"]);
    let dpctl = |arguments: &[&str]| {
        let mut command = Command::new(program("dpctl"));
        command.args(["--field", OF_TCP, arguments[0], &lab.address()]);
        ok(command.args(&arguments[1..]))
    };
    for flow in [
        "priority=2,tcp,record=0/1,actions=normal",
        "priority=2,tcp,record=1/1,actions=normal",
        "priority=1,actions=normal",
    ] {
        dpctl(&["add-flow", flow]);
    }
    lab.tcp(1, 2, 4);
    for value in ["0/1", "1/1"] {
        let text = dpctl(&["dump-aggregate", &format!("tcp,record={value}")]);
        let (_, count) = text.split_once("packet_count=").unwrap();
        let count: u32 = count.split_whitespace().next().unwrap().parse().unwrap();
        assert!(count > 100, "segments with {value}: {count}");
    }
}

#[test]
fn a_configuration_that_contradicts_itself_is_refused_and_says_why() {
    let refused = |fields: &[String], part: &str| {
        let list: Vec<String> = fields
            .iter()
            .map(|field| format!("    \"{field}\",\n"))
            .collect();
        let text = format!("name = \"hostile\"\nfield = [\n{}]\n", list.concat());
        let file = TemporaryFile::new("hostile", &text);
        let output = run(Command::new(program("bofuss")).args(["run", "--config", file.path()]));
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(
            said.contains(part) && said.lines().count() < 4,
            "{part} in {said}"
        );
    };
    let two = |one: &str, other: &str| [one.into(), other.into()];
    let one = "one=udp:64:8,number=1,set";
    refused(
        &two(one, "one=udp:72:8,number=2"),
        "one: flows have a word like this",
    );
    refused(
        &two(one, "two=udp:72:8,number=1"),
        "has the number of one of the configuration",
    );
    refused(
        &two(one, "two=udp:68:8,number=2"),
        "has bits of one of the configuration",
    );
    refused(&["one=eth:96:8,number=1".into()], "end with bit 96");
    refused(
        &["one=udp:65535:65535,number=1".into()],
        "the bits end with bit",
    );
    refused(&["one=udp:64:0,number=1".into()], "the bits end with bit");
    refused(
        &["one=udp:64:4294967296,number=1".into()],
        "BIT and BITS are numbers",
    );
    let many: Vec<String> = (0..800)
        .map(|i| {
            format!(
                "f{i}=udp:{}:8,number={},experimenter={}",
                64 + 8 * i,
                i % 128,
                1 + i / 128
            )
        })
        .collect();
    refused(&many, "at most 251 fields fit");
}
