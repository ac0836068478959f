//! An operator changes a running switch by commands, is told the effect of each, and saves what it
//! has become.
#![allow(clippy::unwrap_used)]

mod saved_edits;

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::Command;

use bofuss_tests::{Lab, PATIENCE, have, ip, printed, program, raw, run, until};
use serde_json::Value;

/// The exit code of a command, and what it printed.
fn ctl(switch: &str, words: &[&str]) -> (bool, String) {
    let mut bofuss = Command::new(program("bofuss"));
    let output = run(bofuss.args(["ctl", switch]).args(words));
    (output.status.success(), printed(&output))
}

/// What a command printed that succeeded.
fn told(lab: &Lab, words: &[&str]) -> String {
    let (done, said) = ctl(&lab.name, words);
    assert!(done, "{words:?}: {said}");
    said
}

/// What a command said that was refused.
fn refused(lab: &Lab, words: &[&str]) -> String {
    let (done, said) = ctl(&lab.name, words);
    assert!(!done, "{words:?}: {said}");
    said
}

#[test]
fn ports_are_set_by_number_or_name() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(3, &["--port-rate", "2=20M"]);
    let second = lab.port(2);
    let describes = |text: &str| printed(&lab.dpctl(&["dump-ports-desc"])).contains(text);
    assert!(describes("20 Mbps now"));
    let said = told(&lab, &["set-port", &second, "rate=10M", "ring=64"]);
    assert!(
        said.contains("port-rate: ") && said.contains("ring: "),
        "{said}"
    );
    assert!(describes("10 Mbps now"));
    told(&lab, &["set-port", "2", "rate=default", "mac-limit=5"]);
    assert!(!describes("10 Mbps now"));
    told(&lab, &["set", &format!("queue = ['{second}:1:max=1M']")]);
    assert!(told(&lab, &["queues"]).contains("2:1:"));
    lab.all_ping();
    for (words, why) in [
        (&["set-port", "9", "rate=1M"][..], "there is no port 9"),
        (
            &["set-port", "2", "speed=1M"],
            "'speed=1M' is none of rate=, ring=",
        ),
        (&["set-port", "2", "rate=fast"], "--port-rate 2=fast"),
        (&["set-port", "2"], "needs NAME=VALUE: rate="),
        (
            &["set", "queue = ['nosuch0:1:max=1M']"],
            "or the name of a port",
        ),
    ] {
        let said = refused(&lab, words);
        assert!(said.contains(why), "{words:?}: {said}");
    }
    // A port takes its settings along, and the others keep their numbers.
    let said = told(&lab, &["del-port", &second]);
    assert_eq!(said, format!("port 2: {second} was removed\n"));
    let ports = told(&lab, &["ports"]);
    assert!(ports.contains(&format!("3 {} up", lab.port(3))), "{ports}");
    assert!(lab.pings(1, 3));
    let said = told(&lab, &["add-port", &second]);
    assert_eq!(said, format!("port 2: {second} was added\n"));
    assert_eq!(told(&lab, &["queues"]), "");
    lab.all_ping();
}

#[test]
fn addresses_of_normal_are_shown_forgotten_and_fixed() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(3, &[]);
    lab.all_ping();
    let known = |lab: &Lab| {
        let text = told(lab, &["macs"]);
        let lines = text
            .lines()
            .map(|line| line.split(" age=").next().unwrap().into());
        lines.collect::<Vec<String>>()
    };
    let line = |host: u8, port: u8| format!("02:00:00:00:00:{host:02x} untagged port={port}");
    let learned = known(&lab);
    for host in 1..=3 {
        assert!(learned.contains(&line(host, host)), "{learned:?}");
    }
    told(&lab, &["flush-macs"]);
    assert!(!known(&lab).contains(&line(1, 1)));
    lab.all_ping();
    // Host 1 seems to be behind port 3.
    let third = format!("{}=02:00:00:00:00:01", lab.port(3));
    let said = told(&lab, &["add-mac", &third]);
    assert_eq!(said, "mac: Takes effect at once.\n");
    assert!(known(&lab).contains(&(line(1, 3) + " static")));
    assert!(!lab.pings(1, 2) && lab.pings(2, 3));
    told(&lab, &["add-mac", "1=02:00:00:00:00:01"]);
    told(&lab, &["add-mac", "2=02:00:00:00:00:01,7"]);
    assert!(known(&lab).contains(&"02:00:00:00:00:01 vlan=7 port=2 static".into()));
    let list: Value = serde_json::from_str(&told(&lab, &["macs", "--json"])).unwrap();
    let rows = list["macs"].as_array().unwrap();
    let fixed = |row: &&Value| row["is_static"] == true;
    assert_eq!(rows.iter().filter(fixed).count(), 2, "{list}");
    assert!(
        rows.iter()
            .any(|row| row["age_sec"].is_u64() && row["vlan"].is_null())
    );
    lab.all_ping();
    told(&lab, &["del-mac", "02:00:00:00:00:01"]);
    lab.all_ping();
    assert!(known(&lab).contains(&line(1, 1)));
    for (words, why) in [
        (["add-mac", "9:02:00:00:00:00:01"], "it is PORT=MAC[,VLAN]"),
        (["add-mac", "p9=02:00:00:00:00:01"], "or the name of a port"),
        (
            ["add-mac", "1=03:00:00:00:00:01"],
            "it is the address of a group",
        ),
        (
            ["add-mac", "1=02:00:00:00:00:01,4096"],
            "a VLAN is 0 to 4094",
        ),
        (
            ["del-mac", "02:00:00:00:00:09"],
            "there is no static address",
        ),
    ] {
        let said = refused(&lab, &words);
        assert!(said.contains(why), "{words:?}: {said}");
    }
}

#[test]
fn ports_carry_vlans_for_normal_as_set() {
    if !have(&["ip"]) {
        return;
    }
    // Hosts 1 and 2 are at one switch, hosts 3 and 4 at another, and their ports 3 are a trunk.
    let left = Lab::new(2, &[]);
    let right = Lab::with_hosts(3..=4, &[]);
    ip("link add trunk0 type veth peer name trunk1");
    for (lab, link) in [(&left, "trunk0"), (&right, "trunk1")] {
        ip(&format!("link set {link} up"));
        told(lab, &["add-port", &format!("3={link}")]);
    }
    let reach = |wanted: [bool; 3]| {
        let found = || [left.pings(1, 3), left.pings(2, 4), left.pings(1, 4)];
        until("exactly these hosts reach each other", || found() == wanted);
    };
    reach([true, true, true]);
    let said = told(&left, &["set-port", &left.port(1), "tag=10"]);
    assert!(
        said.starts_with("tag: ") && said.contains("NORMAL forgets"),
        "{said}"
    );
    told(&left, &["set-port", "2", "tag=20"]);
    told(&right, &["set-port", "1", "tag=10"]);
    told(&right, &["set-port", "2", "tag=20"]);
    reach([true, true, false]);
    let known = "02:00:00:00:00:03 vlan=10 port=3 age=";
    assert!(told(&left, &["macs"]).contains(known));
    told(&right, &["set-port", "trunk1", "trunks=20"]);
    reach([false, true, false]);
    let native = ["tag=10", "vlan-mode=native-untagged", "trunks=20"];
    told(&left, &[&["set-port", "3"][..], &native].concat());
    told(
        &right,
        &["set-port", "3", "tag=10", "vlan-mode=native-tagged"],
    );
    reach([true, true, false]);
    let saved = told(&left, &["config"]);
    for line in [
        "tag = [\"1=10\", \"2=20\", \"3=10\"]\n",
        "trunks = [\"3=20\"]\n",
        "vlan-mode = [\"3=native-untagged\"]\n",
    ] {
        assert!(saved.contains(line), "{line}: {saved}");
    }
    let said = refused(&left, &["set-port", "1", "trunks=10"]);
    assert!(said.contains("is an access port"), "{said}");
    told(&left, &["del-port", "trunk0"]);
    let saved = told(&left, &["config"]);
    assert!(saved.contains("tag = [\"1=10\", \"2=20\"]\n"), "{saved}");
    assert!(!saved.contains("vlan-mode"), "{saved}");
}

#[test]
fn controllers_come_and_go_and_are_shown_with_why_they_are_not_there() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(2, &[]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let there = format!("tcp:{}", listener.local_addr().unwrap());
    let silent = TcpListener::bind("127.0.0.1:0").unwrap().local_addr();
    let absent = format!("tcp:{}", silent.unwrap());
    let said = told(&lab, &["set-controller", &absent]);
    let wanted = format!(
        "fail mode: standalone until a controller has connected, then secure, which is the default \
         with controllers\ncontroller {absent}: the switch connects to it\n"
    );
    assert_eq!(said, wanted);
    lab.all_ping();
    until(
        "it says why it is not connected, and when it tries again",
        || {
            let said = told(&lab, &["controllers"]);
            said.contains(&format!("{absent} waiting: ")) && said.contains("; next try in ")
        },
    );
    let said = told(&lab, &["set-controller", &there, &absent]);
    assert_eq!(
        said,
        format!("controller {there}: the switch connects to it\n")
    );
    let (mut peer, _) = listener.accept().unwrap();
    peer.set_read_timeout(Some(PATIENCE)).unwrap();
    peer.write_all(&raw::HELLO).unwrap();
    until("it is connected", || {
        let said = told(&lab, &["controllers"]);
        said.contains(&format!("{there} equal OpenFlow 1.3\n"))
    });
    let said = refused(&lab, &["del-controller", "tcp:127.0.0.1:1"]);
    assert!(
        said.contains("there is no controller tcp:127.0.0.1:1"),
        "{said}"
    );
    let said = refused(&lab, &["set-controller", "udp:x"]);
    assert!(
        said.contains("--controller \"udp:x\": it begins with no kind"),
        "{said}"
    );
    let said = told(&lab, &["del-controller"]);
    assert!(
        said.contains("fail mode: secure before, standalone now: without a controller, table 0")
            && said.contains(&format!("controller {there}: its connection is closed\n")),
        "{said}"
    );
    let mut rest = Vec::new();
    assert!(peer.read_to_end(&mut rest).is_ok());
    assert_eq!(told(&lab, &["controllers"]), "");
    lab.all_ping();
    let said = told(&lab, &["set-fail-mode", "secure"]);
    let wanted =
        "fail mode: standalone before, secure now: table 0 has no entry of the switch's own\n";
    assert_eq!(said, wanted);
    assert!(!lab.pings(1, 2));
    told(&lab, &["set-fail-mode"]);
    lab.all_ping();
}

#[test]
fn any_option_is_set_as_the_file_has_it_or_nothing_changes() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(2, &["--tables", "5"]);
    let before = told(&lab, &["config"]);
    let said = told(&lab, &["set", "tables", "=", "9"]);
    assert!(said.starts_with("tables: "), "{said}");
    lab.asks(&["add-flow", "table=8,priority=1,actions=drop"]);
    for (words, why) in [
        (
            &["set", "tables = 5"][..],
            "an entry of table 8 would not fit",
        ),
        (&["set", "tables = 0"], "--tables 0"),
        (&["set", "tables = 'many'"], "invalid type"),
        (
            &["set", "table = 5"],
            "unknown key 'table'; did you mean 'tables'?",
        ),
        (
            &["set", "fail-mode = open"],
            "it is KEY = VALUE, as in the file",
        ),
        (&["set", "switch = []"], "unknown key 'switch'"),
        (&["set", "log = 'warn'"], "it is for all switches"),
        (&["set", "name = 'x'"], "name: a change needs a restart"),
        (
            &["set", "accelerate = 'off'"],
            "accelerate: a change needs a restart",
        ),
        (
            &["set", "capture = ['1 /tmp/x']"],
            "it names files, so it is changed in the file",
        ),
        (&["set", "profile = '/etc/shadow'"], "it names files"),
        (&["unset", "lock"], "unknown key 'lock'"),
        (&["unset", "lock-down"], "it is for all switches"),
        (&["unset"], "unset needs KEY"),
    ] {
        let said = refused(&lab, words);
        assert!(said.contains(why), "{words:?}: {said}");
    }
    lab.asks(&["del-flows"]);
    told(&lab, &["set", "tables = 5"]);
    assert_eq!(told(&lab, &["config"]), before);
    told(&lab, &["unset", "tables"]);
    lab.asks(&["add-flow", "table=60,priority=1,actions=drop"]);
}

#[test]
fn changes_that_are_asked_for_at_once_are_made_one_after_the_other() {
    if !have(&["ip"]) {
        return;
    }
    let lab = Lab::new(1, &[]);
    let number = std::process::id() % 10_000;
    let added: Vec<String> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..30)
            .map(|at| {
                let lab = &lab;
                scope.spawn(move || told(lab, &["add-port", &format!("tap:m{number}-{at}")]))
            })
            .collect();
        all.into_iter().map(|one| one.join().unwrap()).collect()
    });
    let mut numbers: Vec<u32> = added
        .iter()
        .map(|said| {
            said["port ".len()..]
                .split(':')
                .next()
                .unwrap()
                .parse()
                .unwrap()
        })
        .collect();
    numbers.sort_unstable();
    assert_eq!(numbers, (2..=31).collect::<Vec<u32>>());
}

#[test]
fn every_line_for_those_who_come_from_open_vswitch_does_what_it_says() {
    if !have(&["ip"]) {
        return;
    }
    let page = include_str!("../docs/open-vswitch.md");
    let lab = Lab::new(3, &[]);
    told(&lab, &["del-port", "3"]);
    let file = std::env::temp_dir().join(format!("bofuss-ovs-{}", std::process::id()));
    let mut done = 0;
    for line in page
        .lines()
        .filter(|line| line.starts_with("| `") || line.starts_with("| what"))
    {
        let here = line.rsplit(" | ").next().unwrap();
        for command in here.split('`').skip(1).step_by(2) {
            // The lab is started already, and a snoop never ends.
            if command.starts_with("bofuss run") || command.starts_with("dpctl snoop") {
                continue;
            }
            let mut command = command.replace("br0", &lab.name);
            for host in 1..=3 {
                command = command.replace(&format!("veth{host}"), &lab.port(host));
            }
            let is_capture = command.contains(" capture ");
            let path = format!(
                "{}{}",
                file.display(),
                if is_capture { ".pcapng" } else { "" }
            );
            let command = command.replace("FILE", &path);
            let (name, rest) = command.split_once(' ').unwrap();
            let (words, quoted) = rest.split_once('"').unwrap_or((rest, ""));
            let mut all = Command::new(program(name));
            all.args(words.split_whitespace());
            all.args(quoted.strip_suffix('"'));
            let output = run(&mut all);
            assert!(output.status.success(), "{command}: {}", printed(&output));
            done += 1;
        }
    }
    assert!(done > 30, "{done}");
    let saved = std::fs::read_to_string(&file).unwrap();
    assert!(saved.contains("versions = [\"OpenFlow13\"]"), "{saved}");
    std::fs::remove_file(&file).unwrap();
    let _ = std::fs::remove_file(file.with_extension("pcapng"));
}
