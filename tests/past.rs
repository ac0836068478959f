//! A switch of the past is looked at: `bofuss replay --serve` and `bofuss sim --serve`.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use bofuss_tests::{Process, get, ok, printed, program, run, until};

/// The record that has every kind of input.
fn record() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../testdata/records/every_input.record")
}

/// Serves a switch of the past as `words` say; its name is the last of them.
fn served(words: &[&str]) -> Process {
    let mut command = Command::new(program("bofuss"));
    command.args(words).stdout(Stdio::piped());
    let mut process = Process::start(&mut command);
    let said = process.0.stdout.take().unwrap();
    let mut lines = BufReader::new(said).lines();
    let first = lines.next().unwrap().unwrap();
    assert!(first.ends_with("its time stands still"), "{first}");
    process
}

fn ctl(name: &str, words: &[&str]) -> String {
    ok(Command::new(program("bofuss"))
        .args(["ctl", name])
        .args(words))
}

fn flows(name: &str) -> String {
    ok(Command::new(program("dpctl")).args(["dump-flows", name]))
}

#[test]
fn a_record_is_looked_at_as_it_was_after_a_line() {
    let file = record();
    let file = file.to_str().unwrap();
    let name = "past-of-record";
    // The line adds an entry; its controller disconnects later.
    let mut then = served(&["replay", file, "--until", "14", "--serve", name]);
    let entry = flows(name);
    assert!(entry.contains("priority=10,ip,in_port=1"), "{entry}");
    assert!(!entry.contains("NORMAL"), "{entry}");
    let ports = ctl(name, &["ports"]);
    assert!(
        ports.contains("3 1 up rx_packets=0 tx_packets=2"),
        "{ports}"
    );
    let messages = ctl(name, &["messages"]);
    assert!(messages.contains("tcp:192.0.2.1:6653 -> OFPT_FLOW_MOD: add table=2"));
    assert_eq!(messages.lines().count(), 2, "{messages}");
    // An idle timeout of 5 s would have ended, and durations would have grown.
    std::thread::sleep(Duration::from_secs(6));
    assert_eq!(flows(name), entry);
    let traced = Command::new(program("bofuss"))
        .args(["trace", "--switch", name, "in_port=1,arp"])
        .output();
    let traced = printed(&traced.unwrap());
    assert!(traced.contains("table 0"), "{traced}");
    // What a user tries there is not in the record.
    ok(Command::new(program("dpctl")).args(["add-flow", name, "arp,actions=drop"]));
    assert!(flows(name).contains("arp actions=drop"));
    // It has the ports and controllers of then, and no others.
    for change in [
        "add-port lo",
        "set-controller tcp:127.0.0.1",
        "set listen=['ptcp:0']",
    ] {
        let mut bofuss = Command::new(program("bofuss"));
        let refused = run(bofuss.args(["ctl", name]).args(change.split(' ')));
        let said = printed(&refused);
        assert!(
            !refused.status.success() && said.contains("stands still"),
            "{change}: {said}"
        );
    }
    assert_eq!(then.terminate(), Some(0));
    let end = served(&["replay", file, "--serve", name]);
    assert!(flows(name).contains("actions=NORMAL"));
    assert!(!flows(name).contains("arp"));
    assert!(!ctl(name, &["ports"]).contains("2 1 up"), "it is gone");
    drop(end);
}

#[test]
fn what_cannot_be_reached_is_refused() {
    let file = record();
    let file = file.to_str().unwrap();
    let words = |words: &[&str]| {
        let output = run(Command::new(program("bofuss")).args(words));
        assert!(!output.status.success());
        printed(&output)
    };
    for (wrong, why) in [
        (
            &["replay", file, "--until", "1", "--serve", "none"][..],
            "no run begins up to line 1",
        ),
        (&["replay", file, "--until", "7"], "--serve"),
        (&["replay", file, "--serve", "a/b"], "a/b"),
        (&["replay", "/dev/null", "--serve", "none"], "regular file"),
    ] {
        let said = words(wrong);
        assert!(said.contains(why), "{wrong:?}: {said}");
    }
    let scenario = scenario("refused");
    let path = scenario.0.to_str().unwrap();
    for (wrong, why) in [
        (["--serve", "s7", "--until", "1"], "the scenario has s1, s2"),
        (["--serve", "s1", "--until", "5"], "at most 3"),
        (["--serve", "s1", "--until", "nan"], "at most 3"),
    ] {
        let said = words(&[&["sim", path][..], &wrong].concat());
        assert!(said.contains(why), "{wrong:?}: {said}");
    }
}

/// A scenario in a file that is removed when dropped.
struct Scenario(PathBuf);

impl Drop for Scenario {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Two switches with a controller each of which learns, and a ping a second.
fn scenario(name: &str) -> Scenario {
    let text = r#"
        end = 3.0
        [topology]
        shape = "line"
        switches = 2
        hosts = 1
        [[controller]]
        name = "c0"
        kind = "learning"
        [[traffic]]
        kind = "ping"
        from = "h1"
        to = "h2"
        interval = 1.0
        count = 3
    "#;
    let file = format!("bofuss-past-{name}-{}.toml", std::process::id());
    let path = std::env::temp_dir().join(file);
    std::fs::write(&path, text).unwrap();
    Scenario(path)
}

#[test]
fn a_switch_of_a_simulation_is_looked_at_in_a_browser() {
    let scenario = scenario("browser");
    let path = scenario.0.to_str().unwrap();
    let early = served(&["sim", path, "--until", "0.5", "--serve", "s1"]);
    let count = |name: &str| flows(name).matches("n_packets").count();
    let before = count("s1");
    let mut viewer = Command::new(program("bofuss"));
    viewer.args(["web", "s1"]).stdout(Stdio::piped());
    let mut viewer = Process::start(&mut viewer);
    let mut lines = BufReader::new(viewer.0.stdout.take().unwrap()).lines();
    let address = lines.next().unwrap().unwrap();
    let (host, path_of) = address
        .strip_prefix("http://")
        .and_then(|rest| rest.split_once('/'))
        .unwrap();
    let page = |name: &str| get(host, &format!("/{path_of}{name}"), "").1;
    assert!(page("").contains("s1-eth1"), "{}", page(""));
    assert!(page("messages").contains("OFPT_PACKET_IN"));
    drop(early);
    let late = served(&["sim", path, "--serve", "s1"]);
    until("the viewer shows the later moment", || {
        page("").contains("s1-eth1")
    });
    assert!(count("s1") >= before && before > 1);
    drop(late);
}
