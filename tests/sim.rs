//! `bofuss sim`: the guide's scenario, what a run writes, errors, and a real controller over TCP.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bofuss_oflib::field::IN_PORT;
use bofuss_oflib::message::{FlowMod, FlowModCommand, Hello, PacketOut};
use bofuss_oflib::text::parse_flow;
use bofuss_oflib::types::BufferId;
use bofuss_oflib::{Action, Catalogue, Codec, Message, PortNo, Version};
use bofuss_tests::program;

const GUIDE: &str = include_str!("../docs/guide/simulate.md");
const SCENARIO: &str = include_str!("../testdata/sim/failing_link.toml");

/// A folder that is removed with the test.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("bofuss-sim-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str, text: &str) -> PathBuf {
        let path = self.0.join(name);
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn sim(file: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(program("bofuss"));
    command.arg("sim").arg(file).args(options).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

#[test]
fn the_guide_shows_a_scenario_that_runs_and_what_it_prints() {
    let folder = Folder::new("guide");
    let file = folder.file("line.toml", SCENARIO);
    assert!(
        GUIDE.contains(SCENARIO.trim_end()),
        "the guide has another scenario"
    );
    let ran = sim(&file, &[]);
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    assert!(
        GUIDE.contains(&text(&ran.stdout)),
        "the guide shows otherwise: {}",
        text(&ran.stdout)
    );
}

#[test]
fn a_run_writes_captures_events_and_a_picture_and_explains_a_frame() {
    let folder = Folder::new("files");
    let file = folder.file("line.toml", SCENARIO);
    let path = |name: &str| folder.0.join(name).display().to_string();
    let (events, picture, captures) = (path("events"), path("picture.svg"), path("captures"));
    let all = [
        "--events",
        &events,
        "--timeline",
        &picture,
        "--pcap",
        &captures,
    ];
    let ran = sim(&file, &[&all[..], &["--explain", "s1-s2@2"]].concat());
    assert!(ran.status.success(), "{}", text(&ran.stderr));
    let explained = text(&ran.stdout);
    assert!(
        explained.contains("icmp") && explained.contains("table 0"),
        "{explained}"
    );
    let log = fs::read_to_string(&events).unwrap();
    let number: serde_json::Value = serde_json::from_str(log.lines().last().unwrap()).unwrap();
    assert_eq!(number["n"], log.lines().count());
    assert!(fs::read_to_string(&picture).unwrap().ends_with("</svg>\n"));
    let capture = fs::read(folder.0.join("captures/s1-s2.pcapng")).unwrap();
    assert_eq!(capture[..4], [0x0a, 0x0d, 0x0d, 0x0a]);
    let first = fs::read(&events).unwrap();
    assert!(sim(&file, &all).status.success());
    assert_eq!(
        first,
        fs::read(&events).unwrap(),
        "another run has another log"
    );
    assert_eq!(
        capture,
        fs::read(folder.0.join("captures/s1-s2.pcapng")).unwrap()
    );
}

#[test]
fn ctrl_c_ends_a_storm_that_was_warned_of_with_the_report_so_far() {
    let folder = Folder::new("storm");
    let ring = "end = 10.0\nmax_events = 1000000000\n\
        topology = { shape = \"ring\", switches = 3, hosts = 1 }\n\
        controller = [{ name = \"c0\", kind = \"learning\" }]\n\
        traffic = [{ kind = \"ping\", from = \"h1\", to = \"h2\" }]\n";
    let file = folder.file("ring.toml", ring);
    let mut command = Command::new(program("bofuss"));
    command.arg("sim").arg(file);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let running = command.spawn().unwrap();
    std::thread::sleep(Duration::from_secs(2));
    let pid = running.id().to_string();
    let sent = Command::new("kill").args(["-INT", &pid]).status().unwrap();
    assert!(sent.success());
    let ran = running.wait_with_output().unwrap();
    assert_eq!(ran.status.code(), Some(1));
    let said = text(&ran.stderr);
    assert!(said.contains("closes a loop"), "{said}");
    assert!(said.ends_with("the run was ended\n"), "{said}");
    let report = text(&ran.stdout);
    assert!(report.contains(" events\ntraffic 1: "), "{report}");
}

#[test]
fn an_assertion_that_fails_and_a_wrong_file_are_reported_with_their_line() {
    let folder = Folder::new("wrong");
    let file = folder.file("fails.toml", &SCENARIO.replace("is = 7", "is = 8"));
    let ran = sim(&file, &[]);
    assert_eq!(ran.status.code(), Some(1));
    let said = text(&ran.stderr);
    assert!(
        said.contains("traffic.1.received is 7, and should be 8"),
        "{said}"
    );
    let file = folder.file(
        "wrong.toml",
        "end = 1\n[topology]\nshape = \"ring\"\nswitches = 1\nhosts = 0\n",
    );
    let said = text(&sim(&file, &[]).stderr);
    assert!(
        said.contains("line 2: topology: a ring has at least 3 switches"),
        "{said}"
    );
    // One assertion fails for several hosts.
    let all = SCENARIO.replace(
        "traffic.1.received\"\nis = 7",
        "hosts.*.frames\"\nis = 1000",
    );
    let said = text(&sim(&folder.file("all.toml", &all), &[]).stderr);
    assert!(said.contains(": 1 of 2 assertions do not hold"), "{said}");
    let refused = SCENARIO.replace(
        "kind = \"learning\"",
        "kind = \"rules\"\nflows = [\"table=200,actions=drop\"]",
    );
    let said = text(&sim(&folder.file("refused.toml", &refused), &[]).stderr);
    let wanted = "switch s2 refuses message 1 of c0: FLOW_MOD_FAILED/BAD_TABLE_ID";
    assert!(said.contains(wanted), "{said}");
    let said = text(&sim(&folder.0.join("none"), &[]).stderr);
    assert!(said.contains("none: No such file"), "{said}");
    let file = folder.file("line.toml", SCENARIO);
    let mut piped = Command::new(program("bofuss"));
    piped
        .args(["sim", "-"])
        .stdin(std::fs::File::open(&file).unwrap());
    let ran = piped.output().unwrap();
    assert!(text(&ran.stdout).contains("received 7"), "{ran:?}");
    let said = text(&sim(&file, &["--explain", "s1-s2@99"]).stderr);
    assert!(said.contains("no such frame arrived"), "{said}");
}

/// A controller that floods: the table-miss entry of each switch asks it, and it answers each
/// packet-in with a packet-out.
fn hub(listener: &TcpListener) {
    for stream in listener.incoming() {
        let stream = stream.unwrap();
        std::thread::spawn(move || serve(stream));
    }
}

fn serve(mut stream: TcpStream) {
    let codec = Codec::new(Version::V1_3, Arc::new(Catalogue::default()));
    let miss = "priority=0,actions=CONTROLLER:65535";
    let miss: FlowMod = parse_flow(miss, FlowModCommand::ADD, &codec.catalogue).unwrap();
    let mut out = Vec::new();
    codec
        .encode(1, &Message::Hello(Hello::default()), &mut out)
        .unwrap();
    codec.encode(2, &Message::FlowMod(miss), &mut out).unwrap();
    let mut header = [0; 8];
    while stream.write_all(&out).is_ok() && stream.read_exact(&mut header).is_ok() {
        let length = usize::from(u16::from_be_bytes([header[2], header[3]]));
        let mut message = header.to_vec();
        message.resize(length, 0);
        stream.read_exact(&mut message[8..]).unwrap();
        out.clear();
        if message[1] == 0 {
            continue;
        }
        let (xid, message) = codec.decode(&message).unwrap();
        match message {
            Message::EchoRequest(echo) => {
                codec
                    .encode(xid, &Message::EchoReply(echo), &mut out)
                    .unwrap();
            }
            Message::PacketIn(packet) => {
                let in_port = packet.fields.get(IN_PORT).unwrap().number();
                let flood = PacketOut {
                    buffer_id: BufferId::NO_BUFFER,
                    in_port: PortNo(in_port as u32),
                    actions: vec![Action::output(PortNo::FLOOD)],
                    data: packet.data,
                    ..PacketOut::default()
                };
                let flood = Message::PacketOut(flood);
                codec.encode(xid, &flood, &mut out).unwrap();
            }
            _ => {}
        }
    }
}

#[test]
fn a_controller_over_tcp_stops_the_clock_until_it_has_answered() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || hub(&listener));
    let folder = Folder::new("tcp");
    let real = format!("kind = \"tcp\"\naddress = \"{address}\"");
    let file = folder.file("tcp.toml", &SCENARIO.replace("kind = \"learning\"", &real));
    let events = folder.0.join("events").display().to_string();
    let mut logs = Vec::new();
    for _ in 0..2 {
        let ran = sim(&file, &["--events", &events]);
        assert!(ran.status.success(), "{}", text(&ran.stderr));
        assert_eq!(text(&ran.stderr), "");
        logs.push(fs::read_to_string(&events).unwrap());
    }
    assert!(logs[0].contains("to_controller"), "{}", logs[0]);
    assert_eq!(logs[0], logs[1], "runs differ");
    let nobody = SCENARIO.replace(
        "kind = \"learning\"",
        "kind = \"tcp\"\naddress = \"127.0.0.1:1\"",
    );
    let ran = sim(&folder.file("nobody.toml", &nobody), &[]);
    assert!(text(&ran.stderr).contains("controller 127.0.0.1:1: Connection refused"));
}

/// Pings sent and answered in a run with a controller that sends its HELLO after half a second.
fn pings_with_a_slow_controller(name: &str, arguments: &[&str]) -> (u64, u64) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            std::thread::sleep(Duration::from_millis(500));
            serve(stream.unwrap());
        }
    });
    let scenario = format!(
        "end = 3
        known_addresses = true
        [topology]
        shape = 'line'
        switches = 1
        hosts = 2
        [[controller]]
        name = 'slow'
        kind = 'tcp'
        address = '{address}'
        [[traffic]]
        kind = 'ping'
        from = 'h1'
        to = 'h2'
        start = 0.1
        interval = 0.1
        count = 25"
    );
    let folder = Folder::new(name);
    let file = folder.file("slow.toml", &scenario);
    let ran = sim(&file, &[arguments, &["--json"]].concat());
    assert_eq!(text(&ran.stderr), "", "no message is late");
    let statistics: serde_json::Value = serde_json::from_slice(&ran.stdout).unwrap();
    let pings = &statistics["traffic"][0];
    (
        pings["sent"].as_u64().unwrap(),
        pings["received"].as_u64().unwrap(),
    )
}

#[test]
fn with_the_walls_clock_time_goes_on_while_a_controller_is_slow() {
    assert_eq!(pings_with_a_slow_controller("lock-step", &[]), (25, 25));
    let started = Instant::now();
    let (sent, answered) = pings_with_a_slow_controller("wall", &["--wall-clock"]);
    assert!(started.elapsed() >= Duration::from_secs(3));
    assert_eq!(sent, 25);
    assert!((1..25).contains(&answered), "{answered}");
}
