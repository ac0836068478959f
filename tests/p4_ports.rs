//! A P4 program at ports: hosts reach each other through it, each frame leaves as the program says,
//! and what it has is listed, read again, and given up as of an OpenFlow switch.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::thread::sleep;
use std::time::Duration;

use bofuss_tests::folder::Folder;
use bofuss_tests::{Lab, Process, get, have, ok, printed, program, run, until};

mod collector;

use collector::{Collector, numbers};

/// Routes to hosts 1 and 2, and what is flooded goes to ports 1 to 3.
const ENTRIES: &str = r#"{"table_entries": [
    {"table": "MyIngress.routes", "match": {"hdr.ipv4.dst": ["10.0.0.1", 32]},
     "action_name": "MyIngress.forward", "action_params": {"port": 1}},
    {"table": "MyIngress.routes", "match": {"hdr.ipv4.dst": ["10.0.0.2", 32]},
     "action_name": "MyIngress.forward", "action_params": {"port": 2}}],
  "multicast_group_entries": [{"multicast_group_id": 1, "replicas": [
    {"egress_port": 1}, {"egress_port": 2}, {"egress_port": 3}]}],
  "clone_session_entries": [{"clone_session_id": 5, "replicas": [{"egress_port": 3}]}]}"#;

/// The compiled program of a case of `testdata/p4`.
fn compiled(name: &str) -> String {
    let root = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../testdata/p4");
    let file = root.join(name).join(name).with_extension("json");
    file.display().to_string()
}

/// A folder with a program and its entries.
struct Files(Folder);

impl Files {
    fn new(name: &str) -> Self {
        let folder = Folder::new(name);
        fs::copy(compiled("ports"), folder.file("program.json")).unwrap();
        fs::write(folder.file("entries.json"), ENTRIES).unwrap();
        Self(folder)
    }

    /// The options that name them.
    fn options(&self) -> [String; 4] {
        let (program, entries) = (self.0.file("program.json"), self.0.file("entries.json"));
        ["--p4".into(), program, "--p4-entries".into(), entries]
    }

    /// A switch with these hosts, and further options.
    fn lab(&self, hosts: u8, more: &[&str]) -> Lab {
        let options = self.options();
        let mut words: Vec<&str> = options.iter().map(String::as_str).collect();
        words.extend(more);
        Lab::new(hosts, &words)
    }
}

/// Sends a command to a switch. Returns whether it succeeded, and what it prints.
fn ctl(name: &str, command: &str) -> (bool, String) {
    let mut bofuss = Command::new(program("bofuss"));
    let output = run(bofuss.args(["ctl", name]).args(command.split(' ')));
    (output.status.success(), printed(&output))
}

/// What a command prints. Panics: if it fails.
fn says(name: &str, command: &str) -> String {
    let (done, said) = ctl(name, command);
    assert!(done, "{command}: {said}");
    said
}

/// Panics: if a replay of this record has other outputs, or not so many runs.
fn is_done_again(record: &str, runs: &str) {
    let output = run(Command::new(program("bofuss")).args(["replay", record]));
    let said = printed(&output);
    assert!(output.status.success() && said.contains(runs), "{said}");
}

#[test]
fn hosts_reach_each_other_through_a_program_and_what_it_counts_is_listed() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let files = Files::new("p4-hosts");
    let record = files.0.file("record");
    let mut lab = files.lab(2, &["--metrics", "0", "--record", &record]);
    lab.all_ping();
    lab.udp(1, 2);
    // Senders leave checksums and cutting to the switch.
    lab.tcp(1, 2, 16);
    let name = &lab.name;
    let entries = says(name, "p4 entries MyIngress.routes");
    let line = "0: hdr.ipv4.dst=0xa000001/32 MyIngress.forward(port=0x1) packets=";
    assert!(entries.contains(line), "{entries}");
    assert!(says(name, "p4 entries MyIngress.routes 1").contains("\n  1: "));
    assert!(says(name, "p4 entries routes 1").contains("\n  1: "));
    assert!(says(name, "p4 counters arrived").contains("MyIngress.arrived (8 cells)\n"));
    assert!(says(name, "p4 registers MyIngress.last").contains("\n  1: 0xa000001\n"));
    assert!(says(name, "p4 registers last").contains("\n  1: 0xa000001\n"));
    assert!(says(name, "p4 counters").contains("MyIngress.arrived (8 cells)\n  1: packets="));
    let tables = says(name, "p4 tables");
    assert!(tables.starts_with("MyIngress.routes entries=2 size=16 lookups="));
    // What is flooded is dropped in egress at the port where it came in; there is no port 3.
    let drops = says(name, "counters");
    assert!(
        drops.contains("drop_egress ") && drops.contains("no_port "),
        "{drops}"
    );
    let seen = files.0.file("seen.pcap");
    assert_eq!(says(name, &format!("capture 2 {seen} icmp")), "");
    lab.all_ping();
    until("it is captured", || frames(&seen).len() >= 4);
    assert!(says(name, "captures").contains("seen.pcap"));
    assert_eq!(says(name, &format!("end-capture {seen}")), "");
    let captures = says(name, "captures");
    assert!(captures.starts_with(&format!("record {record} inputs=")));
    assert!(captures.ends_with(" lost=0\n"), "{captures}");
    let before = says(name, "p4 tables");
    let packet = "020000000002020000000001080045000014000000004000 0000 0a0000010a000002";
    let told = says(name, &format!("p4 trace 1 {packet}"));
    assert!(
        told.contains("hits entry 1: MyIngress.forward(port=0x2)"),
        "{told}"
    );
    assert_eq!(says(name, "p4 tables"), before, "a trace counts nothing");
    // What an operator changes, the record has, too.
    let added = says(name, "p4 table_add routes forward 10.0.0.9/32 => 1");
    assert_eq!(added, "Entry has been added with handle 2\n");
    assert_eq!(says(name, "p4 register_write last 7 9"), "");
    assert!(says(name, "p4 registers MyIngress.last").contains("\n  7: 0x9\n"));
    for (wrong, why) in [
        ("p4", "p4 needs WORDS"),
        ("p4 all", "there is no 'p4 all', but tables, entries"),
        ("p4 entries none", "there is no table none"),
        ("p4 counters routes", "there is no counter routes"),
        ("p4 trace 1 xy", "hexadecimal"),
        ("p4 trace 512 00", "port 512"),
        ("p4 table_add routes", "it needs a table and an action"),
        ("flows", "a switch with a P4 program has no command 'flows'"),
    ] {
        let (done, said) = ctl(name, wrong);
        assert!(!done && said.contains(why), "{wrong}: {said}");
    }
    let log = lab.log();
    let address = log.split("metrics: http://").nth(1).unwrap();
    let (_, page) = get(address.split('/').next().unwrap(), "/metrics", "");
    for family in [
        "table_matches_total{switch=\"",
        "port_receive_packets_total{switch=\"",
        "dropped_packets_total{switch=\"",
        "p4_digests_total{switch=\"",
        "record_inputs_total{switch=\"",
    ] {
        assert!(page.contains(&format!("bofuss_{family}{name}\"")), "{page}");
    }
    assert_eq!(lab.switch.terminate(), Some(0));
    assert!(fs::read_to_string(&record).unwrap().contains(",gso=tcp4:"));
    is_done_again(&record, "1 run, ");
}

#[test]
fn collectors_are_told_all_that_ports_receive() {
    let tools = ["ip", "tshark", "dumpcap", "sfcapd", "nfcapd", "nfdump"];
    if !have(&tools) {
        return;
    }
    let files = Files::new("p4-exports");
    let [mut sampled, mut flows] = ["sfcapd", "nfcapd"].map(Collector::start);
    let sflow = format!("127.0.0.1:{} rate=1 poll=1 sub-agent=7", sampled.port);
    let ipfix = format!("127.0.0.1:{}", flows.port);
    let more = ["--sflow", &sflow, "--ipfix", &ipfix, "--lock-down"];
    let mut lab = files.lab(2, &more);
    lab.all_ping();
    lab.tcp(1, 2, 1);
    // So that the last report of counters has all.
    sleep(Duration::from_secs(2));
    let name = lab.name.clone();
    let ports: serde_json::Value = serde_json::from_str(&says(&name, "ports --json")).unwrap();
    let ports = ports["ports"].as_array().unwrap().iter();
    let packets: u64 = ports.map(|port| port["rx_packets"].as_u64().unwrap()).sum();
    assert!(packets > 700, "a megabyte in segments: {packets}");
    until("all are sent", || {
        says(&name, "exports").contains(&format!(" samples={packets} dropped_samples=0 "))
    });
    assert!(says(&name, "exports --json").contains(r#""trouble":null"#));
    // At the end of the switch, all flows are told.
    assert_eq!(lab.switch.terminate(), Some(0));
    assert_eq!(sampled.end()["Packets"], packets);
    assert_eq!(flows.end()["Packets"], packets);
    let reports = sampled.tshark("sflow_245.ifindex", &["sflow_245.ifinpkt"]);
    let last: u64 = numbers(reports.last().unwrap()).iter().sum();
    assert_eq!(last, packets, "of both ports");
}

/// A datagram of one byte from host 1 to host 2, to this port of UDP, with the checksum of IPv4.
fn datagram(ttl: u8, port: u16, payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1, 8, 0];
    let mut ip = [
        0x45, 0, 0, 29, 0, 0, 0, 0, ttl, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2,
    ];
    let words = ip
        .chunks(2)
        .map(|two| u32::from(two[0]) << 8 | u32::from(two[1]));
    let sum: u32 = words.sum();
    let sum = !((sum & 0xffff) + (sum >> 16)) as u16;
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    frame.extend(ip);
    frame.extend([0, 7]);
    frame.extend(port.to_be_bytes());
    frame.extend([0, 9, 0, 0]);
    frame.extend(payload);
    frame
}

/// A capture file of frames.
fn pcap(frames: &[Vec<u8>]) -> Vec<u8> {
    let mut file = vec![0xd4, 0xc3, 0xb2, 0xa1, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    file.extend([0xff, 0xff, 0, 0, 1, 0, 0, 0]);
    for frame in frames {
        let length = (frame.len() as u32).to_le_bytes();
        file.extend([[0; 4], [0; 4], length, length].concat());
        file.extend(frame);
    }
    file
}

/// The frames of a capture file.
fn frames(file: &str) -> Vec<Vec<u8>> {
    let bytes = fs::read(file).unwrap_or_default();
    let mut rest = bytes.get(24..).unwrap_or_default();
    let mut frames = Vec::new();
    while let Some(head) = rest.get(8..12) {
        let length = u32::from_le_bytes(head.try_into().unwrap()) as usize;
        let Some(frame) = rest.get(16..16 + length) else {
            break;
        };
        frames.push(frame.to_vec());
        rest = &rest[16 + length..];
    }
    frames
}

#[test]
fn each_frame_leaves_at_the_ports_and_as_the_program_says() {
    let files = Files::new("p4-frames");
    let folder = &files.0;
    let broadcast = [[0xff; 6].as_slice(), &[2, 0, 0, 0, 0, 1, 8, 6, 1, 2, 3, 4]].concat();
    let asked: Vec<Vec<u8>> = [9000, 9001, 9002, 9003, 9004, 9005, 9006]
        .iter()
        .map(|port| datagram(64, *port, b"A"))
        .chain([broadcast.clone()])
        .collect();
    fs::write(folder.file("in1"), pcap(&asked)).unwrap();
    fs::write(folder.file("none"), pcap(&[])).unwrap();
    let name = format!("p4f-{}", std::process::id());
    let mut command = Command::new(program("bofuss"));
    command.args(["run", "--name", &name, "--no-pad", "--log", "debug"]);
    command.args(files.options());
    for port in 1..=3 {
        let input = folder.file(if port == 1 { "in1" } else { "none" });
        let output = folder.file(&format!("out{port}.pcap"));
        command.args(["--port", &format!("{port}=pcap:{input},{output}")]);
    }
    command.args(["--capture", &format!("1 {}", folder.file("seen.pcap"))]);
    let log = folder.file("log");
    let mut switch = Process::start(command.stderr(fs::File::create(&log).unwrap()));
    until("all is sent", || {
        let (_, ports) = ctl(&name, "ports");
        ports.contains("1 pcap:")
            && frames(&folder.file("out3.pcap")).len() >= 2
            && frames(&folder.file("seen.pcap")).len() >= asked.len()
    });
    let sent = [1, 2, 3].map(|port| frames(&folder.file(&format!("out{port}.pcap"))));
    let (twice, once) = (datagram(62, 7002, b"A"), datagram(63, 7003, b"A"));
    let routed = |port| datagram(63, port, b"A");
    let expected = vec![
        routed(9000),
        routed(9001),
        twice,
        once,
        routed(9004),
        datagram(63, 9005, b""),
        broadcast.clone(),
    ];
    assert!(sent[0].is_empty());
    assert_eq!(sent[1], expected);
    assert_eq!(sent[2], [datagram(64, 9001, b"A"), broadcast]);
    let captured = frames(&folder.file("seen.pcap"));
    assert!(
        captured.contains(&asked[6]) && captured.len() == asked.len(),
        "{captured:?}"
    );
    let drops = says(&name, "counters");
    assert_eq!(drops, "drop_egress 1\nno_port 1\n");
    let log = fs::read_to_string(log).unwrap();
    assert!(
        log.contains("log_msg: to port 77") && log.contains("digest 0: "),
        "{log}"
    );
    assert_eq!(switch.terminate(), Some(0));
}

#[test]
fn a_new_program_runs_once_it_is_right_and_the_old_one_until_then() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let files = Files::new("p4-reload");
    let record = files.0.file("record");
    let mut lab = files.lab(2, &["--lock-down", "--record", &record]);
    lab.all_ping();
    let entries = files.0.file("entries.json");
    fs::write(&entries, ENTRIES.replace("\"port\": 2", "\"port\": 999")).unwrap();
    let (done, said) = ctl(&lab.name, "reload");
    let place = "/table_entries/1";
    assert!(
        !done && said.contains("--p4-entries") && said.contains(place),
        "{said}"
    );
    assert!(lab.pings(1, 2), "the old entries stay");
    fs::write(files.0.file("program.json"), "{}").unwrap();
    let (done, said) = ctl(&lab.name, "reload");
    assert!(
        !done && said.contains("program.json: /: has no __meta__"),
        "{said}"
    );
    assert!(lab.pings(1, 2), "the old program runs");
    fs::copy(compiled("ports"), files.0.file("program.json")).unwrap();
    fs::write(&entries, ENTRIES.replace("\"port\": 2", "\"port\": 7")).unwrap();
    assert_eq!(says(&lab.name, "reload"), "");
    assert!(!lab.pings(1, 2), "the new entries send it elsewhere");
    fs::write(&entries, ENTRIES).unwrap();
    assert_eq!(says(&lab.name, "reload"), "");
    assert!(lab.pings(1, 2));
    let status = fs::read_to_string(format!("/proc/{}/status", lab.switch.0.id())).unwrap();
    for line in ["CapPrm:\t0000000000000000", "Seccomp:\t2", "NoNewPrivs:\t1"] {
        assert!(status.contains(line), "{line}: {status}");
    }
    assert_eq!(lab.switch.terminate(), Some(0));
    let text = fs::read_to_string(&record).unwrap();
    assert_eq!(text.matches(" program 0 fresh - ").count(), 3);
    is_done_again(&record, "1 run, ");
}

#[test]
fn a_configuration_file_is_followed_as_far_as_a_program_may_change() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let files = Files::new("p4-file");
    let [_, program, _, entries] = files.options();
    let file = files.0.file("switch.toml");
    let write = |more: &str| {
        let text = format!("p4 = '{program}'\np4-entries = '{entries}'\n{more}");
        fs::write(&file, text).unwrap();
    };
    write("");
    let lab = Lab::new(2, &["--config", &file]);
    lab.all_ping();
    let hang_up = || ok(Command::new("kill").args(["-HUP", &lab.switch.0.id().to_string()]));
    write("seed = 7\n");
    hang_up();
    until("it is followed", || {
        lab.log().contains("was read again, and runs")
    });
    for (more, why) in [
        (
            "take-over = true\n",
            "take-over: with --p4 a change needs a restart",
        ),
        (
            "tables = 3\n",
            "line 3: tables: it is for OpenFlow, and with --p4",
        ),
    ] {
        write(more);
        let (done, said) = ctl(&lab.name, "reload");
        assert!(!done && said.contains(why), "{said}");
    }
    fs::write(&file, "").unwrap();
    let (done, said) = ctl(&lab.name, "reload");
    let why = "p4: a change needs a restart: a switch speaks OpenFlow or runs a P4 program";
    assert!(!done && said.contains(why), "{said}");
    assert!(lab.pings(1, 2));
}

#[test]
fn what_does_not_go_with_a_program_is_refused_with_its_place() {
    let files = Files::new("p4-refused");
    let [_, program_file, _, entries] = files.options();
    let missing = files.0.file("missing.json");
    fs::write(
        files.0.file("wrong.json"),
        r#"{"table_entries": [{"table": "x"}]}"#,
    )
    .unwrap();
    let wrong = files.0.file("wrong.json");
    let two = files.0.file("two.toml");
    let switches = format!("[[switch]]\nname = 'a'\np4 = '{program_file}'\n");
    fs::write(&two, format!("{switches}[[switch]]\nname = 'b'\n")).unwrap();
    for (words, why) in [
        (vec!["--p4", &missing], "--p4 "),
        (vec!["--p4", &entries], "entries.json: /: has no __meta__"),
        (
            vec!["--p4", &program_file, "--p4-entries", &wrong],
            "wrong.json: /table_entries/0/table: the program has no such table",
        ),
        (vec!["--p4-entries", &entries], "it needs --p4"),
        (
            vec!["--config", &two],
            "a switch with a P4 program has a process of its own",
        ),
        (
            vec!["--p4", &program_file, "--controller", "tcp:127.0.0.1"],
            "--controller: it is for OpenFlow, and with --p4",
        ),
        (
            vec!["--p4", &program_file, "--capture", "openflow /tmp/x.pcap"],
            "--capture openflow /tmp/x.pcap: with --p4 there are no OpenFlow messages",
        ),
        (vec!["--p4", &program_file, "--workers", "2"], "--workers: "),
        (
            vec!["--p4", &program_file, "--record-frames", "headers"],
            "--record-frames headers: with --p4, a P4 program may read any byte",
        ),
        (
            vec!["--p4", &program_file, "--accelerate", "on"],
            "--accelerate: ",
        ),
        (
            vec!["--p4", &program_file, "--state-dir", "/tmp"],
            "--state-dir: ",
        ),
        (
            vec!["--p4", &program_file, "--port", "511=x"],
            "--port x: with --p4 a port number is 0 to 510",
        ),
    ] {
        let output = run(Command::new(program("bofuss")).arg("run").args(&words));
        let said = printed(&output);
        assert_eq!(output.status.code(), Some(2), "{words:?}: {said}");
        assert!(said.contains(why), "{words:?}: {said}");
    }
}

#[test]
fn a_port_comes_back_and_two_switches_have_two_names() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let files = Files::new("p4-names");
    let record = files.0.file("record");
    let mut lab = files.lab(2, &["--record", &record]);
    let other = Command::new(program("bofuss"))
        .args(["run", "--name", &lab.name])
        .output()
        .unwrap();
    let said = printed(&other);
    assert!(
        said.contains("a switch of this name runs already"),
        "{said}"
    );
    let port = lab.port(2);
    ok(Command::new("ip").args(["link", "del", &port]));
    until("it is gone", || {
        says(&lab.name, "ports").contains(&format!("2 {port} gone"))
    });
    let peer = format!("{port}p");
    ok(Command::new("ip").args(["link", "add", &port, "type", "veth", "peer", "name", &peer]));
    ok(Command::new("ip").args(["link", "set", &peer, "up"]));
    until("it is back", || {
        sleep(Duration::from_millis(50));
        says(&lab.name, "ports").contains(&format!("2 {port} up"))
    });
    ok(Command::new("ip").args(["link", "set", &peer, "down"]));
    let is_down = || says(&lab.name, "ports").contains(&format!("2 {port} down"));
    until("it has no link", is_down);
    // An echo request, or the question for the address of the host that it is for.
    let ping = || run(Command::new("ping").args(["-n", "-c", "1", "-W", "1", "10.0.0.2"]));
    assert!(!lab.host(1, ping).status.success());
    let drops = says(&lab.name, "counters");
    assert!(drops.contains("link_down "), "{drops}");
    let ports = says(&lab.name, "ports");
    let of_port = ports.lines().find(|line| line.starts_with("2 "));
    assert!(!of_port.unwrap().ends_with(" tx_dropped=0"), "{ports}");
    assert_eq!(says(&lab.name, "shutdown"), "");
    assert_eq!(lab.switch.0.wait().unwrap().code(), Some(0));
    let text = fs::read_to_string(&record).unwrap();
    assert!(text.contains(" port-gone 2\n"), "{text}");
    is_done_again(&record, "1 run, ");
}
