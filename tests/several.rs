//! Several switches of one file run in one process; a change is taken by all of them or by none.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use bofuss_tests::{Lab, Process, get, have, ip, ok, printed, program, run, until};

/// The switches of one file. Their hosts are those of a laboratory whose own switch has ended.
struct Switches {
    process: Process,
    lab: Lab,
    file: PathBuf,
}

/// The interfaces of the cable between the switches.
fn cable(end: u8) -> String {
    format!("c{}-{end}", std::process::id())
}

/// The names of the switches.
fn name(number: u8) -> String {
    format!("several-{}-{number}", std::process::id())
}

/// A part of the file: the switch `number` with the ports of a host and the end of the cable.
fn switch(lab: &Lab, number: u8, more: &str) -> String {
    let (name, host) = (name(number), lab.port(number));
    let cable = cable(number);
    format!("[[switch]]\nname = '{name}'\nport = ['{host}',\n  '{cable}']\n{more}\n")
}

impl Switches {
    fn start() -> Self {
        let file = std::env::temp_dir().join(format!("bofuss-several-{}", std::process::id()));
        std::fs::write(&file, "").unwrap();
        let path = file.to_str().unwrap();
        let mut lab = Lab::with_file(3, &["--config", path]);
        lab.switch.terminate();
        ip(&format!(
            "link add {} type veth peer name {}",
            cable(1),
            cable(2)
        ));
        let both = format!(
            "{}{}",
            switch(&lab, 1, "tables = 5"),
            switch(&lab, 2, "tables = 5")
        );
        std::fs::write(&file, format!("metrics = '0'\n{both}")).unwrap();
        let mut command = Command::new(program("bofuss"));
        command
            .args(["run", "--config", path])
            .stderr(Stdio::piped());
        let process = Process::start(&mut command);
        let this = Self { process, lab, file };
        until("both switches run", || this.ask(2, "switches").0);
        this
    }

    /// Makes the process read a file with this text. Returns whether it did, and what it printed.
    fn reload(&self, text: &str) -> (bool, String) {
        std::fs::write(&self.file, text).unwrap();
        let output = run(Command::new(program("bofuss")).arg("reload"));
        (output.status.success(), printed(&output))
    }

    /// Returns what a switch answers to an operator.
    fn ask(&self, number: u8, words: &str) -> (bool, String) {
        let mut bofuss = Command::new(program("bofuss"));
        let output = run(bofuss.args(["ctl", &name(number)]).args(words.split(' ')));
        (output.status.success(), printed(&output))
    }

    fn dpctl(&self, number: u8, words: &[&str]) -> String {
        ok(Command::new(program("dpctl")).arg(name(number)).args(words))
    }

    /// The tables of a switch, and its entries of one cookie.
    fn shape(&self, number: u8) -> (usize, usize) {
        let tables = self.dpctl(number, &["stats-table"]);
        let tables = tables.matches("{table=").count();
        let flows = self.dpctl(number, &["dump-flows"]);
        (tables, flows.matches("cookie=0x7,").count())
    }
}

#[test]
fn the_switches_of_a_file_run_and_change_together() {
    if !have(&["ip", "ping"]) {
        return;
    }
    let mut switches = Switches::start();
    let lab = &switches.lab;
    until("both switches forward", || lab.pings(1, 2));
    let names = format!("{}\n{}\n", name(1), name(2));
    assert_eq!(switches.ask(1, "switches"), (true, names));
    for number in [1, 2] {
        let flow = "table=4,cookie=7,priority=9,arp,actions=drop";
        switches.dpctl(number, &["add-flow", flow]);
        assert_eq!(switches.shape(number), (5, 1));
    }

    // A change that one of them refuses is taken by none.
    let (one, two) = (|more| switch(lab, 1, more), |more| switch(lab, 2, more));
    for (text, line, why) in [
        (
            one("tables = 6") + &two("tables = 4"),
            10,
            "tables: an entry of table 4",
        ),
        (
            one("tables = 6") + &two("port-rate = ['3=1M']"),
            10,
            "there is no port 3",
        ),
        (one("tables = 6") + &two("dpid = '0x0'"), 10, "dpid"),
        (
            one("tables = 6") + &two("log = 'warn'"),
            10,
            "it is for all switches",
        ),
        (
            one("tables = 6") + &one("tables = 5"),
            7,
            "another switch has this name already",
        ),
        (
            one("tables = 6") + &two("[[switch]]\nport = ['none']"),
            11,
            "no interface",
        ),
    ] {
        let (done, said) = switches.reload(&format!("{text}\n"));
        let place = format!("line {line}: ");
        assert!(
            !done && said.contains(&place) && said.contains(why),
            "{said}"
        );
        assert_eq!(
            [1, 2].map(|number| switches.shape(number)),
            [(5, 1); 2],
            "{text}"
        );
        assert!(!switches.ask(1, "switches").1.contains("s0"));
    }
    assert!(lab.pings(1, 2));

    // The others forward while a new one waits for an address that another process has.
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let third = format!(
        "[[switch]]\nname = '{}'\nport = ['{}']\n",
        name(3),
        lab.port(3)
    );
    let waits = format!("{third}listen = ['ptcp:{port}:127.0.0.1']\n");
    std::fs::write(&switches.file, one("tables = 6") + &two("") + &waits).unwrap();
    let mut reload = Command::new(program("bofuss"));
    let mut reload = reload.arg("reload").stderr(Stdio::null()).spawn().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    assert!(lab.pings(1, 2));
    assert!(reload.try_wait().unwrap().is_none(), "it waits");
    assert!(!reload.wait().unwrap().success());
    assert_eq!([1, 2].map(|number| switches.shape(number)), [(5, 1); 2]);

    // One switch begins, one gets another name, one ends; entries stay.
    let port = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let metrics = format!("metrics = '{port}'\n");
    let (done, said) = switches.reload(&(metrics.clone() + &one("tables = 6") + &two("") + &third));
    assert!(done, "{said}");
    assert_eq!(switches.shape(1), (6, 1));
    assert_eq!(switches.shape(2), (64, 1));
    assert!(lab.pings(1, 2));
    let text = get(&port.to_string(), "/metrics", "").1;
    for number in [1, 2, 3] {
        let uptime = format!("bofuss_uptime_seconds{{switch=\"{}\"}} ", name(number));
        assert_eq!(text.matches(&uptime).count(), 1, "{text}");
    }
    let (done, said) = switches.reload(&(metrics + &one("tables = 6") + &third));
    assert!(done, "{said}");
    assert_eq!(switches.shape(1), (6, 1));
    assert!(!lab.pings(1, 2));
    assert!(!switches.ask(2, "switches").0);

    // One ends by command; the process ends with the last.
    assert!(switches.ask(3, "shutdown").0);
    assert_eq!(
        switches.ask(1, "switches"),
        (true, format!("{}\n", name(1)))
    );
    assert!(switches.ask(1, "shutdown").0);
    let process = &mut switches.process.0;
    until("the process ends", || process.try_wait().unwrap().is_some());
    assert_eq!(process.wait().unwrap().code(), Some(0));
    std::fs::remove_file(&switches.file).unwrap();
}
