//! Ports of a running switch: links that change, configuration bits, rates and queues from a file.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use bofuss_tests::raw::{HELLO, connect, message};
use bofuss_tests::{Lab, Process, have, ip, ok, printed, program, run, until};

/// The time within which controllers hear that a link has changed.
const PROMPT: Duration = Duration::from_millis(100);

/// A controller that prints what it receives.
struct Monitor {
    _process: Process,
    lines: BufReader<ChildStdout>,
}

impl Monitor {
    fn of(lab: &Lab) -> Self {
        // Tools that ended have been logged, too.
        let connections = || lab.log().matches(": connected").count();
        let before = connections();
        let mut command = Command::new(program("dpctl"));
        command
            .args(["--json", &lab.name, "monitor"])
            .stdout(Stdio::piped());
        let mut process = Process::start(&mut command);
        let lines = BufReader::new(process.0.stdout.take().unwrap());
        // Once the switch has logged that it is connected, it hears everything.
        until("the monitor is connected", || connections() > before);
        Self {
            _process: process,
            lines,
        }
    }

    /// Reads until one line contains all of `parts`. Returns that line.
    fn hears(&mut self, parts: &[&str]) -> String {
        let mut line = String::new();
        while !parts.iter().all(|part| line.contains(part)) {
            line.clear();
            assert!(self.lines.read_line(&mut line).unwrap() > 0, "{parts:?}");
        }
        line
    }
}

/// Sets configuration bits of a port by ovs-ofctl.
fn mod_port(lab: &Lab, port: &str, action: &str) {
    let (said, fine) = lab.ofctl("mod-port", &[port, action]);
    assert!(fine, "{said}");
}

#[test]
fn links_are_reported_as_soon_as_they_change() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(2, &[]);
    let mut monitor = Monitor::of(&lab);
    let mut times = Vec::new();
    for _ in 0..5 {
        for (command, state) in [
            ("link set eth0 down", "LINK_DOWN"),
            ("link set eth0 up", "LIVE"),
        ] {
            // This includes the time that `ip` takes.
            let start = Instant::now();
            lab.host(2, || ip(command));
            monitor.hears(&["MODIFY", &lab.port(2), state]);
            times.push(start.elapsed());
        }
    }
    // A busy machine delays some.
    times.sort_unstable();
    assert!(times[times.len() / 2] < PROMPT, "{times:?}");
    ip(&format!("link del {}", lab.port(2)));
    monitor.hears(&["DELETE", &lab.port(2)]);
}

#[test]
fn configuration_bits_are_honoured() {
    if !have(&["ip", "ovs-ofctl"]) {
        return;
    }
    let lab = Lab::new(2, &[]);
    lab.all_ping();
    let link = || ip(&format!("link show {}", lab.port(2)));
    assert!(link().contains("state UP"));
    mod_port(&lab, "2", "down");
    until("the link is down", || link().contains("state DOWN"));
    let peer_sees = || lab.host(2, || ip("link show eth0"));
    until("the other end sees it", || {
        peer_sees().contains("NO-CARRIER")
    });
    let shown = printed(&lab.dpctl(&["dump-ports-desc"]));
    assert!(
        shown.contains("PORT_DOWN") && shown.contains("LINK_DOWN"),
        "{shown}"
    );
    mod_port(&lab, "2", "up");
    until("the link is up", || link().contains("state UP"));
    lab.all_ping();
    for (off, on) in [("no-receive", "receive"), ("no-forward", "forward")] {
        mod_port(&lab, "2", off);
        assert!(!lab.pings(1, 2), "{off}");
        mod_port(&lab, "2", on);
        lab.all_ping();
    }
    // The bit concerns packets that only the table-miss entry matches.
    lab.dpctl(&["del-flows"]);
    lab.dpctl(&["add-flow", "priority=0,actions=CONTROLLER:64"]);
    let mut monitor = Monitor::of(&lab);
    mod_port(&lab, "1", "no-packet-in");
    lab.pings(1, 2);
    lab.pings(2, 1);
    let first = monitor.hears(&[r#""type":"PACKET_IN""#]);
    assert!(first.contains(r#""in_port":"2""#), "{first}");
}

#[test]
fn speeds_are_the_systems_or_configured() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(2, &["--port-rate", "2=10M"]);
    let shown = printed(&lab.dpctl(&["dump-ports-desc"]));
    for wanted in ["speed: 10000 Mbps", "speed: 10 Mbps"] {
        assert!(shown.contains(wanted), "{wanted}: {shown}");
    }
}

#[test]
fn a_port_does_without_a_ring() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(3, &["--ring", "64", "--ring", "2=0"]);
    lab.all_ping();
    for (from, to) in [(1, 2), (2, 3), (3, 1)] {
        lab.tcp(from, to, 4);
        lab.udp(from, to);
    }
    let ctl = |word: &str| ok(Command::new(program("bofuss")).args(["ctl", &lab.name, word]));
    // The kernel knows that all of a flow has left by a queue as well as by a ring.
    let below = ctl("accelerator");
    assert!(
        !below.starts_with("on\n") || below.contains("port 2 on, held_back 0\n"),
        "{below}"
    );
    // If the interfaces lost something, its counter has a name and a port.
    let counters = ctl("counters");
    let names = ["port 2 rx_kernel", "port 3 tx_overflow"];
    assert!(
        names.iter().all(|name| counters.contains(name)),
        "{counters}"
    );
}

#[test]
fn rates_and_queues_follow_the_file() {
    if !have(&["ip"]) {
        return;
    }
    let file = std::env::temp_dir().join(format!("bofuss-queues-{}.toml", std::process::id()));
    std::fs::write(&file, "").unwrap();
    let lab = Lab::with_file(2, &["--config", &file.display().to_string()]);
    let says = |text: &str| {
        let ports = [1, 2].map(|i| lab.port(i));
        std::fs::write(&file, format!("port = {ports:?}\n{text}")).unwrap();
        let output = run(Command::new(program("bofuss")).args(["reload", &lab.name]));
        (output.status.success(), printed(&output))
    };
    let ctl = |words: &[&str]| {
        let mut command = Command::new(program("bofuss"));
        ok(command.args(["ctl", &lab.name]).args(words))
    };
    let fine = (true, String::new());
    assert_eq!(
        says("port-rate = ['1=10M']\nqueue = ['1:1:min=8M']\n"),
        fine
    );
    lab.all_ping();
    lab.dpctl(&["queue-mod", "1", "7", "min=1M"]);
    let queues = ctl(&["queues"]);
    let lines: Vec<&str> = queues.lines().collect();
    assert_eq!(lines.len(), 3, "the default queue comes with the others");
    assert!(
        lines[1].starts_with("1:1:min=8M,") && lines[2].starts_with("1:7:min=1M,"),
        "{queues}"
    );
    // One queue gets what the other gives back; what a controller made stays and counts.
    let swapped = "port-rate = ['1=10M']\nqueue = ['1:2:min=8M', '1:1:min=1M']\n";
    assert_eq!(says(swapped), fine);
    let queues = ctl(&["queues"]);
    assert!(
        queues.contains("1:2:min=8M,") && queues.contains("1:7:min=1M,"),
        "{queues}"
    );
    for wrong in [
        "port-rate = ['1=9M']\nqueue = ['1:2:min=8M', '1:1:min=1M']\n",
        "port-rate = ['1=10M']\nqueue = ['1:2:min=9500k']\n",
    ] {
        let (fine, said) = says(wrong);
        assert!(!fine && said.contains("line 3: queue 1:"), "{said}");
        assert_eq!(ctl(&["queues"]), queues, "nothing was changed");
    }
    assert_eq!(says(""), fine);
    let queues = ctl(&["queues"]);
    assert!(
        !queues.contains("1:2:") && queues.contains("1:7:"),
        "{queues}"
    );
    lab.all_ping();
    let packet = "ffffffffffff02000000000108060001080006040001020000000001";
    let told = ctl(&["trace", "1", packet]);
    assert!(told.contains("NORMAL"), "{told}");
    let refused = run(Command::new(program("bofuss")).args(["ctl", &lab.name, "trace", "x", "00"]));
    assert!(printed(&refused).contains("no such field or keyword"));
    std::fs::remove_file(&file).unwrap();
}

#[test]
fn an_interface_that_goes_and_returns_is_the_same_port() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let lab = Lab::new(2, &["--listen", "ptcp:16663"]);
    assert!(lab.pings(1, 2));
    let mut watcher = connect(16663);
    watcher.write_all(&HELLO).unwrap();
    until("it is connected", || {
        lab.log().contains("ptcp:16663:127.0.0.1: connected")
    });
    let port = lab.port(2);
    ip(&format!("link del {port}"));
    until("the port is gone", || {
        lab.log().contains(&format!("{port} is gone"))
    });
    assert!(!lab.pings(1, 2));
    ip(&format!("link add {port} type veth peer name {port}x"));
    ip(&format!("link set {port}x up"));
    ip(&format!("link set {port} up"));
    until("the port is back", || {
        lab.log().contains(&format!("{port} is back"))
    });
    let described = || String::from_utf8(lab.dpctl(&["dump-ports-desc"]).stdout).unwrap();
    until("it has its number", || {
        described().contains(&format!("2({port})"))
    });
    ip(&format!("link set {port}x down"));
    until("a link without carrier shows", || {
        described().contains("LINK_DOWN")
    });
    ip(&format!("link set {port}x up"));
    until("and its return", || !described().contains("LINK_DOWN"));
    watcher.write_all(&[4, 2, 0, 8, 0, 0, 0, 9]).unwrap();
    let messages = std::iter::from_fn(|| message(&mut watcher).filter(|m| m[1] != 3));
    let told = messages.filter(|m| m[1] == 12 && m[19] == 2).map(|m| m[8]);
    let told: Vec<u8> = told.collect();
    let went = told.iter().position(|reason| *reason == 1).expect("DELETE");
    let came = went
        + told[went..]
            .iter()
            .position(|reason| *reason == 0)
            .expect("ADD");
    assert!(told[came..].contains(&2), "MODIFY for the links: {told:?}");
}

#[test]
fn an_interface_with_a_new_name_is_still_the_port_of_this_switch() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(2, &[]);
    let port = lab.port(2);
    ip(&format!("link set {port} down"));
    let renamed = format!("{port}w");
    ip(&format!("link set {port} name {renamed}"));
    ip(&format!("link set {renamed} up"));
    let wanted = format!("it is port 2 of this switch, opened as {port}");
    until("the switch says whose the interface is", || {
        let words = ["ctl", &lab.name, "add-port", &renamed];
        let refused = run(Command::new(program("bofuss")).args(words));
        printed(&refused).contains(&wanted)
    });
    ip(&format!("link del {renamed}"));
}
