//! The same flows and frames in Open vSwitch and here: the same frames leave by the same ports.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use bofuss_embed::{Effect, EmbeddedConfig, EmbeddedSwitch, Time, port};
use bofuss_oflib::message::FlowModCommand;
use bofuss_oflib::text::{parse_bytes, parse_flow};
use bofuss_oflib::{Message, PortNo, Version};
use bofuss_tests::{Process, have, ok, run, until};

/// Flows, with words for the frames that come in.
const CASES: &str = include_str!("../testdata/dpctl/same.ovs");
const PORTS: u32 = 5;
/// Bytes of a capture's head, and of that of each of its frames.
const FILE_HEAD: usize = 24;
const FRAME_HEAD: usize = 16;

/// The frames that left by each port.
type Sent = BTreeMap<u32, Vec<Vec<u8>>>;

/// The port where a frame comes in, and the frame: of UDP from host 1 to port 1 or 2 of host 2, or
/// the answer to that to port 1.
fn arrival(word: &str) -> (u32, String) {
    let (port, macs, ips, ports, checksum) = match word {
        "1" => (1, (2, 1), (1, 2), "03e80001", "6043"),
        "2" => (1, (2, 1), (1, 2), "03e80002", "6042"),
        "back" => (2, (1, 2), (2, 1), "000103e8", "6043"),
        _ => panic!("{word}: no frame is called so"),
    };
    let macs = format!("02000000000{}02000000000{}", macs.0, macs.1);
    let ips = format!("0a00000{}0a00000{}", ips.0, ips.1);
    let head = format!("{macs}08004500003000000000401166bb{ips}{ports}001c{checksum}");
    (port, head + &"5a".repeat(20))
}

/// An Open vSwitch whose ports are files, in a folder of its own.
struct Ovs {
    folder: PathBuf,
    _processes: [Process; 2],
}

impl Ovs {
    fn start() -> Self {
        let folder = std::env::temp_dir().join(format!("bofuss-ovs-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let at = folder.display().to_string();
        let schema = "/usr/share/openvswitch/vswitch.ovsschema";
        ok(Command::new("ovsdb-tool").args(["create", &format!("{at}/conf.db"), schema]));
        let start = |name: &str, words: &[String]| {
            let mut command = Command::new(name);
            let folders = ["OVS_RUNDIR", "OVS_LOGDIR", "OVS_DBDIR"];
            command.args(words).envs(folders.map(|name| (name, &at)));
            Process::start(command.stdout(Stdio::null()).stderr(Stdio::null()))
        };
        let database = [
            format!("{at}/conf.db"),
            format!("--remote=punix:{at}/db.sock"),
            format!("--unixctl={at}/db.ctl"),
        ];
        let database = start("ovsdb-server", &database);
        let vsctl = |words: &str| {
            let mut command = Command::new("ovs-vsctl");
            command.arg(format!("--db=unix:{at}/db.sock"));
            command.arg("--timeout=20").args(words.split(' '));
            run(&mut command).status.success()
        };
        until("the database is up", || vsctl("--no-wait init"));
        let daemon = [
            format!("unix:{at}/db.sock"),
            format!("--unixctl={at}/vs.ctl"),
            "--enable-dummy".into(),
        ];
        let daemon = start("ovs-vswitchd", &daemon);
        assert!(vsctl(
            "add-br br0 -- set bridge br0 datapath_type=dummy fail-mode=secure \
             protocols=OpenFlow13"
        ));
        for port in 1..=PORTS {
            assert!(vsctl(&format!(
                "add-port br0 p{port} -- set interface p{port} type=dummy \
                 ofport_request={port} options:tx_pcap={at}/p{port}.pcap"
            )));
        }
        Self {
            folder,
            _processes: [daemon, database],
        }
    }

    fn ofctl(&self, verb: &str, argument: &[&str]) {
        let address = format!("unix:{}", self.folder.join("br0.mgmt").display());
        let mut command = Command::new("ovs-ofctl");
        command.args(["-O", "OpenFlow13", verb, &address]);
        ok(command.args(argument));
    }

    fn receive(&self, port: u32, frame: &str) {
        // A flow in its cache does not know yet what was learned just now.
        self.appctl(&["revalidator/purge"]);
        self.appctl(&["netdev-dummy/receive", &format!("p{port}"), frame]);
    }

    fn appctl(&self, words: &[&str]) {
        let mut command = Command::new("ovs-appctl");
        command.arg("-t").arg(self.folder.join("vs.ctl"));
        ok(command.args(words));
    }

    /// All that was sent since the start.
    fn sent(&self) -> Sent {
        let mut sent = Sent::new();
        for port in 1..=PORTS {
            let path = self.folder.join(format!("p{port}.pcap"));
            let bytes = std::fs::read(path).unwrap_or_default();
            let mut rest = bytes.get(FILE_HEAD..).unwrap_or_default();
            while let Some((head, after)) = rest.split_at_checked(FRAME_HEAD) {
                let length = u32::from_le_bytes(head[8..12].try_into().unwrap()) as usize;
                let Some((frame, after)) = after.split_at_checked(length) else {
                    break;
                };
                sent.entry(port).or_default().push(frame.into());
                rest = after;
            }
        }
        sent
    }
}

impl Drop for Ovs {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

/// What was sent since then.
fn since(before: &Sent, now: Sent) -> Sent {
    let new = now.into_iter().map(|(port, mut frames)| {
        let known = before.get(&port).map_or(0, Vec::len);
        (port, frames.split_off(known))
    });
    new.filter(|(_, frames)| !frames.is_empty()).collect()
}

/// Adds the flows of a case to a new switch, and sends it the frames.
fn ours(flows: &[&str], arrivals: &[(u32, String)]) -> Sent {
    let now = Time(1);
    let mut switch = EmbeddedSwitch::new(now, EmbeddedConfig::default()).unwrap();
    for number in 1..=PORTS {
        switch
            .add_port(now, port(number), Default::default())
            .unwrap();
    }
    let controller = switch.connect_typed(now, Version::V1_3);
    for flow in flows {
        let flow_mod = parse_flow(flow, FlowModCommand::ADD, switch.catalogue()).unwrap();
        let message = Message::FlowMod(flow_mod);
        assert!(switch.message(now, controller, 7, message).unwrap());
    }
    let mut sent = Sent::new();
    for (port, frame) in arrivals {
        let frame = switch.frame(&parse_bytes(frame).unwrap()).unwrap();
        switch
            .receive(now, PortNo(*port), &mut vec![frame])
            .unwrap();
    }
    for effect in switch.drain() {
        match effect {
            Effect::Transmit { port, frame, .. } => {
                sent.entry(port.0).or_default().push(frame.bytes().into());
            }
            Effect::Message { message, .. } => {
                assert!(
                    !matches!(message, Message::Error(_)),
                    "{flows:?}: {message:?}"
                );
            }
            _ => {}
        }
    }
    sent
}

#[test]
fn actions_of_open_vswitch_send_the_frames_that_it_sends() {
    let tools = [
        "ovs-vswitchd",
        "ovsdb-server",
        "ovsdb-tool",
        "ovs-vsctl",
        "ovs-ofctl",
        "ovs-appctl",
    ];
    if !have(&tools) {
        return;
    }
    let ovs = Ovs::start();
    for case in CASES.split("\n\n") {
        let lines = case.lines().filter(|line| !line.starts_with('#'));
        let (sends, flows): (Vec<_>, Vec<_>) = lines.partition(|line| line.starts_with("send "));
        let sends = sends.iter().flat_map(|line| line.split(' ').skip(1));
        let arrivals: Vec<(u32, String)> = sends.map(arrival).collect();
        // Its cache would learn again what the last case has taught.
        ovs.appctl(&["revalidator/purge"]);
        ovs.ofctl("del-flows", &[]);
        flows.iter().for_each(|flow| ovs.ofctl("add-flow", &[flow]));
        let before = ovs.sent();
        for (port, frame) in &arrivals {
            ovs.receive(*port, frame);
        }
        let here = ours(&flows, &arrivals);
        let deadline = Instant::now() + Duration::from_secs(5);
        while since(&before, ovs.sent()) != here && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(20));
        }
        // What is sent in excess would come now.
        std::thread::sleep(Duration::from_millis(100));
        let there = since(&before, ovs.sent());
        assert!(
            there == here,
            "{case}\nthere {there:02x?}\nhere {here:02x?}"
        );
    }
}
