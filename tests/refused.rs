//! What is refused leaves one line in the log that says what was wrong.
#![allow(clippy::unwrap_used)]

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;

use bofuss_oflib::message::{FlowModCommand, PortMod};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::{Codec, Message, PortNo, Version};
use bofuss_tests::{Lab, PATIENCE, have, raw, until};

const TOOLS: &[&str] = &["ip", "ping"];

/// A controller that sends whatever it likes.
struct Peer(TcpStream, Codec);

impl Peer {
    fn connect(port: u16, version: Version) -> Self {
        let mut this = Self(raw::connect(port), Codec::new(version, Arc::default()));
        this.0
            .write_all(&[version.number(), 0, 0, 8, 0, 0, 0, 1])
            .unwrap();
        assert_eq!(this.read()[1], 0, "HELLO comes first");
        this
    }

    fn read(&mut self) -> Vec<u8> {
        raw::message(&mut self.0).unwrap()
    }

    /// Sends bytes that are answered with an ERROR.
    fn is_refused(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
        assert_eq!(self.read()[1], 1, "it is an ERROR");
    }

    /// Sends bytes, and a barrier, whose reply is the first answer.
    fn is_accepted(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).unwrap();
        let barrier = [Version::V1_3.number(), 20, 0, 8, 0, 0, 0, 2];
        self.0.write_all(&barrier).unwrap();
        assert_eq!(self.read()[1], 21, "it is a BARRIER_REPLY");
    }

    fn bytes(&self, message: &Message) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.1.encode(0x77, message, &mut bytes).unwrap();
        bytes
    }
}

/// Waits for a line of the log about a peer that contains all of `words`; there is only one.
fn tells(lab: &Lab, peer: &Peer, words: &[&str]) {
    let about = format!("{} on ptcp:", peer.0.local_addr().unwrap());
    let tells = |line: &&str| line.contains(&about) && words.iter().all(|word| line.contains(word));
    until(&format!("the log says {words:?}"), || {
        lab.log().lines().any(|line| tells(&line))
    });
    let log = lab.log();
    let lines: Vec<_> = log.lines().filter(tells).collect();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].contains("WARN"), "{lines:?}");
}

/// A STATE_MOD of OpenState with this command and body.
fn state_mod(command: u8, body: &[u8]) -> Vec<u8> {
    let length = 18 + body.len() as u8;
    let mut bytes = vec![Version::V1_3.number(), 4, 0, length, 0, 0, 0, 0x77];
    bytes.extend(0xbeba_beba_u32.to_be_bytes());
    bytes.extend([0, 0, 0, 0, command, 0]);
    bytes.extend(body);
    bytes
}

#[test]
fn the_log_names_the_errors_of_extensions() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(1, &["--listen", "ptcp:16702"]);
    let mut peer = Peer::connect(16702, Version::V1_3);
    // A state of table 0, which has none, and a command that does not exist.
    peer.is_refused(&state_mod(4, &[0, 0, 0, 0, 0, 0, 0, 4, 10, 0, 0, 1]));
    tells(
        &lab,
        &peer,
        &["EXPERIMENTER", "OPENSTATE/DEL_FLOW_STATE (the table has"],
    );
    // A scope of another form than that of the flow with a state.
    let scope = |field: [u8; 4]| [&[0; 11][..], &[1], &field].concat();
    let ipv4_src = scope([0x80, 0, 0x16, 4]);
    peer.is_accepted(&state_mod(0, &[0, 1]));
    peer.is_accepted(&state_mod(1, &ipv4_src));
    peer.is_accepted(&state_mod(2, &ipv4_src));
    let state = [
        &[0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 5][..],
        &[0xff; 4],
        &[0; 16],
        &[10, 0, 0, 1],
    ];
    peer.is_accepted(&state_mod(3, &state.concat()));
    peer.is_accepted(&state_mod(0, &[0, 1]));
    peer.is_refused(&state_mod(1, &scope([0x80, 0, 0x08, 6])));
    let collides = [
        "OPENSTATE/BAD_EXP_LEN",
        "keys of ipv4_src (4 bytes), and states of 1 flows",
        "stateful=0",
    ];
    tells(&lab, &peer, &collides);
    peer.is_refused(&state_mod(200, &[]));
    let unread = ["OPENSTATE/BAD_COMMAND (unknown command", "in command"];
    tells(&lab, &peer, &unread);
}

#[test]
fn a_refused_request_leaves_one_line_in_the_log_in_both_versions() {
    if !have(TOOLS) {
        return;
    }
    let lab = Lab::new(1, &["--listen", "ptcp:16701"]);
    let mut new = Peer::connect(16701, Version::V1_3);
    // The switch cannot do this.
    let flow = "priority=5,actions=meter:9,output:1";
    let flow_mod = parse_flow(flow, FlowModCommand::ADD, &Arc::default()).unwrap();
    let flow_mod = new.bytes(&Message::FlowMod(flow_mod));
    new.is_refused(&flow_mod);
    let unknown = [
        "FLOW_MOD",
        "0x77",
        "METER_MOD_FAILED/UNKNOWN_METER",
        "no such meter",
        "meter:9",
    ];
    tells(&lab, &new, &unknown);
    // The length of the match cannot be read.
    let mut unread = flow_mod.clone();
    unread[51] = 200;
    new.is_refused(&unread);
    let short = [
        "FLOW_MOD",
        "0x77",
        "BAD_MATCH/BAD_LEN",
        "wrong length",
        "at byte 48, in match length",
    ];
    tells(&lab, &new, &short);
    let mut old = Peer::connect(16701, Version::V1_0);
    let port_mod = PortMod {
        port_no: PortNo(9),
        ..PortMod::default()
    };
    let port_mod = old.bytes(&Message::PortMod(port_mod));
    old.is_refused(&port_mod);
    tells(
        &lab,
        &old,
        &["PORT_MOD", "PORT_MOD_FAILED/BAD_PORT", "no such port", "9"],
    );
    let mut unread = port_mod.clone();
    unread.truncate(12);
    unread[3] = 12;
    old.is_refused(&unread);
    tells(
        &lab,
        &old,
        &["PORT_MOD", "BAD_REQUEST/BAD_LEN", "at byte", "in hw_addr"],
    );
    // A peer whose every message is refused does not fill the log.
    (0..300).for_each(|_| old.is_refused(&port_mod));
    let refusals = lab.log().matches("PORT_MOD_FAILED").count();
    assert!(refusals <= 101, "{refusals}");
}

#[test]
fn an_entry_for_a_port_that_does_not_exist_is_noted_once() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(2, &["--fail-mode", "secure"]);
    for text in ["in_port=1,actions=output:9", "in_port=2,actions=output:9"] {
        lab.asks(&["add-flow", text]);
    }
    lab.asks(&[
        "add-group",
        "group_id=1,type=all,bucket=output:9,bucket=output:1",
    ]);
    let log = lab.log();
    let line = log.lines().find(|line| line.contains("port 9")).unwrap();
    for port in [1, 2] {
        let known = format!("{port} ({})", lab.port(port));
        assert!(line.contains(&known), "{line}");
    }
    let noted = log.matches("port 9, which does not exist").count();
    assert_eq!(noted, 1, "{log}");
}

#[test]
fn a_controller_that_closes_quickly_three_times_is_one_warning() {
    const FEATURES_REQUEST: [u8; 8] = [4, 5, 0, 8, 0, 0, 0, 2];
    const FEATURES_REPLY: u8 = 6;
    if !have(&["ip"]) {
        return;
    }
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let controller = format!("tcp:{}", listener.local_addr().unwrap());
    let lab = Lab::new(1, &["--controller", &controller, "--max-backoff", "1"]);
    for closed in 1..=5 {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        stream.write_all(&raw::HELLO).unwrap();
        stream.write_all(&FEATURES_REQUEST).unwrap();
        while raw::message(&mut stream).unwrap()[1] != FEATURES_REPLY {}
        drop(stream);
        until("the switch notices it", || {
            lab.log().matches(": disconnected: ").count() == closed
        });
    }
    let log = lab.log();
    let warnings = log
        .lines()
        .filter(|line| line.contains("closed the connection 3"));
    let warnings: Vec<&str> = warnings.collect();
    let [warning] = warnings[..] else {
        panic!("{log}");
    };
    let last = "times within 5 s, now after a FEATURES_REPLY of 32 bytes";
    for part in ["WARN", &controller, last, "--versions"] {
        assert!(warning.contains(part), "{part:?} in: {warning}");
    }
}
