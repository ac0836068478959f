//! A controller that builds OpenState's messages by hand drives the switch.
#![allow(clippy::unwrap_used)]

use std::net::UdpSocket;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use bofuss_tests::{Lab, PATIENCE, Process, address, have, ip, ok, python, until};

/// The ports to knock at, in order, and the port that they open.
const KNOCKS: [u16; 3] = [5001, 5002, 5003];
const OPEN: u16 = 22;
/// The time that a datagram that should not arrive may take to do so.
const SILENCE: Duration = Duration::from_millis(300);

fn send(lab: &Lab, from: u8, port: u16) {
    lab.host(from, || {
        let socket = UdpSocket::bind((address(from), 0)).unwrap();
        socket.send_to(b"knock", (address(2), port)).unwrap();
    });
}

/// Returns true if a datagram from a host to the open port of host 2 arrives within a time.
fn passes(lab: &Lab, receiver: &UdpSocket, from: u8, patience: Duration) -> bool {
    receiver.set_read_timeout(Some(patience)).unwrap();
    send(lab, from, OPEN);
    receiver.recv_from(&mut [0; 64]).is_ok()
}

/// Starts a controller whose output goes to a file.
fn controller(output: &Path, arguments: &[&str]) -> Process {
    let stdout = std::fs::File::create(output).unwrap();
    let mut controller = Command::new(python());
    controller.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("controllers"));
    controller.args(arguments);
    Process::start(controller.stdout(stdout).stderr(Stdio::null()))
}

fn knock(dialect: &str, tcp_port: u16) {
    let output =
        std::env::temp_dir().join(format!("bofuss-knock-{}-{dialect}", std::process::id()));
    let arguments = ["port_knocking.py", &tcp_port.to_string(), dialect];
    let _controller = controller(&output, &arguments);
    let lab = Lab::new(3, &["--controller", &format!("tcp:127.0.0.1:{tcp_port}")]);
    let said = || std::fs::read_to_string(&output).unwrap();
    until("the controller is ready", || said().contains("READY"));
    let receiver = lab.host(2, || UdpSocket::bind((address(2), OPEN)).unwrap());
    assert!(!passes(&lab, &receiver, 1, SILENCE), "closed at first");
    KNOCKS.iter().for_each(|port| send(&lab, 1, *port));
    until("the state is told", || {
        said().contains("STATE 0 0a000001 3\n")
    });
    assert!(
        passes(&lab, &receiver, 1, PATIENCE),
        "open after the knocks"
    );
    assert!(passes(&lab, &receiver, 1, PATIENCE), "and it stays so");
    assert!(!passes(&lab, &receiver, 3, SILENCE), "for this host alone");
    send(&lab, 1, 9);
    assert!(
        !passes(&lab, &receiver, 1, SILENCE),
        "a wrong knock closes it"
    );
    let errors: Vec<String> = said()
        .lines()
        .filter(|l| l.contains("ERROR"))
        .map(Into::into)
        .collect();
    assert_eq!(
        errors,
        ["ERROR 65535 2 0xbebabeba"],
        "the one that is meant to be"
    );
    std::fs::remove_file(&output).unwrap();
}

#[test]
fn port_knocking_by_an_os_ken_controller_of_either_dialect() {
    if have(&["ip", "python3"]) {
        knock("beba", 16711);
        knock("openstate", 16712);
    }
}

#[test]
fn a_quota_of_packets_by_an_os_ken_controller_of_open_packet_processor() {
    if !have(&["ip", "python3"]) {
        return;
    }
    let output = std::env::temp_dir().join(format!("bofuss-quota-{}", std::process::id()));
    let tcp_port = 16713;
    let _controller = controller(&output, &["packet_quota.py", &tcp_port.to_string()]);
    let lab = Lab::new(3, &["--controller", &format!("tcp:127.0.0.1:{tcp_port}")]);
    let said = || std::fs::read_to_string(&output).unwrap();
    until("the controller is ready", || said().contains("READY"));
    let receiver = lab.host(2, || UdpSocket::bind((address(2), OPEN)).unwrap());
    for host in [1, 3] {
        for number in 1..=2 {
            let arrived = passes(&lab, &receiver, host, PATIENCE);
            assert!(arrived, "datagram {number} of host {host}");
        }
        assert!(!passes(&lab, &receiver, host, SILENCE), "a third one");
    }
    until("states and variables are told", || {
        let said = said();
        let states = [
            "STATE 0 0a000001 10 2 0 0 0 0 0\n",
            "STATE 0 0a000003 10 2 0 0 0 0 0\n",
        ];
        states.iter().all(|state| said.contains(state)) && said.contains("TABLE 2 0 0 0 0 0 0 0\n")
    });
    let said = said();
    let errors: Vec<&str> = said.lines().filter(|l| l.contains("ERROR")).collect();
    assert_eq!(errors, ["ERROR 65535 14", "ERROR 65535 7"], "as is meant");
    std::fs::remove_file(&output).unwrap();
}

/// The amount that host 1 has sent over TCP, as counted by the switch, by its interface and by the
/// receiver's.
#[derive(Debug)]
struct Transfer {
    /// Packets and their bytes, by the state and a variable of its flow, and by its entry.
    of_flow: [u64; 2],
    of_entry: [u64; 2],
    /// Packets of both hosts: by a variable of the table, and by their states.
    of_table: u64,
    of_states: u64,
    /// Other packets that left for the receiver, and all that it has received.
    others: u64,
    received: u64,
    /// Frames that its interface sent, super-frames as one.
    frames: u64,
    retransmitted: u64,
}

/// The number after `word` in the line that contains all of `words`.
fn number_in(text: &str, words: &[&str], word: &str) -> u64 {
    let is_it = |line: &&str| words.iter().all(|word| line.contains(word));
    let line = text.lines().find(is_it);
    let after = line.and_then(|line| line.split_once(word));
    let (_, rest) = after.unwrap_or_else(|| panic!("no {word} of {words:?} in {text}"));
    let digits = rest
        .trim_start()
        .split(|c: char| !c.is_ascii_digit())
        .next();
    digits.unwrap().parse().unwrap()
}

/// Packets that a host's interface has counted.
fn interface_count(lab: &Lab, host: u8, direction: &str) -> u64 {
    let text = lab.host(host, || ip("-s -j link show dev eth0"));
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    json[0]["stats64"][direction]["packets"].as_u64().unwrap()
}

/// A switch in which each packet of TCP increments its sender's state, and adds its length to a
/// variable of that sender, and one to a variable of the table.
fn counting() -> Lab {
    let lab = Lab::new(2, &[]);
    for text in [
        "table_config,table=0,stateful=1",
        "set_lookup_extractor,table=0,fields=ipv4_src",
        "set_update_extractor,table=0,fields=ipv4_src",
        "set_header_extractor,table=0,id=0,fields=pkt_len",
    ] {
        lab.asks(&["state_mod", text]);
    }
    let counts = "inc_state(table=0),set_data_var(output=fd0,function=sum,operands=fd0+hf0),\
         set_data_var(output=gd0,function=sum,operands=gd0+1)";
    lab.asks(&["del-flows"]);
    for (from, to) in [(1, 2), (2, 1)] {
        for (packets, actions) in [("arp", ""), ("tcp", counts)] {
            let flow = format!("{packets},in_port={from},actions={actions},output:{to}");
            lab.asks(&["add-flow", &flow.replace("=,", "=")]);
        }
    }
    lab
}

/// Sends megabytes of TCP from host 1 to host 2, which segments them itself or leaves that to the
/// switch.
fn transfer(megabytes: usize, segments_itself: bool) -> Transfer {
    let lab = counting();
    if segments_itself {
        let off = ["-K", "eth0", "tso", "off", "gso", "off"];
        lab.host(1, || ok(Command::new("ethtool").args(off)));
    }
    let [frames, received] =
        [(1, "tx"), (2, "rx")].map(|(host, to)| interface_count(&lab, host, to));
    lab.tcp(1, 2, megabytes);
    let mut tables = String::new();
    until("the connection is closed", || {
        std::thread::sleep(SILENCE);
        let before = std::mem::replace(&mut tables, lab.asks(&["state_tables"]));
        before == tables
    });
    let entries = lab.asks(&["dump-flows"]);
    let entry = |words: &[&str], number| number_in(&entries, words, number);
    let retransmitted = ["-saz", "TcpRetransSegs"];
    let retransmitted = lab.host(1, || ok(Command::new("nstat").args(retransmitted)));
    let state = |host| {
        let key = format!("key=(ipv4_src=10.0.0.{host})");
        number_in(&tables, &["set_flow_state", &key], "state=")
    };
    let variable = ["set_flow_variable,table=0,id=0,key=0a000001"];
    Transfer {
        of_flow: [state(1), number_in(&tables, &variable, "value=")],
        of_entry: ["n_packets=", "n_bytes="].map(|word| entry(&["tcp,in_port=1"], word)),
        of_table: number_in(&tables, &["set_global_variable,table=0,id=0"], "value="),
        of_states: state(1) + state(2),
        others: entry(&["arp,in_port=1"], "n_packets="),
        received: interface_count(&lab, 2, "rx") - received,
        frames: interface_count(&lab, 1, "tx") - frames,
        retransmitted: number_in(&retransmitted, &["TcpRetransSegs"], "TcpRetransSegs"),
    }
}

#[test]
fn a_super_frame_of_tcp_acts_once_for_each_segment() {
    if !have(&["ip", "ethtool", "nstat"]) {
        return;
    }
    const MEGABYTES: usize = 8;
    /// Bytes of the headers with TCP's timestamps, and the additional ones of the SYN.
    const HEADERS: u64 = 14 + 20 + 32;
    const SYN_MORE: u64 = 8;
    for segments_itself in [false, true] {
        let seen = transfer(MEGABYTES, segments_itself);
        let [packets, bytes] = seen.of_flow;
        assert_eq!(seen.of_flow, seen.of_entry, "{seen:?}");
        assert_eq!(seen.of_table, seen.of_states, "{seen:?}");
        assert_eq!(seen.received, packets + seen.others, "{seen:?}");
        let payload = bytes - HEADERS * packets - SYN_MORE;
        let sent = (MEGABYTES << 20) as u64;
        assert!(payload == sent || seen.retransmitted > 0, "{seen:?}");
        assert!((sent..2 * sent).contains(&payload), "{seen:?}");
        if segments_itself {
            assert!(seen.frames >= packets, "{seen:?}");
        } else {
            assert!(seen.frames < packets / 2, "it sends super-frames: {seen:?}");
        }
    }
}
