//! A running switch follows a change of each key that bofuss.toml(5) lists, or refuses it by name;
//! entries, other connections and packets go on.
#![allow(clippy::unwrap_used)]

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::Command;

use bofuss_tests::peers::Ofctl;
use bofuss_tests::{Process, have, ok, printed, program, raw, run, until};

mod pki;
mod stage;

use stage::{Stage, refuses, vlans};

/// The keys that the manual page lists.
fn schema() -> Vec<String> {
    let page = ok(Command::new(program("bofuss")).args(["generate", "man-toml"]));
    let keys = page.split_once(".SH KEYS").unwrap().1;
    let keys = keys.split_once(".SH EXAMPLE").unwrap().0;
    let names = keys.lines().filter_map(|line| line.strip_prefix("\\fB"));
    names
        .map(|line| line.split_once("\\fR").unwrap().0.replace('\\', ""))
        .collect()
}

/// Reads messages until one of this type comes. Returns it.
fn read_until(stream: &mut TcpStream, kind: u8) -> Vec<u8> {
    loop {
        let message = raw::message(stream).unwrap();
        if message[1] == kind {
            return message;
        }
    }
}

/// A port of loopback at which nobody listens.
fn silent_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().port()
}

#[test]
fn a_controller_cuts_no_traffic_before_one_has_connected() {
    if !have(&["ip", "openssl"]) {
        return;
    }
    let mut stage = Stage::new();
    let logged = |stage: &Stage, text: &str| stage.lab.log().matches(text).count();
    let waiting = "fail mode: standalone until a controller has connected, then secure";
    stage.follows(
        "controller",
        &format!("['tcp:127.0.0.1:{}']", silent_port()),
    );
    stage.lab.all_ping();
    assert_eq!(logged(&stage, waiting), 1);
    stage.follows("tables", "11");
    stage.follows("controller", &format!("['tcp:127.0.0.1:{}']", stage.port));
    stage.lab.all_ping();
    assert_eq!(logged(&stage, waiting), 1, "it is logged once");
    let main = stage.greets();
    until("the default holds", || {
        logged(&stage, "fail mode: standalone before, secure now") == 1
    });
    assert!(!stage.lab.pings(1, 2));
    drop(main);
    stage.follows("tables", "12");
    assert!(!stage.lab.pings(1, 2), "one has connected");
    stage.follows("controller", "[]");
    stage.lab.all_ping();
    assert_eq!(
        logged(&stage, "fail mode: secure before, standalone now"),
        1
    );
    // A mode that was chosen is followed at once.
    stage.follows("fail-mode", "'secure'");
    assert!(!stage.lab.pings(1, 2));
}

/// Returns true if the peer closes the connection.
fn ends(mut stream: TcpStream) -> bool {
    let mut rest = Vec::new();
    stream.read_to_end(&mut rest).is_ok()
}

/// Changes the key, and checks that the switch follows. Panics: for a key that is not known here.
fn change(stage: &mut Stage, key: &str) {
    let files = |stage: &Stage, who: &str| {
        let path = |kind: &str| format!("'{}'", stage.pki.path(&format!("{who}-{kind}.pem")));
        (path("privkey"), path("cert"))
    };
    match key {
        // These two are on the command line, which counts first.
        "name" | "log" => without_command_line(stage),
        "lock-down" => refuses(stage, key, "true", "lock-down: a change needs a restart"),
        "field" => {
            let row = "['icn_type=udp:64:8,number=1,mask,set,hex,udp_dst=6363']";
            refuses(stage, key, row, "field: a change needs a restart");
        }
        "extension" => {
            let option = "['openstate.dialect=opp']";
            refuses(stage, key, option, "extension: a change needs a restart");
        }
        "accelerate" => refuses(stage, key, "'on'", "accelerate: a change needs a restart"),
        "accelerated-flows" => refuses(
            stage,
            key,
            "64",
            "accelerated-flows: a change needs a restart",
        ),
        "workers" => refuses(stage, key, "1", "workers: a change needs a restart"),
        "dispatch" => stage.follows(key, "'port'"),
        // What it does is tested with programs.
        "p4" | "p4runtime" => {
            let (done, said) = stage.set(key, "'127.0.0.1:1'");
            assert!(
                !done && said.contains("it is for OpenFlow, and with --p4"),
                "{said}"
            );
        }
        "p4-entries" | "p4info" => refuses(stage, key, "'/none'", "it needs --p4"),
        "p4-device-id" | "p4-cpu-port" => refuses(stage, key, "5", "it needs --p4"),
        "state-dir" => {
            refuses(stage, key, "'/tmp'", "state-dir: a record has everything");
        }
        "state-interval" => refuses(stage, key, "5", "state-interval: nothing is saved"),
        "record" => refuses(stage, key, "'/tmp/r'", "record: a change needs a restart"),
        "record-frames" => {
            refuses(
                stage,
                key,
                "'headers'",
                "record-frames: a change needs a restart",
            );
        }
        "socket-group" => {
            refuses(
                stage,
                key,
                "'root'",
                "socket-group: a change needs a restart",
            );
        }
        "dpid" => {
            stage.follows(key, "'0x1f2e3d'");
            assert!(stage.dpctl(&["features"]).contains("1f2e3d"));
        }
        "port" => {
            let (first, second) = (stage.lab.port(1), stage.lab.port(2));
            stage.follows(key, &format!("['1={first}', '7={second}']"));
            assert!(stage.ctl("ports").contains(&format!("7 {second} up")));
            stage.lab.all_ping();
            stage.follows(key, &format!("['1={first}', '2={second}']"));
        }
        "port-rate" => {
            stage.follows(key, "['2=10M']");
            assert!(stage.dpctl(&["dump-ports-desc"]).contains("10 Mbps now"));
        }
        "ring" => {
            stage.follows(key, "['0']");
            stage.lab.all_ping();
            stage.follows(key, "['1=64']");
            stage.lab.udp(1, 2);
        }
        "queue" => {
            stage.follows(key, "['1:3:min=1M']");
            assert!(stage.ctl("queues").contains("1:3:min=1M,"));
        }
        "controller" => {
            stage.follows(key, &format!("['tcp:127.0.0.1:{}']", stage.port));
            let main = stage.greets();
            until("it is told", || stage.ctl("controllers").contains("tcp:"));
            stage.follows(key, "[]");
            assert!(ends(main));
            stage.follows("fail-mode", "'standalone'");
        }
        "aux" => {
            stage.follows("controller", &format!("['tcp:127.0.0.1:{}']", stage.port));
            let mut main = stage.greets();
            stage.follows(key, "['tcp']");
            let first = stage.greets();
            until("it is told", || {
                stage.ctl("controllers").contains("(auxiliary 1)")
            });
            stage.follows(key, "['tcp', 'tcp']");
            assert!(ends(first));
            let _again = (stage.greets(), stage.greets());
            until("both are told", || {
                stage.ctl("controllers").contains("(auxiliary 2)")
            });
            // The main one is the same and goes on.
            main.write_all(&[4, 20, 0, 8, 0, 0, 0, 1]).unwrap();
            read_until(&mut main, 21);
            stage.keys.remove("aux");
            stage.follows("controller", "[]");
        }
        "listen" => {
            let before = stage.keys["listen"].clone();
            let more = format!(
                "{}, 'ptcp:{}']",
                before.trim_end_matches(']'),
                stage.port + 2
            );
            stage.follows(key, &more);
            let reaches = |port: u16| TcpStream::connect(("127.0.0.1", port)).is_ok();
            assert!(reaches(stage.port + 2));
            stage.follows(key, &before);
            assert!(!reaches(stage.port + 2) && reaches(stage.port + 1));
        }
        "private-key" => {
            assert!(stage.reached_by("tool", "ca"));
            let (strange, _) = files(stage, "strange");
            let (done, said) = stage.set(key, &strange);
            assert!(!done && said.contains("private-key"), "{said}");
            assert!(stage.reached_by("tool", "ca"), "nothing was changed");
        }
        "certificate" => {
            let (own, _) = files(stage, "switch");
            let (strange, certificate) = files(stage, "strange");
            stage.keys.insert("private-key".into(), strange);
            stage.follows(key, &certificate);
            assert!(!stage.reached_by("tool", "ca") && stage.reached_by("tool", "other"));
            let (_, certificate) = files(stage, "switch");
            stage.keys.insert("private-key".into(), own);
            stage.follows(key, &certificate);
        }
        "ca-cert" => {
            let other = format!("'{}'", stage.pki.path("other-cert.pem"));
            stage.follows(key, &other);
            assert!(!stage.reached_by("tool", "ca") && stage.reached_by("strange", "ca"));
            let ca = format!("'{}'", stage.pki.path("ca-cert.pem"));
            stage.follows(key, &ca);
            assert!(stage.reached_by("tool", "ca"));
        }
        // What it does is tested with the connections.
        "any-peer-name" | "take-over" => stage.follows(key, "true"),
        "max-backoff" | "seed" | "message-rate" | "packet-in-rate" | "packet-in-burst" => {
            stage.follows(key, "100");
        }
        "fail-mode" => {
            stage.follows(key, "'secure'");
            assert!(!stage.dpctl(&["dump-flows"]).contains("priority=0 "));
            stage.follows(key, "'standalone'");
            assert!(stage.dpctl(&["dump-flows"]).contains("priority=0 "));
        }
        "tables" => {
            stage.dpctl(&["add-flow", "table=9,priority=3,actions=drop"]);
            refuses(stage, key, "9", "tables: an entry of table 9 would not fit");
            stage.follows(key, "20");
            stage.dpctl(&["add-flow", "table=19,priority=3,actions=drop"]);
            assert!(stage.dpctl(&["dump-flows"]).contains("table=19"));
            stage.dpctl(&["del-flows", "table=19"]);
            stage.dpctl(&["del-flows", "table=9"]);
            stage.follows(key, "9");
        }
        "max-entries" | "max-total-entries" => {
            refuses(stage, key, "1", "would not fit");
            stage.follows(key, "3");
            for port in 1..4 {
                let flow = format!("priority=2,in_port={port},actions=drop");
                stage.dpctl(&["add-flow", &flow]);
            }
            let refusal = stage.dpctl(&["add-flow", "priority=2,in_port=9,actions=drop"]);
            assert!(refusal.contains("TABLE_FULL"), "{refusal}");
            stage.dpctl(&["del-flows", "in_port=1"]);
            stage.dpctl(&["del-flows", "in_port=2"]);
            stage.dpctl(&["del-flows", "in_port=3"]);
            stage.keys.remove(key);
            assert!(stage.reload().0);
        }
        "profile" => {
            let profile = stage.pki.path("profile.toml");
            std::fs::write(&profile, "[[table]]\nid = 0\nname = 'only'\n").unwrap();
            stage.follows(key, &format!("'{profile}'"));
            assert!(stage.dpctl(&["dump-table-features"]).contains("only"));
            stage.keys.remove(key);
            assert!(stage.reload().0);
        }
        "select" | "group-select" => {
            let group = "group_id=7,type=select,bucket=output:1,bucket=output:2";
            let (said, done) = stage.lab.ofctl("add-group", &[group]);
            assert!(done, "{said}");
            let value = if key == "select" {
                "'round-robin'"
            } else {
                "['7=random']"
            };
            stage.follows(key, value);
            refuses(
                stage,
                key,
                &value.replace("ran", "run").replace("round", "bound"),
                key,
            );
            stage.lab.ofctl("del-groups", &["group_id=7"]);
        }
        "mac" => {
            refuses(stage, key, "['2']", "mac 2: it is PORT=MAC");
            stage.follows(key, "['2=02:00:00:00:00:77']");
            assert!(
                stage
                    .ctl("macs")
                    .contains("02:00:00:00:00:77 untagged port=2 static")
            );
            stage.follows(key, "[]");
        }
        "tag" | "trunks" | "vlan-mode" => vlans(stage, key),
        "mac-limit" => {
            refuses(stage, key, "['0']", "mac-limit 0: it is 1 to ");
            stage.follows(key, "['1', '2=7']");
            stage.lab.all_ping();
            stage.follows(key, "[]");
        }
        "discipline" => {
            refuses(
                stage,
                key,
                "['lifo']",
                "'lifo' is none of weighted-priority",
            );
            stage.follows("queue", "['2:0:max=10M']");
            stage.follows(key, "['2=fifo']");
            stage.lab.all_ping();
            let queue = "['2:0:max=10M', '2:1:min=1M']";
            refuses(stage, "queue", queue, "queue 0 only");
            stage.follows(key, "[]");
            stage.follows("queue", "[]");
        }
        "datapath" => {
            for layer in ["reference", "tables", "cache"] {
                stage.follows(key, &format!("'{layer}'"));
                stage.lab.all_ping();
            }
        }
        "versions" => {
            stage.follows(key, "['1.0', 'OpenFlow13']");
            assert!(!ofctl14(stage).run("show", &[]).1, "1.4 is not offered");
            stage.lab.ofctl13().told("show", &[]);
            stage.follows(key, "[]");
            ofctl14(stage).told("show", &[]);
            refuses(stage, key, "['1.9']", "none of OpenFlow10");
        }
        "bundle-clock" => {
            refuses(stage, key, "'cuckoo'", "realtime");
            stage.follows(key, "'tai'");
            assert!(stage.dpctl(&["bundle-features"]).contains("timestamp"));
            stage.follows(key, "'realtime'");
        }
        "inactivity-probe" => {
            stage.follows("controller", &format!("['tcp:127.0.0.1:{}']", stage.port));
            let mut main = stage.greets();
            stage.follows(key, "1");
            // The new connection asks after a second of silence.
            read_until(&mut main, 2);
            stage.follows("controller", "[]");
        }
        "metrics" => {
            let get = |port: u16| {
                let mut stream = TcpStream::connect(("127.0.0.1", port)).ok()?;
                stream.write_all(b"GET /metrics HTTP/1.1\r\n\r\n").ok()?;
                let mut answer = String::new();
                stream.read_to_string(&mut answer).ok()?;
                Some(answer)
            };
            let port = stage.port + 3;
            stage.follows(key, &format!("'{port}'"));
            assert!(get(port).unwrap().contains("bofuss_"));
            stage.follows(key, &format!("'{}'", port + 1));
            assert!(get(port).is_none() && get(port + 1).is_some());
        }
        "capture" => {
            let [frames, messages] = ["1.pcap", "m.pcap"].map(|name| stage.pki.path(name));
            stage.follows(key, &format!("['1 {frames} icmp', 'openflow {messages}']"));
            stage.lab.all_ping();
            stage.dpctl(&["features"]);
            let begun = stage.ctl("captures");
            assert!(
                begun.contains(&frames) && !begun.contains("packets=0"),
                "{begun}"
            );
            assert!(begun.contains(&messages), "{begun}");
            refuses(stage, key, "['9 /tmp/x.pcap']", "capture 9 ");
            stage.follows(key, "[]");
            assert_eq!(stage.captures(), "");
        }
        "mirror" => {
            stage.follows(key, "['1 2 arp', '1 2 icmp']");
            stage.follows(key, "['1 2 arp']");
            assert_eq!(stage.ctl("captures").matches("1 2 packets").count(), 1);
            stage.follows(key, "[]");
            assert_eq!(stage.captures(), "");
        }
        "sflow" | "ipfix" => {
            refuses(stage, key, "['a b']", &format!("{key} a b: 'b' is no SET"));
            let silent = silent_port();
            stage.follows(key, &format!("['127.0.0.1:{silent} rate=1']"));
            stage.lab.all_ping();
            let line = format!("{key} 127.0.0.1:{silent} ");
            assert!(stage.ctl("exports").contains(&line));
            // Those that stay go on with what they have counted.
            stage.follows("tables", "13");
            until("it sends", || {
                !stage
                    .ctl("exports")
                    .contains(&format!("{line}datagrams=0 "))
                    || stage.ctl("exports").contains("refused")
            });
            stage.follows(key, "[]");
            assert_eq!(stage.ctl("exports"), "");
        }
        "capture-folder" => {
            let folder = stage.pki.0.display().to_string();
            stage.follows(key, &format!("'{folder}'"));
            refuses(
                stage,
                "capture",
                "['1 /tmp/x.pcap']",
                "captures may only be written to",
            );
        }
        "no-pad" => {
            stage.follows(key, "true");
            stage.lab.all_ping();
        }
        other => panic!("{other}: what a change of it does is tested nowhere"),
    }
}

/// Checks a switch that has everything from its file: it refuses another name, and follows another
/// log level.
fn without_command_line(stage: &Stage) {
    let (file, log) = (stage.pki.path("alone.toml"), stage.pki.path("log"));
    let name = format!("alone-{}", std::process::id());
    let write = |name: &str, level: &str| {
        std::fs::write(&file, format!("log = '{level}'\nname = '{name}'\n")).unwrap();
    };
    write(&name, "info");
    let mut bofuss = Command::new(program("bofuss"));
    bofuss.args(["run", "--config", &file]);
    bofuss.stderr(std::fs::File::create(&log).unwrap());
    let _switch = Process::start(&mut bofuss);
    let said = || std::fs::read_to_string(&log).unwrap();
    until("it listens", || said().contains("waiting for"));
    let reload = || {
        let mut bofuss = Command::new(program("bofuss"));
        printed(&run(bofuss.args(["reload", &name])))
    };
    write("other", "debug");
    let refused = reload();
    assert!(
        refused.contains(", line 2: name: a change needs a restart"),
        "{refused}"
    );
    write(&name, "debug");
    assert_eq!(reload(), "");
    let mut dpctl = Command::new(program("dpctl"));
    ok(dpctl.args([&name, "features"]));
    until("the connection's end is told", || said().contains("DEBUG"));
}

/// `ovs-ofctl` in 1.4.
fn ofctl14(stage: &Stage) -> Ofctl<'_> {
    Ofctl {
        lab: &stage.lab,
        version: "OpenFlow14",
    }
}

#[test]
fn every_key_of_the_schema_is_followed_or_refused_by_name() {
    if !have(&["ip", "openssl", "ovs-ofctl"]) {
        return;
    }
    let mut stage = Stage::new();
    let flow = "priority=9,cookie=0x5,icmp,actions=normal";
    stage.dpctl(&["add-flow", flow]);
    let keys = schema();
    assert!(keys.len() > 30, "{keys:?}");
    for key in keys {
        change(&mut stage, &key);
        let flows = stage.dpctl(&["dump-flows"]);
        assert!(flows.contains("cookie=0x5"), "after {key}: {flows}");
        stage.lab.all_ping();
    }
    // It has counted all the time.
    let flows = stage.dpctl(&["dump-flows"]);
    let flow = flows
        .lines()
        .find(|line| line.contains("cookie=0x5"))
        .unwrap();
    let packets = flow.split_once("n_packets=").unwrap().1;
    let packets: u32 = packets.split_once(',').unwrap().0.parse().unwrap();
    assert!(packets > 40, "{flow}");
    // The record of all this can be replayed.
    assert_eq!(stage.lab.switch.terminate(), Some(0));
    let mut bofuss = Command::new(program("bofuss"));
    let replayed = ok(bofuss.arg("replay").arg(stage.pki.path("record")));
    assert!(replayed.contains("outputs as recorded"), "{replayed}");
}
