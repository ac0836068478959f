//! Another process takes the place of a running switch: no frame of a known flow is lost, counters
//! and states go on, and if it cannot start, the switch goes on.
#![allow(clippy::unwrap_used)]

mod uninterrupted;

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::{Duration, Instant};

use bofuss_tests::folder::Folder;
use bofuss_tests::{Lab, PATIENCE, Process, address, have, ok, program, until};

/// The longest time that messages wait for a successor that says nothing.
const LONGEST_HOLD: Duration = Duration::from_secs(10);

/// Of pings every 2 ms through three replacements at most so many are lost: a frame is lost only if
/// it arrives between two sockets.
const MOST_LOST: u64 = 30;

/// A process that takes a switch over, and its log.
struct Successor {
    process: Process,
    log: String,
}

impl Successor {
    /// Starts it with the arguments of the running process, and further ones.
    fn start(running: &Process, folder: &Folder, more: &[&str]) -> Self {
        let line = fs::read(format!("/proc/{}/cmdline", running.0.id())).unwrap();
        let line = String::from_utf8(line).unwrap();
        let words = line.split_terminator('\0').skip(1);
        let words = words.filter(|word| *word != "--replace");
        let log = folder.file(&format!("log-{}", running.0.id()));
        let mut command = Command::new(program("bofuss"));
        command.args(words).arg("--replace").args(more);
        let process = Process::start(
            command
                .stdout(Stdio::null())
                .stderr(fs::File::create(&log).unwrap()),
        );
        Self { process, log }
    }

    fn log(&self) -> String {
        fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Waits until it runs, and has all that its predecessor knew.
    fn runs(&self) {
        until("the successor runs", || {
            let log = self.log();
            log.contains("waiting for controllers") && log.contains("the ports are taken over")
        });
    }
}

/// Replaces the switch of a laboratory, and waits until the new one runs.
fn replace(lab: &mut Lab, folder: &Folder) {
    let successor = Successor::start(&lab.switch, folder, &[]);
    successor.runs();
    let mut old = std::mem::replace(&mut lab.switch, successor.process);
    until("the old one ends", || old.0.try_wait().unwrap().is_some());
    assert_eq!(old.0.wait().unwrap().code(), Some(0), "{}", lab.log());
}

fn ctl(name: &str, command: &str) -> String {
    let mut bofuss = Command::new(program("bofuss"));
    ok(bofuss.args(["ctl", name]).args(command.split(' ')))
}

/// The packets of the entries whose line has this text.
fn packets(lab: &Lab, of: &str) -> Vec<u64> {
    let flows = lab.asks(&["dump-flows"]);
    let lines = flows.lines().filter(|line| line.contains(of));
    let counts = lines.filter_map(|line| line.split_once("n_packets="));
    let numbers = counts.map(|(_, rest)| rest.split(',').next().unwrap().parse().unwrap());
    numbers.collect()
}

/// Starts a row of pings.
fn ping(row: &[String]) -> Child {
    let mut command = Command::new("ping");
    command.args(row).stdout(Stdio::piped()).spawn().unwrap()
}

/// The number that the first of these words is.
fn number<'a>(mut words: impl Iterator<Item = &'a str>) -> u64 {
    words.next().unwrap().trim().parse().unwrap()
}

#[test]
fn a_row_of_pings_passes_while_a_switch_is_replaced_again_and_again() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let folder = Folder::new("replaced");
    let disk = folder.file("disk");
    fs::create_dir(&disk).unwrap();
    let listen = ["--listen", "ptcp:0:127.0.0.1"];
    let more = ["--port", "tap:rpl0", "--state-dir", &disk];
    let mut lab = Lab::new(2, &[&more[..], &listen].concat());
    lab.all_ping();
    let log = lab.log();
    let rest = log.split_once("tools on ptcp:").unwrap().1;
    let tools = SocketAddr::from(([127, 0, 0, 1], number(rest.split(':')) as u16));
    let done = Arc::new(AtomicBool::new(false));
    let is_done = Arc::clone(&done);
    let connects = std::thread::spawn(move || {
        while !is_done.load(Relaxed) {
            TcpStream::connect(tools).expect("the listening socket stays");
            std::thread::sleep(Duration::from_millis(5));
        }
    });
    let entry = "priority=9,icmp,idle_timeout=90";
    lab.asks(&["add-flow", &format!("{entry},in_port=2,actions=output:3")]);
    lab.asks(&["add-group", "group_id=4,type=all,bucket=output:2"]);
    lab.asks(&["add-flow", &format!("{entry},in_port=3,actions=group:4")]);
    let index = || fs::read_to_string("/sys/class/net/rpl0/ifindex").unwrap();
    let first = index();
    let target = address(2).to_string();
    let row = ["-n", "-q", "-c", "2000", "-i", "0.002", &target].map(String::from);
    let pings = lab.host(1, || ping(&row));
    for _ in 0..3 {
        replace(&mut lab, &folder);
    }
    done.store(true, Relaxed);
    connects.join().unwrap();
    let said = pings.wait_with_output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    let received = number(said.split_once(" received").unwrap().0.rsplit(' '));
    assert!(received >= 2000 - MOST_LOST, "{said}\n{}", lab.log());
    let counted = |count: &u64| (received..=2000).contains(count);
    until("all is counted", || {
        let counts = packets(&lab, "idle_timeout=90");
        counts.len() == 2 && counts.iter().all(counted)
    });
    let group = lab.asks(&["dump-group-stats"]);
    let count = number(group.split_once("packet_count=").unwrap().1.split(','));
    assert!(counted(&count), "{group}");
    assert_eq!(index(), first, "the interface stays");
    assert!(ctl(&lab.name, "macs").lines().count() >= 2);
    // The last one saves its state in the folder that it was left.
    assert_eq!(lab.switch.terminate(), Some(0));
    assert!(fs::metadata(folder.file("disk/state")).unwrap().len() > 0);
}

#[test]
fn frames_that_wait_in_a_queue_leave_in_their_order() {
    if !have(&["ip"]) {
        return;
    }
    const BURSTS: u16 = 30;
    const BURST: u16 = 20;
    let folder = Folder::new("queued");
    let mut lab = Lab::new(2, &["--port-rate", "2=2M", "--queue", "2:1:max=2M"]);
    lab.all_ping();
    lab.asks(&["add-flow", "in_port=1,actions=set_queue:1,output:2"]);
    lab.asks(&["add-flow", "in_port=2,actions=output:1"]);
    let to = SocketAddr::from((address(2), 7000));
    let sink = lab.host(2, || UdpSocket::bind(to).unwrap());
    let source = lab.host(1, || UdpSocket::bind((address(1), 0)).unwrap());
    sink.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
    let sender = std::thread::spawn(move || {
        for number in 0..BURSTS * BURST {
            if number % BURST == 0 {
                std::thread::sleep(Duration::from_millis(100));
            }
            let mut payload = [0; 900];
            payload[..2].copy_from_slice(&number.to_be_bytes());
            source.send_to(&payload, to).unwrap();
        }
    });
    let receiver = std::thread::spawn(move || {
        let mut came = Vec::new();
        let mut frame = [0; 1000];
        while came.last() != Some(&(BURSTS * BURST - 1)) {
            sink.recv(&mut frame).unwrap();
            came.push(u16::from_be_bytes([frame[0], frame[1]]));
        }
        came
    });
    replace(&mut lab, &folder);
    replace(&mut lab, &folder);
    sender.join().unwrap();
    let came = receiver.join().unwrap();
    assert!(came.is_sorted(), "{came:?}");
    // A burst that arrives between two sockets is lost.
    let lost = usize::from(BURSTS * BURST) - came.len();
    assert!(lost <= 2 * usize::from(BURST), "{lost}");
}

#[test]
fn states_of_flows_are_those_of_the_last_packet() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let folder = Folder::new("states");
    let mut lab = Lab::new(2, &[]);
    for text in [
        "table_config,table=0,stateful=1",
        "set_lookup_extractor,table=0,fields=eth_src",
        "set_update_extractor,table=0,fields=eth_src",
    ] {
        lab.asks(&["state_mod", text]);
    }
    // Each packet of a host changes its state, from 0 to 9 and again.
    for state in 0..10 {
        let next = (state + 1) % 10;
        let set = format!("set_state(table=0,state={next})");
        let flow = format!("priority=9,icmp,state={state},actions={set},NORMAL");
        lab.asks(&["add-flow", &flow]);
    }
    lab.all_ping();
    let states = |lab: &Lab| {
        let all = lab.asks(&["state_stats"]);
        let words = all.split([' ', ',', '\n']);
        let states = words.filter_map(|word| word.strip_prefix("state="));
        states
            .map(|state| state.parse().unwrap())
            .collect::<Vec<u64>>()
    };
    let target = address(2).to_string();
    let row = ["-n", "-q", "-c", "1001", "-i", "0.002", &target].map(String::from);
    let pings = lab.host(1, || ping(&row));
    replace(&mut lab, &folder);
    let said = pings.wait_with_output().unwrap();
    let said = String::from_utf8(said.stdout).unwrap();
    // Each packet that was counted has changed a state, and no other.
    let counted: u64 = packets(&lab, "state=").iter().sum();
    let states = states(&lab);
    let sum: u64 = states.iter().sum();
    assert!(counted > 1500 && states.len() >= 2, "{counted}, {said}");
    assert_eq!(sum % 10, counted % 10, "{states:?}");
}

#[test]
fn a_switch_goes_on_if_its_successor_cannot_start() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let folder = Folder::new("goes-on");
    let lab = Lab::new(2, &[]);
    lab.all_ping();
    let goes_on = |what: &str| {
        let start = Instant::now();
        lab.asks(&["add-flow", "table=1,actions=drop"]);
        let took = start.elapsed();
        assert!(took < Duration::from_secs(2), "{what}: {took:?}");
        assert!(lab.pings(1, 2), "{what}");
    };
    // One that cannot open a port, and one that is killed while it starts.
    let mut broken = Successor::start(&lab.switch, &folder, &["--port", "nowhere"]);
    until("it ends", || broken.process.0.try_wait().unwrap().is_some());
    assert!(
        broken.log().contains("no interface named 'nowhere'"),
        "{}",
        broken.log()
    );
    until("the switch notices", || {
        lab.log().contains("it goes on, as the process")
    });
    goes_on("a port is missing");
    let asks = |lab: &Lab| lab.log().matches("wants to take it over").count();
    let before = asks(&lab);
    let mut ended = Successor::start(&lab.switch, &folder, &[]);
    until("it has asked", || asks(&lab) > before);
    assert_eq!(ended.process.terminate(), Some(0), "{}", ended.log());
    assert!(!ended.log().contains("taken over"), "{}", ended.log());
    goes_on("it was ended before it began");
    for word in ["--record", "--workers"] {
        let value = if word == "--record" {
            folder.file("record")
        } else {
            "2".into()
        };
        let mut refused = Successor::start(&lab.switch, &folder, &[word, &value]);
        until("it ends", || {
            refused.process.0.try_wait().unwrap().is_some()
        });
        assert!(refused.log().contains("--replace: "), "{}", refused.log());
    }
    // One that asks and says nothing: frames pass, echoes are answered, and changes wait a while.
    let socket = bofuss_channel::run_sockets("ctl", Some(&lab.name))
        .remove(0)
        .path;
    let ask = || {
        let mut peer = UnixStream::connect(&socket).unwrap();
        peer.set_read_timeout(Some(PATIENCE)).unwrap();
        peer.write_all(b"hand-over\n").unwrap();
        let mut first = [0; 3];
        peer.read_exact(&mut first).unwrap();
        (peer, first)
    };
    let (silent, first) = ask();
    assert_eq!(&first, b"ok\n");
    let (mut second, _) = ask();
    let mut why = String::new();
    second.read_to_string(&mut why).unwrap();
    assert!(
        why.contains("another process takes the switch over already"),
        "{why}"
    );
    let start = Instant::now();
    assert!(lab.pings(1, 2));
    lab.asks(&["ping"]);
    assert!(
        start.elapsed() < Duration::from_secs(3),
        "{:?}",
        start.elapsed()
    );
    lab.asks(&["add-flow", "table=1,actions=drop"]);
    assert!(start.elapsed() < LONGEST_HOLD, "{:?}", start.elapsed());
    drop(silent);
    // One that says rubbish, and a hundred that leave at once.
    let (mut liar, _) = ask();
    liar.write_all(b"?").unwrap();
    goes_on("a liar");
    for _ in 0..100 {
        UnixStream::connect(&socket)
            .unwrap()
            .write_all(b"hand-over\n")
            .unwrap();
    }
    goes_on("a hundred that leave");
    // One that reads a large state so slowly that it would take minutes.
    let line = |n: u32| format!("table=2,metadata={n},actions=drop\n");
    let flows: String = (0..10_000).map(line).collect();
    fs::write(folder.file("flows"), flows).unwrap();
    lab.asks(&["add-flows", &folder.file("flows")]);
    let (mut slow, _) = ask();
    let start = Instant::now();
    let reader = std::thread::spawn(move || {
        let mut some = [0; 1000];
        while slow.read(&mut some).is_ok_and(|count| count > 0) {
            std::thread::sleep(Duration::from_millis(100));
        }
    });
    lab.asks(&["add-flow", "table=1,actions=drop"]);
    assert!(start.elapsed() < LONGEST_HOLD, "{:?}", start.elapsed());
    until("it is noticed", || {
        lab.log().matches("it goes on, as the process").count() > 2
    });
    drop(reader);
    assert!(lab.switch.0.id() > 0 && ctl(&lab.name, "ports").lines().count() == 2);
}

#[test]
fn both_switches_of_a_locked_process_are_replaced() {
    if !have(&["ip"]) {
        return;
    }
    let folder = Folder::new("both");
    let id = std::process::id();
    let names = [format!("ra{id}"), format!("rb{id}")];
    let file = folder.file("both.toml");
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let metrics = free.local_addr().unwrap();
    drop(free);
    let [a, b] = &names;
    let text = format!(
        "metrics = \"{metrics}\"\n[[switch]]\nname = \"{a}\"\nport = [\"tap:rpa0\"]\n\
         [[switch]]\nname = \"{b}\"\nport = [\"tap:rpb0\"]\nlisten = [\"ptcp:0\"]\n"
    );
    fs::write(&file, text).unwrap();
    let log = folder.file("first");
    let mut command = Command::new(program("bofuss"));
    command.args(["run", "--lock-down", "--config", &file]);
    let mut first = Process::start(command.stderr(fs::File::create(&log).unwrap()));
    until("it is locked", || {
        fs::read_to_string(&log).unwrap().contains("locked down")
    });
    for name in &names {
        let mut dpctl = Command::new(program("dpctl"));
        ok(dpctl.args([name, "add-flow", "table=3,cookie=0x77,actions=drop"]));
    }
    // None is replaced before all can be.
    let right = fs::read_to_string(&file).unwrap();
    fs::write(&file, right.replace("tap:rpb0", "nowhere")).unwrap();
    let mut broken = Successor::start(&first, &folder, &[]);
    until("it ends", || broken.process.0.try_wait().unwrap().is_some());
    fs::write(&file, right).unwrap();
    assert!(
        broken.log().contains(&format!("switch {b}: port nowhere")),
        "{}",
        broken.log()
    );
    let successor = Successor::start(&first, &folder, &[]);
    until("the old process ends", || {
        first.0.try_wait().unwrap().is_some()
    });
    until("the new one is locked", || {
        successor.log().contains("locked down")
    });
    for name in &names {
        let mut dpctl = Command::new(program("dpctl"));
        let flows = ok(dpctl.args([name, "dump-flows"]));
        assert!(flows.contains("cookie=0x77"), "{flows}");
    }
    let (head, _) = bofuss_tests::get(&metrics.to_string(), "/metrics", "");
    assert!(head.contains("200"), "{head}");
}

#[test]
fn without_a_running_switch_one_starts_as_usual() {
    let folder = Folder::new("alone");
    let name = format!("al{}", std::process::id());
    let log = folder.file("log");
    let mut command = Command::new(program("bofuss"));
    command.args(["run", "--replace", "--name", &name]);
    let mut switch = Process::start(command.stderr(fs::File::create(&log).unwrap()));
    let said = || fs::read_to_string(&log).unwrap();
    until("it runs", || said().contains("waiting for controllers"));
    assert!(said().contains("there is none to replace"), "{}", said());
    assert_eq!(switch.terminate(), Some(0));
}
