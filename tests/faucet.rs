//! c65faucet and gauge drive one switch, and two in a line.
#![allow(clippy::unwrap_used)]

use std::net::UdpSocket;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use bofuss_tests::{Capture, Lab, Process, address, have, ip, python, until};

const TOOLS: &[&str] = &["ip", "ping", "dumpcap", "tshark", "python3"];
/// Datagrams that are sent at once through a meter of 100 packets a second.
const BURST: usize = 1000;

/// A folder with a configuration, gone when dropped.
struct Config(PathBuf);

impl Config {
    fn new(name: &str, faucet: &str) -> Self {
        let name = format!("bofuss-{name}-{}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("faucet.yaml"), faucet).unwrap();
        Self(dir)
    }

    /// Starts `faucet` or `gauge`, listening for switches.
    fn start(&self, program: &str, port: u16) -> Process {
        let prefix = program.to_uppercase();
        let file = |what: &str| self.0.join(format!("{program}.{what}"));
        let mut command = Command::new(python().with_file_name(program));
        command.args(["--ryu-ofp-tcp-listen-port", &port.to_string()]);
        command
            .env(format!("{prefix}_CONFIG"), file("yaml"))
            .env(format!("{prefix}_LOG"), file("log"))
            .env(format!("{prefix}_EXCEPTION_LOG"), file("exceptions"))
            .env("FAUCET_PROMETHEUS_PORT", "19302")
            .current_dir(&self.0);
        Process::start(command.stdout(Stdio::null()).stderr(Stdio::null()))
    }

    fn read(&self, file: &str) -> String {
        std::fs::read_to_string(self.0.join(file)).unwrap_or_default()
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        if std::thread::panicking() {
            for log in [
                "faucet.log",
                "gauge.log",
                "faucet.exceptions",
                "gauge.exceptions",
            ] {
                println!("{log}: {}", self.read(log));
            }
        }
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn understood(lab: &Lab) {
    let log = lab.log();
    assert!(
        !log.contains("BAD_"),
        "faucet and the switch understand each other: {log}"
    );
}

#[test]
fn c65faucet_joins_hosts_of_one_vlan_and_parts_those_of_two() {
    if !have(TOOLS) {
        return;
    }
    let config = "vlans:\n  office:\n    vid: 100\n  guest:\n    vid: 200\n\
        dps:\n  sw1:\n    dp_id: 0x1\n    hardware: \"Generic\"\n    interfaces:\n\
        \x20     1:\n        native_vlan: office\n      2:\n        native_vlan: office\n\
        \x20     3:\n        native_vlan: guest\n";
    let config = Config::new("faucet", config);
    let capture = Capture::start(16654);
    let faucet = config.start("faucet", 16654);
    let lab = Lab::new(3, &["--dpid", "0x1", "--controller", "tcp:127.0.0.1:16654"]);
    until("h1 reaches h2", || lab.pings(1, 2));
    lab.tcp(1, 2, 64);
    lab.udp(2, 1);
    assert!(!lab.pings(1, 3), "another VLAN is out of reach");
    understood(&lab);
    drop((lab, faucet));
    capture.is_well_formed(16654);
}

/// One trunk and two hosts a switch; an access list with a meter at the hosts in `office`.
const LINE: &str = r"
vlans:
  office: {vid: 100}
  guest: {vid: 200}
meters:
  slow:
    meter_id: 1
    entry: {flags: PKTPS, bands: [{type: DROP, rate: 100}]}
acls:
  limited:
    - rule: {dl_type: 0x800, ip_proto: 17, udp_dst: 9, actions: {allow: 0}}
    - rule: {dl_type: 0x800, ip_proto: 17, actions: {meter: slow, allow: 1}}
    - rule: {actions: {allow: 1}}
dps:
  sw1:
    dp_id: 1
    hardware: Generic
    interfaces: &interfaces
      1: {tagged_vlans: [office, guest]}
      2: {native_vlan: office, acl_in: limited}
      3: {native_vlan: guest}
  sw2:
    dp_id: 2
    hardware: Generic
    interfaces: *interfaces
";

const GAUGE: &str = r"
faucet_configs: [DIR/faucet.yaml]
watchers:
  ports: {type: port_stats, all_dps: true, interval: 1, db: ports}
  state: {type: port_state, all_dps: true, db: ports}
  meters: {type: meter_stats, all_dps: true, interval: 1, db: meters}
  flows: {type: flow_table, all_dps: true, interval: 1, db: flows}
dbs:
  ports: {type: text, file: DIR/ports.txt}
  meters: {type: text, file: DIR/meters.txt}
  flows: {type: text, path: DIR}
";

/// Returns how many of a burst of datagrams from host 1 reach host 3 at this UDP port.
fn burst(labs: &[Lab; 2], port: u16) -> usize {
    let receiver = labs[1].host(3, || UdpSocket::bind((address(3), port)).unwrap());
    receiver
        .set_read_timeout(Some(Duration::from_millis(500)))
        .unwrap();
    labs[0].host(1, || {
        let sender = UdpSocket::bind((address(1), 0)).unwrap();
        for _ in 0..BURST {
            let _ = sender.send_to(b"datagram", (address(3), port));
        }
    });
    let mut data = [0; 64];
    std::iter::repeat_with(|| receiver.recv(&mut data))
        .take_while(Result::is_ok)
        .count()
}

#[test]
fn c65faucet_and_gauge_drive_two_switches_in_a_line() {
    if !have(TOOLS) {
        return;
    }
    let config = Config::new("line", LINE);
    let gauge = GAUGE.replace("DIR", &config.0.display().to_string());
    std::fs::write(config.0.join("gauge.yaml"), gauge).unwrap();
    let captures = [16656, 16657].map(Capture::start);
    let controllers = [config.start("faucet", 16656), config.start("gauge", 16657)];
    ip("link add trunk1 type veth peer name trunk2");
    for end in ["trunk1", "trunk2"] {
        ip(&format!("link set {end} up"));
    }
    let lab = |number: u8| {
        let (dpid, trunk) = (number.to_string(), format!("trunk{number}"));
        let arguments = [
            "--dpid",
            &dpid,
            "--port",
            &trunk,
            "--controller",
            "tcp:127.0.0.1:16656",
            "--controller",
            "tcp:127.0.0.1:16657",
        ];
        Lab::with_hosts(2 * number - 1..=2 * number, &arguments)
    };
    let labs = [lab(1), lab(2)];
    until("the office is joined", || labs[0].pings(1, 3));
    until("so are the guests", || labs[1].pings(4, 2));
    assert!(
        !labs[0].pings(1, 4) && !labs[0].pings(1, 2),
        "VLANs stay apart"
    );
    assert_eq!(burst(&labs, 9), 0, "the access list drops UDP port 9");
    let passed = burst(&labs, 7);
    assert!(
        (1..BURST / 2).contains(&passed),
        "the meter lets {passed} of {BURST} pass"
    );
    let told = |file: &str, what: &str| {
        until(&format!("gauge tells {what}"), || {
            config.read(file).contains(what)
        });
    };
    told("ports.txt", "sw1-2-packets-in");
    told("ports.txt", "sw2");
    told("meters.txt", "sw1");
    let tables = || {
        let files = std::fs::read_dir(&config.0).unwrap();
        let names = files.map(|f| f.unwrap().file_name().into_string().unwrap());
        names.filter(|name| name.contains("flowtable")).count()
    };
    until("gauge wrote the flow tables", || tables() > 0);
    labs.iter().for_each(understood);
    drop((labs, controllers));
    ip("link del trunk1");
    for (capture, port) in captures.into_iter().zip([16656, 16657]) {
        capture.is_well_formed(port);
    }
}
