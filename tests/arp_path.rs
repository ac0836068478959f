//! ARP-Path over real veth: loops, links that fail and fall silent, a firewall, an ordinary bridge.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use bofuss_frame::Pool;
use bofuss_ports::{AfPacket, AfPacketOptions, BATCH_FRAMES, NetNs, PortDriver};
use bofuss_tests::{Lab, Process, address, have, host, ip, ok, port, printed, program, run, until};
use serde_json::Value;

/// Keeps the interfaces of these hosts apart from those of a `Lab`.
const NUMBER: u32 = 70;
/// Tries on a machine that may be busy with something else, which loses frames.
const TRIES: usize = 3;
/// An option of bridge(8): frames to the nearest bridge are forwarded, too, as by a cable.
const LIKE_A_CABLE: &str = "group_fwd_mask 0x4000";

/// Switches that run in one process, with cables between them, and hosts.
struct Ring {
    process: Process,
    file: PathBuf,
    hosts: Vec<NetNs>,
    /// The interfaces of each switch, from port 1 on.
    ports: Vec<Vec<String>>,
    interfaces: Vec<String>,
}

fn name(switch: usize) -> String {
    format!("ring-{}-{switch}", std::process::id())
}

/// Makes an interface send nothing of its own, and brings it up.
fn bring_up(interface: &str) {
    ip(&format!("link set {interface} addrgenmode none"));
    ip(&format!("link set {interface} up"));
}

impl Ring {
    /// Switches with cables between pairs of them, and hosts 1 and so on at `homes`.
    fn start(
        switches: usize,
        cables: &[(usize, usize)],
        homes: &[usize],
        options: &[&str],
    ) -> Self {
        let mut ports = vec![Vec::new(); switches];
        let mut interfaces = Vec::new();
        let mut hosts = Vec::new();
        for (number, home) in (1..).zip(homes) {
            hosts.push(host(NUMBER, number));
            ports[*home].push(port(NUMBER, number));
            interfaces.push(port(NUMBER, number));
        }
        for (number, (first, second)) in cables.iter().enumerate() {
            let ends = [format!("r{number}a"), format!("r{number}b")];
            ip(&format!(
                "link add {} type veth peer name {}",
                ends[0], ends[1]
            ));
            ends.iter().for_each(|end| bring_up(end));
            interfaces.push(ends[0].clone());
            let [one, other] = ends;
            ports[*first].push(one);
            ports[*second].push(other);
        }
        let file = std::env::temp_dir().join(format!("bofuss-ring-{}.toml", std::process::id()));
        let mut text = String::from("fail-mode = 'arp-path'\n");
        text += &format!("extension = {options:?}\n");
        for (number, ports) in ports.iter().enumerate() {
            let (name, dpid) = (name(number), number + 1);
            text += &format!("[[switch]]\nname = '{name}'\ndpid = '{dpid}'\nport = {ports:?}\n");
        }
        std::fs::write(&file, text).unwrap();
        let mut command = Command::new(program("bofuss"));
        command.args(["run", "--config", file.to_str().unwrap()]);
        command.stdout(Stdio::null());
        let this = Self {
            process: Process::start(&mut command),
            file,
            hosts,
            ports,
            interfaces,
        };
        for switch in 0..switches {
            until("the switches hear each other", || {
                let ports = this
                    .try_dpctl(switch, &["arp_path_ports"])
                    .unwrap_or_default();
                let neighbours = ports.lines().filter(|line| line.contains("kind=s"));
                let cables = cables
                    .iter()
                    .filter(|ends| ends.0 == switch || ends.1 == switch);
                neighbours.count() == cables.count()
            });
        }
        this
    }

    fn try_dpctl(&self, switch: usize, words: &[&str]) -> Option<String> {
        let output = run(Command::new(program("dpctl")).arg(name(switch)).args(words));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        output.status.success().then_some(text)
    }

    fn dpctl(&self, switch: usize, words: &[&str]) -> String {
        ok(Command::new(program("dpctl")).arg(name(switch)).args(words))
    }

    fn on_host<T: Send>(&self, number: u8, work: impl FnOnce() -> T + Send) -> T {
        self.hosts[usize::from(number) - 1].run(work).unwrap()
    }

    fn pings(&self, from: u8, to: u8) -> bool {
        let target = address(to).to_string();
        let ping = || run(Command::new("ping").args(["-n", "-c", "1", "-W", "1", &target]));
        self.on_host(from, ping).status.success()
    }

    /// The interface of a switch that leads to a host.
    fn interface_to(&self, switch: usize, number: u8) -> String {
        let entries = self.dpctl(switch, &["arp_path_entries"]);
        let mac = format!("mac=02:00:00:00:00:0{number},port=");
        let line = entries.lines().find(|line| line.contains(&mac));
        let (_, rest) = line.expect("the host is known").split_once(&mac).unwrap();
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        self.ports[switch][digits.parse::<usize>().unwrap() - 1].clone()
    }

    /// Sends `count` numbered datagrams from host 1 to host 2, one each millisecond, and does
    /// `halfway` after half of them. Returns the numbers that arrived.
    fn stream(&self, count: u32, halfway: impl FnOnce()) -> BTreeSet<u32> {
        let receiver = self.on_host(2, || UdpSocket::bind((address(2), 7)).unwrap());
        receiver
            .set_read_timeout(Some(Duration::from_secs(2)))
            .unwrap();
        let sender = self.on_host(1, || UdpSocket::bind((address(1), 0)).unwrap());
        sender.connect((address(2), 7)).unwrap();
        let receiving = std::thread::spawn(move || {
            let mut numbers = BTreeSet::new();
            let mut data = [0; 4];
            while receiver.recv(&mut data).is_ok() {
                assert!(
                    numbers.insert(u32::from_be_bytes(data)),
                    "a number arrives once"
                );
            }
            numbers
        });
        let sending = std::thread::spawn(move || {
            for number in 0..count {
                sender.send(&number.to_be_bytes()).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        std::thread::sleep(Duration::from_millis(u64::from(count) / 2));
        halfway();
        sending.join().unwrap();
        receiving.join().unwrap()
    }

    /// Checks that in one of some tries at most `most` of `count` datagrams are missing, and none
    /// of the last ones, although `fail` makes a link fail halfway. `repair` undoes that between
    /// tries.
    fn survives(&self, count: u32, most: u32, fail: impl Fn(), repair: impl Fn()) {
        for _ in 0..TRIES {
            if misses_few(&self.stream(count, &fail), count, most) {
                return;
            }
            repair();
        }
        panic!("more than {most} of {count} are missing, or some of the last ones");
    }

    /// Takes down the link by which frames go from the first switch to a host.
    fn break_towards(&self, host: u8) {
        ip(&format!("link set {} down", self.interface_to(0, host)));
    }

    /// Brings all links of the first switch up, and waits until the hosts reach each other.
    fn repair(&self) {
        for port in &self.ports[0] {
            ip(&format!("link set {port} up"));
        }
        until("the hosts reach each other still", || self.pings(2, 1));
    }

    /// Returns how many frames the cables carried so far, in the direction of their first ends.
    fn carried(&self) -> u64 {
        let of = |interface: &String| {
            let file = format!("/sys/class/net/{interface}/statistics/rx_packets");
            std::fs::read_to_string(file)
                .unwrap()
                .trim()
                .parse::<u64>()
                .unwrap()
        };
        self.interfaces.iter().map(of).sum()
    }

    /// Checks that the cables carry few frames when nobody sends.
    fn is_quiet(&self) {
        let before = self.carried();
        std::thread::sleep(Duration::from_secs(2));
        let frames = self.carried() - before;
        // Two HELLOs a second on each of them, and what the hosts' kernels send.
        let most = 20 * self.interfaces.len() as u64;
        assert!(frames < most, "{frames} frames in two seconds");
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        let _ = self.process.0.kill();
        let _ = self.process.0.wait();
        let _ = std::fs::remove_file(&self.file);
        for interface in &self.interfaces {
            let _ = run(Command::new("ip").args(["link", "del", interface]));
        }
    }
}

/// Returns true if at most `most` of `count` datagrams are missing, and none of the last ones.
fn misses_few(arrived: &BTreeSet<u32>, count: u32, most: u32) -> bool {
    let missing = count - arrived.len() as u32;
    println!("{missing} of {count} are missing");
    missing <= most && (count - 200..count).all(|number| arrived.contains(&number))
}

#[test]
fn a_ring_of_five_survives_the_loss_of_a_link_in_use() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let cables = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)];
    let key = "arppath.key=000102030405060708090a0b0c0d0e0f";
    let ring = Ring::start(5, &cables, &[0, 2], &[key]);
    until("the hosts reach each other", || ring.pings(1, 2));
    ring.is_quiet();
    ring.survives(4000, 100, || ring.break_towards(2), || ring.repair());
    ring.repair();
    ring.is_quiet();
}

#[test]
fn a_grid_of_nine_has_a_firewall_and_no_storm() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let rows = (0..9).filter(|at| at % 3 < 2).map(|at| (at, at + 1));
    let columns = (0..6).map(|at| (at, at + 3));
    let cables: Vec<(usize, usize)> = rows.chain(columns).collect();
    let ring = Ring::start(9, &cables, &[0, 8], &[]);
    until("the hosts reach each other", || ring.pings(1, 2));
    ring.is_quiet();
    ring.dpctl(0, &["add-flow", "priority=9,tcp,tcp_dst=80,actions=drop"]);
    let connects = |to: u16| {
        let _listener = ring.on_host(2, || TcpListener::bind((address(2), to)).unwrap());
        let to = SocketAddr::from((address(2), to));
        let patience = Duration::from_secs(2);
        ring.on_host(1, || TcpStream::connect_timeout(&to, patience).is_ok())
    };
    assert!(!connects(80), "the rule wins");
    assert!(connects(81), "what no rule takes flows");
    assert!(ring.pings(1, 2));
    ring.survives(4000, 100, || ring.break_towards(2), || ring.repair());
    ring.is_quiet();
}

/// Puts an ordinary bridge into a cable: both ends are ports of the bridge's peers.
fn bridge(name: &str, kind: &str, ports: &[&str]) {
    ip(&format!(
        "link add {name} type bridge stp_state 0 mcast_snooping 0 {kind}"
    ));
    bring_up(name);
    for port in ports {
        ip(&format!("link set {port} master {name}"));
        bring_up(port);
    }
}

/// Three switches: between the first two, the short path leads through a bridge with the ports `b0`
/// and `b1`, and the long one through the third switch.
fn through_a_bridge(kind: &str, options: &[&str]) -> Ring {
    for end in 0..2 {
        ip(&format!("link add x{end} type veth peer name b{end}"));
        bring_up(&format!("x{end}"));
    }
    bridge("middle", kind, &["b0", "b1"]);
    let mut ring = Ring::start(3, &[(0, 2), (2, 1)], &[0, 1], options);
    for end in 0..2 {
        let add = ["ctl", &name(end), "add-port", &format!("x{end}")];
        ok(Command::new(program("bofuss")).args(add));
        ring.ports[end].push(format!("x{end}"));
        ring.interfaces.push(format!("x{end}"));
    }
    ring.interfaces.push("middle".into());
    ring
}

#[test]
fn a_link_that_falls_silent_is_left_within_the_hello_timeout() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let options = ["arppath.hello-ms=200", "arppath.hold-ms=1000"];
    let ring = through_a_bridge(LIKE_A_CABLE, &options);
    until("the neighbours are heard", || {
        ring.dpctl(0, &["arp_path_ports"])
            .matches("kind=switch")
            .count()
            == 2
    });
    let explore = || {
        ring.dpctl(0, &["arp_path_mod", "delete"]);
        ring.dpctl(1, &["arp_path_mod", "delete"]);
        ring.on_host(1, || ip("neigh flush all"));
        ring.pings(1, 2) && ring.interface_to(0, 2) == "x0"
    };
    until("the path is the short one", &explore);
    let fail = || _ = ip("link set b0 nomaster");
    // A second until the neighbour is lost, and the repair.
    ring.survives(6000, 1600, fail, || {
        ip("link set b0 master middle");
        until("the path is the short one again", &explore);
    });
}

#[test]
fn an_ordinary_bridge_between_two_switches_works_and_makes_no_storm() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let ring = through_a_bridge("", &[]);
    until("the bridge is known as one", || {
        ring.dpctl(0, &["arp_path_ports"]).contains("kind=shared")
    });
    until("the hosts reach each other", || ring.pings(1, 2));
    assert!(ring.pings(2, 1));
    ring.is_quiet();
    let fail = || _ = ip("link set b0 down");
    ring.survives(2000, 100, fail, || {
        ip("link set b0 up");
        until("the hosts reach each other again", || ring.pings(1, 2));
    });
    ring.is_quiet();
}

/// A datagram between hosts of these numbers; host 0 asks for the address of the other.
fn frame(from: u16, to: Option<u16>) -> Vec<u8> {
    let mac = |number: u16| [&[2, 0, 0, 1][..], &number.to_be_bytes()].concat();
    let destination = to.map_or(vec![0xff; 6], mac);
    let kind = [0x08, if to.is_some() { 0 } else { 6 }];
    [&destination[..], &mac(from), &kind, &[0; 46]].concat()
}

#[test]
fn a_thousand_hosts_on_a_switch_are_told_apart() {
    if !have(&["ip"]) {
        return;
    }
    // On a busy machine an answer may take long.
    let options = ["arppath.lock-ms=20000"];
    let ring = Ring::start(2, &[(0, 1), (0, 1)], &[0, 1, 1], &options);
    let options = AfPacketOptions {
        take_over: true,
        keep_host_out: false,
        ..AfPacketOptions::default()
    };
    let open = |host| ring.on_host(host, || AfPacket::open("eth0", options).unwrap());
    let (mut first, mut second, mut third) = (open(1), open(2), open(3));
    let pool = Pool::new(8 << 20);
    let send = |from: &mut AfPacket, bytes: &[u8]| {
        from.send(&mut vec![pool.frame(bytes).unwrap()]).unwrap();
    };
    let mut frames = Vec::new();
    // The numbers of the hosts to which datagrams came.
    let mut received = |from: &mut AfPacket| {
        let mut numbers = BTreeSet::new();
        for _ in 0..20 {
            from.recv(&pool, &mut frames, BATCH_FRAMES).unwrap();
            for frame in frames.drain(..) {
                let bytes = frame.bytes();
                if bytes[..4] == [2, 0, 0, 1] {
                    numbers.insert(u16::from_be_bytes([bytes[4], bytes[5]]));
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        numbers
    };
    // Host 1 plays a thousand hosts that ask for an address; host 2 answers each in time. What a
    // port has no room for is sent again.
    let mut missing: BTreeSet<u16> = (1..=1000).collect();
    until("all answers arrive", || {
        let numbers: Vec<u16> = missing.iter().copied().take(50).collect();
        for number in &numbers {
            send(&mut first, &frame(*number, None));
        }
        std::thread::sleep(Duration::from_millis(50));
        for number in &numbers {
            send(&mut second, &frame(2000, Some(*number)));
        }
        for number in received(&mut first) {
            missing.remove(&number);
        }
        assert!(received(&mut third).is_empty(), "nothing is flooded");
        missing.is_empty()
    });
    let entries = ring.dpctl(0, &["arp_path_entries"]);
    assert_eq!(entries.matches("state=learnt").count(), 1001);
}

#[test]
fn paths_of_arp_path_are_shown_forgotten_and_fixed() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(3, &["--fail-mode", "arp-path"]);
    let ctl = |words: &[&str]| {
        let mut bofuss = Command::new(program("bofuss"));
        let output = run(bofuss.args(["ctl", &lab.name]).args(words));
        (output.status.success(), printed(&output))
    };
    let told = |words: &[&str]| {
        let (done, said) = ctl(words);
        assert!(done, "{words:?}: {said}");
        said
    };
    lab.all_ping();
    let list = |words: &[&str]| -> Value {
        let text = told(&[&["paths", "--json"], words].concat());
        serde_json::from_str(&text).unwrap()
    };
    let known = |host: u8| {
        let list = list(&[]);
        let rows = list["paths"].as_array().unwrap().iter();
        let mac = format!("02:00:00:00:00:{host:02x}");
        let mut rows = rows.filter(|row| row["mac"] == *mac && row["vlan"].is_null());
        rows.next().cloned()
    };
    for host in 1..=3u8 {
        let row = known(host).unwrap();
        assert_eq!(row["port_no"], host.to_string(), "{row}");
        assert_eq!(row["state"], "learnt", "{row}");
        assert!(row["left_ms"].as_u64().unwrap() > 0, "{row}");
    }
    let lines = told(&["paths"]);
    assert!(
        lines.contains("mac=02:00:00:00:00:01 port_no=1 state=learnt"),
        "{lines}"
    );
    // Pages have each host once.
    let first = list(&["--most", "1"]);
    let next = first["next"].to_string();
    let rest = list(&["--from", &next]);
    let count = |list: &Value| list["paths"].as_array().unwrap().len();
    assert_eq!(count(&first), 1);
    assert_eq!(count(&rest), count(&list(&[])) - 1);
    assert!(rest["next"].is_null());
    // Host 1 seems to be behind port 3, also after all others were forgotten.
    let third = format!("{}=02:00:00:00:00:01", lab.port(3));
    assert_eq!(told(&["add-path", &third]), "");
    told(&["add-path", "2=02:00:00:00:00:01,7"]);
    told(&["flush-paths"]);
    let list = list(&[]);
    let rows = list["paths"].as_array().unwrap();
    let pinned = |port: &str, vlan: Value| {
        let mut rows = rows.iter().filter(|row| row["state"] == "pinned");
        rows.any(|row| row["port_no"] == port && row["vlan"] == vlan)
    };
    assert!(pinned("3", Value::Null) && pinned("2", 7.into()), "{list}");
    assert!(!lab.pings(1, 2));
    told(&["del-path", "02:00:00:00:00:01"]);
    told(&["del-path", "02:00:00:00:00:01,7"]);
    lab.all_ping();
    assert_eq!(known(1).unwrap()["port_no"], "1");
    for (words, why) in [
        (["add-path", "02:00:00:00:00:01"], "it is PORT=MAC[,VLAN]"),
        (["add-path", "1=02:00"], "'02:00' is no address"),
        (
            ["add-path", "p9=02:00:00:00:00:01"],
            "or the name of a port",
        ),
        (["add-path", "99=02:00:00:00:00:01"], "BAD_REQUEST/BAD_PORT"),
        (
            ["del-path", "02:00:00:00:00:77"],
            "ARP-Path does not know this host",
        ),
        (["paths", "--most"], "--most takes a number"),
    ] {
        let (done, said) = ctl(&words);
        assert!(!done && said.contains(why), "{words:?}: {said}");
    }
}
