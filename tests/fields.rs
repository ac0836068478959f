//! Match fields that controllers map while the switch runs, with real hosts and processes.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::net::{TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bofuss_tests::raw::{connect, message};
use bofuss_tests::{Lab, PATIENCE, Process, address, have, printed, program, run, until};

const PORT: u16 = 6363;
const MAP_TYPE: &str = "add,spare0=udp:64:8,mask,udp_dst=6363";
const MAP_NAME: &str = "add,spare1=udp:72:32,mask,set,udp_dst=6363";
/// A byte of the payload of a TCP segment whose header has a time stamp option.
const MAP_RECORD: &str = "add,spare2=tcp:256:8,mask,ip_proto=6";
/// The experimenter of the messages, and their type.
const FIELD_MAP: [u8; 8] = [0, 0x62, 0x6f, 0x6d, 0, 0, 0, 1];
/// What an echo may take while another connection sends mappings, and the machine does other work.
const MOST_ECHO: Duration = Duration::from_millis(500);

/// Runs `dpctl` in a version of OpenFlow. Returns whether it succeeded, and what it prints.
fn told(lab: &Lab, version: &str, words: &[&str]) -> (bool, String) {
    let mut command = Command::new(program("dpctl"));
    let output = run(command.args(["-O", version, &lab.address()]).args(words));
    (output.status.success(), printed(&output))
}

/// The same of what has to succeed.
fn tell(lab: &Lab, version: &str, words: &[&str]) -> String {
    let (success, text) = told(lab, version, words);
    assert!(success, "{words:?}: {text}");
    text
}

/// Sends a datagram to host 2. Returns what arrives, if anything does.
fn through(lab: &Lab, receiver: &UdpSocket, data: &[u8]) -> Option<Vec<u8>> {
    lab.host(1, || {
        let sender = UdpSocket::bind((address(1), 0)).unwrap();
        for data in [data, b"last"] {
            sender.send_to(data, (address(2), PORT)).unwrap();
        }
    });
    let mut bytes = [0; 64];
    let mut next = || {
        let count = receiver.recv(&mut bytes).unwrap();
        bytes[..count].to_vec()
    };
    let first = next();
    if first == b"last" {
        return None;
    }
    assert_eq!(next(), b"last");
    Some(first)
}

#[test]
fn a_field_is_mapped_matched_set_and_unmapped_while_the_switch_runs() {
    if !have(&["ip"]) {
        return;
    }
    for (version, workers) in [("OpenFlow13", "1"), ("OpenFlow15", "2")] {
        let lab = Lab::new(2, &["--fail-mode", "secure", "--workers", workers]);
        let entry =
            "priority=5,udp,udp_dst=6363,spare0=5,actions=set_field:0x1020304->spare1,output:2";
        let (success, text) = told(&lab, version, &["add-flow", entry]);
        assert!(!success && text.contains("BAD_FIELD"), "{text}");
        let receiver = lab.host(2, || UdpSocket::bind((address(2), PORT)).unwrap());
        receiver.set_read_timeout(Some(PATIENCE)).unwrap();
        tell(&lab, version, &["add-flow", "priority=1,actions=normal"]);
        assert_eq!(
            through(&lab, &receiver, b"\x05changed").unwrap(),
            b"\x05changed"
        );
        for map in [MAP_TYPE, MAP_NAME] {
            tell(&lab, version, &["field_map", map]);
        }
        let maps = tell(&lab, version, &["field_maps"]);
        assert_eq!(maps.lines().collect::<Vec<_>>(), [MAP_TYPE, MAP_NAME]);
        tell(&lab, version, &["add-flow", entry]);
        let dropped = "priority=5,udp,udp_dst=6363,spare0=6,actions=drop";
        tell(&lab, version, &["add-flow", dropped]);
        let changed = through(&lab, &receiver, b"\x05changed").unwrap();
        assert_eq!(changed, b"\x05\x01\x02\x03\x04ged");
        assert_eq!(through(&lab, &receiver, b"\x06dropped"), None);
        assert_eq!(through(&lab, &receiver, b"\x07").unwrap(), b"\x07");
        let flows = tell(&lab, version, &["dump-flows", "udp,udp_dst=6363,spare0=5"]);
        assert!(
            flows.contains("spare0=0x5") && flows.contains("n_packets=1,"),
            "{flows}"
        );
        let (success, text) = told(&lab, version, &["field_map", "delete,spare0"]);
        assert!(!success && text.contains("IN_USE"), "{text}");
        let (success, text) = told(&lab, version, &["field_map", "add,spare0=udp:64:16"]);
        assert!(!success && text.contains("MAPPED"), "{text}");
        tell(&lab, version, &["del-flows", "udp,udp_dst=6363"]);
        tell(&lab, version, &["field_map", "delete,spare0"]);
        let same = through(&lab, &receiver, b"\x06dropped").unwrap();
        assert_eq!(same, b"\x06dropped");
        let (success, text) = told(&lab, version, &["field_map", "add,spare0=udp:64:8,hex"]);
        assert!(!success && text.contains("hex: no word"), "{text}");
    }
}

#[test]
fn segments_of_a_super_frame_are_told_apart_by_a_field_that_was_mapped() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure"]);
    lab.asks(&["field_map", MAP_RECORD]);
    for flow in [
        "priority=2,tcp,spare2=0/1,actions=normal",
        "priority=2,tcp,spare2=1/1,actions=normal",
        "priority=1,actions=normal",
    ] {
        lab.asks(&["add-flow", flow]);
    }
    lab.tcp(1, 2, 4);
    for value in ["0/1", "1/1"] {
        let text = lab.asks(&["dump-aggregate", &format!("tcp,spare2={value}")]);
        let (_, count) = text.split_once("packet_count=").unwrap();
        let count: u32 = count.split_whitespace().next().unwrap().parse().unwrap();
        assert!(count > 100, "segments with {value}: {count}");
    }
}

/// A message of a version, by its type.
fn bytes_of(version: u8, ty: u8, xid: u32, body: &[u8]) -> Vec<u8> {
    let length = (8 + body.len()) as u16;
    let [a, b] = length.to_be_bytes();
    [&[version, ty, a, b][..], &xid.to_be_bytes(), body].concat()
}

/// A connection of a controller that speaks this version.
fn greet(port: u16, version: u8) -> TcpStream {
    let mut stream = connect(port);
    let versions = 1u32 << version;
    let element = [&[0, 1, 0, 8][..], &versions.to_be_bytes()].concat();
    stream
        .write_all(&bytes_of(version, 0, 1, &element))
        .unwrap();
    let hello = message(&mut stream).unwrap();
    assert_eq!(hello[1], 0, "a HELLO");
    stream
}

/// A change of the mappings.
fn field_map(version: u8, xid: u32, command: u8, text: &str) -> Vec<u8> {
    let body = [&FIELD_MAP[..], &[command], text.as_bytes()].concat();
    bytes_of(version, 4, xid, &body)
}

/// Sends a barrier. Returns the errors before its reply, as transaction id and code of the
/// experimenter.
fn errors(stream: &mut TcpStream, version: u8) -> Vec<(u32, u16)> {
    stream
        .write_all(&bytes_of(version, 20, 9_999, &[]))
        .unwrap();
    let mut found = Vec::new();
    loop {
        let bytes = message(stream).unwrap();
        let xid = u32::from_be_bytes([bytes[4], bytes[5], bytes[6], bytes[7]]);
        match (bytes[1], xid) {
            (21, 9_999) => return found,
            (1, xid) => {
                assert_eq!(bytes[8..10], [0xff, 0xff], "an experimenter's");
                found.push((xid, u16::from_be_bytes([bytes[10], bytes[11]])));
            }
            (_, _) => {}
        }
    }
}

#[test]
fn controllers_that_map_the_same_rows_a_thousand_times_hold_up_nobody() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(2, &["--listen", "ptcp:6653:127.0.0.1"]);
    let mut echo = greet(6653, 4);
    errors(&mut echo, 4);
    std::thread::scope(|scope| {
        let work = [(4, 64), (6, 72)].map(|(version, bit)| {
            scope.spawn(move || {
                let mut stream = greet(6653, version);
                let mut sent = Vec::new();
                for number in 0..1_000u32 {
                    let text = format!("spare{}=udp:{}:8", number % 9, bit + number % 5);
                    sent.extend(field_map(version, number, 0, &text));
                    sent.extend(field_map(
                        version,
                        number,
                        1,
                        &format!("spare{}", number % 9),
                    ));
                }
                stream.write_all(&sent).unwrap();
                errors(&mut stream, version)
            })
        });
        let mut longest = Duration::ZERO;
        let mut echoes = 0;
        while !work.iter().all(|one| one.is_finished()) {
            let begin = Instant::now();
            assert!(errors(&mut echo, 4).is_empty());
            longest = longest.max(begin.elapsed());
            echoes += 1;
        }
        let refused: usize = work.map(|one| one.join().unwrap().len()).iter().sum();
        assert!(
            (444..4_000).contains(&refused),
            "{refused} are refused: spare8 is none"
        );
        assert!(longest < MOST_ECHO, "{longest:?} of {echoes}");
    });
    // All is as if one controller had said the last of each.
    for number in 0..8 {
        let name = format!("delete,spare{number}");
        let _ = lab.dpctl(&["field_map", &name]);
    }
    assert_eq!(lab.asks(&["field_maps"]), "");
    lab.asks(&["field_map", MAP_TYPE]);
    lab.all_ping();
}

#[test]
fn wrong_mappings_have_named_errors_and_change_nothing() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(1, &["--listen", "ptcp:6653:127.0.0.1"]);
    let long = "a".repeat(256);
    for version in [4, 5, 6] {
        let mut stream = greet(6653, version);
        let wrong: [(u8, &str, u16); 12] = [
            (2, "spare0=udp:64:8", 0),
            (0, "", 1),
            (0, &long, 1),
            (0, "spare0=udp:64:8\n", 1),
            (0, "spare8=udp:64:8", 1),
            (0, "spare0=gre:64:8", 1),
            (0, "spare0=udp:64:8,colour", 1),
            (0, "spare0=udp:99999:8", 1),
            (0, "spare0=ipv4:64:8", 2),
            (0, "spare0=udp:0:16", 2),
            (0, "spare0=udp:64:129", 2),
            (1, "spare0", 4),
        ];
        for (number, (command, text, code)) in (1..).zip(wrong) {
            let bytes = field_map(version, number, command, text);
            stream.write_all(&bytes).unwrap();
            assert_eq!(errors(&mut stream, version), [(number, code)], "{text}");
        }
        // Without a command.
        stream
            .write_all(&bytes_of(version, 4, 7, &FIELD_MAP))
            .unwrap();
        stream.write_all(&bytes_of(version, 2, 8, &[])).unwrap();
        assert_eq!(
            message(&mut stream).unwrap()[8..12],
            [0, 1, 0, 6],
            "BAD_REQUEST/BAD_LEN"
        );
        assert_eq!(message(&mut stream).unwrap()[1], 3, "an echo");
    }
    assert_eq!(lab.asks(&["field_maps"]), "");
    assert!(
        lab.log().contains("spare8: no spare row is called that"),
        "{}",
        lab.log()
    );
}

#[test]
fn a_process_that_takes_the_switch_over_has_the_mappings() {
    if !have(&["ip"]) {
        return;
    }
    let mut lab = Lab::new(2, &[]);
    lab.asks(&["field_map", MAP_TYPE]);
    lab.asks(&["field_map", MAP_NAME]);
    let set = "group_id=5,type=all,bucket=set_field:7->spare1,output:2";
    lab.asks(&["add-group", set]);
    let entry = "udp,udp_dst=6363,spare0=5,actions=group:5";
    lab.asks(&["add-flow", entry]);
    let words = std::fs::read(format!("/proc/{}/cmdline", lab.switch.0.id())).unwrap();
    let words = String::from_utf8(words).unwrap();
    let log = std::env::temp_dir().join(format!("bofuss-mapped-{}", std::process::id()));
    let mut command = Command::new(program("bofuss"));
    command.args(words.split_terminator('\0').skip(1));
    command.stderr(std::fs::File::create(&log).unwrap());
    let next = Process::start(command.arg("--replace").stdout(Stdio::null()));
    until("the successor runs", || {
        let said = std::fs::read_to_string(&log).unwrap();
        said.contains("the ports are taken over")
    });
    let mut old = std::mem::replace(&mut lab.switch, next);
    until("the old one ends", || old.0.try_wait().unwrap().is_some());
    std::fs::remove_file(&log).unwrap();
    let maps = lab.asks(&["field_maps"]);
    assert_eq!(maps.lines().collect::<Vec<_>>(), [MAP_TYPE, MAP_NAME]);
    assert!(lab.asks(&["dump-flows"]).contains("spare0=0x5"));
    assert!(lab.asks(&["dump-groups"]).contains("set_field:0x7->spare1"));
    assert!(!lab.dpctl(&["field_map", "delete,spare0"]).status.success());
}
