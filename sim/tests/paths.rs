//! The controllers that know the topology, and the evaluation of the paper in ten lines with them.
#![allow(clippy::unwrap_used)]

use bofuss_sim::scenario::{NoOutside, Scenario};
use serde_json::Value;

/// Two spines, two leaves and three hosts at each of these.
const FABRIC: &str = r#"
end = 30
known_addresses = true
topology = { shape = "spine-leaf", spines = 2, leaves = 2, hosts = 3 }
defaults.link = { mbps = 20 }
"#;
const TRAFFIC: &str = r#"
[[traffic]]
kind = "tcp"
from = "h*"
to = "h*"
start = 0.1
flows = 60
per_second = 20
size = 100000
"#;

fn run(text: &str) -> Value {
    let mut scenario = Scenario::build(text, None, &mut NoOutside).unwrap();
    assert_eq!(scenario.warnings(), [""; 0]);
    scenario.run_until(scenario.end(), &mut ()).unwrap();
    let statistics = scenario.statistics();
    assert_eq!(scenario.failures(&statistics), []);
    statistics
}

fn controller(kind: &str) -> String {
    format!("[[controller]]\nname = \"c\"\nkind = \"{kind}\"\n")
}

/// The entries of `python/examples/evaluation.py` and of `ofmeter`: a group of the spines in each
/// leaf.
fn written_out() -> String {
    let mac = |host: u32| format!("02:00:00:00:00:{host:02x}");
    let mut text = String::new();
    for spine in 1..=2 {
        let flows: Vec<String> = (1..=6)
            .map(|host| {
                format!(
                    "\"dl_dst={},actions=output:{}\"",
                    mac(host),
                    1 + (host - 1) / 3
                )
            })
            .collect();
        let flows = flows.join(",");
        text += &format!("[[switch]]\nname = \"spine{spine}\"\nflows = [{flows}]\n");
    }
    for leaf in 1..=2 {
        let own: Vec<String> = (0..3)
            .map(|place| {
                let host = mac((leaf - 1) * 3 + place + 1);
                format!("\"priority=2,dl_dst={host},actions=output:{}\"", 3 + place)
            })
            .collect();
        let own = own.join(",");
        text += &format!(
            "[[switch]]\nname = \"leaf{leaf}\"\nflows = [\"group_id=1,type=select,\
             bucket=output:1,bucket=output:2\",\"priority=1,actions=group:1\",{own}]\n"
        );
    }
    text
}

/// Bytes that the leaves have sent to each spine.
fn to_spines(statistics: &Value) -> [u64; 2] {
    ["spine1", "spine2"].map(|spine| {
        let ports = statistics["switches"][spine]["ports"].as_object().unwrap();
        ports
            .values()
            .map(|port| port["rx_bytes"].as_u64().unwrap())
            .sum()
    })
}

#[test]
fn ecmp_over_two_spines_is_that_of_the_evaluation_to_the_byte() {
    let ours = run(&(FABRIC.to_string() + &controller("ecmp") + TRAFFIC));
    let theirs = run(&(FABRIC.to_string() + &written_out() + TRAFFIC));
    assert_eq!(ours["traffic"], theirs["traffic"]);
    assert_eq!(ours["links"], theirs["links"]);
    let [first, second] = to_spines(&ours);
    assert!(first > 1_000_000 && second > 1_000_000, "{first} {second}");
}

#[test]
fn the_shortest_path_is_one_of_two_equal_ones() {
    let statistics = run(&(FABRIC.to_string() + &controller("shortest-path") + TRAFFIC));
    let [first, second] = to_spines(&statistics);
    assert!(first > 1_000_000 && second == 0, "{first} {second}");
}

#[test]
fn hosts_find_each_other_around_loops_and_links_that_fail() {
    for kind in ["shortest-path", "ecmp"] {
        let text = controller(kind)
            + r#"
end = 20
topology = { shape = "grid", rows = 3, columns = 3, hosts = 1 }
[[change]]
at = 5
link = "s1-s2"
state = "down"
[[change]]
at = 10
link = "s1-s2"
state = "up"
[[traffic]]
kind = "ping"
from = "h*"
to = "h*"
ip = 6
start = 0.5
count = 15
[[assert]]
statistic = "traffic.1.received"
is = 135
[[assert]]
statistic = "traffic.1.duplicates"
is = 0
"#;
        let (head, rest) = text.split_once("end = 20").unwrap();
        let (top, tables) = rest.split_once("[[change]]").unwrap();
        run(&format!("end = 20{top}{head}[[change]]{tables}"));
    }
}

/// The evaluation of the paper (figure 6) at 20 %, with fewer flows.
const TEN_LINES: &str = r#"
end = 40
known_addresses = true
topology = { shape = "spine-leaf", spines = 4, leaves = 4, hosts = 20 }
defaults.link = { mbps = 100, delay_us = 5 }
controller = [{ name = "paths", kind = "ecmp" }]
assert = [{ statistic = "traffic.1.completed", is = 300 }]
[[traffic]]
kind = "tcp"
from = "h*"
to = "h*"
flows = 300
mbps = 1600
sizes = "web-search"
size = 1000000
"#;

#[test]
fn the_evaluation_of_the_paper_is_ten_lines() {
    let statistics = run(TEN_LINES);
    let guide = include_str!("../../docs/guide/simulated-traffic.md");
    assert!(guide.contains(TEN_LINES.trim()), "the guide shows it");
    let flows = statistics["traffic"][0]["flows"].as_array().unwrap();
    let total: f64 = flows
        .iter()
        .map(|flow| flow["bytes"].as_f64().unwrap())
        .sum();
    // The mean of the sizes to 1 MB, and of what is offered in the time of the arrivals.
    assert!((total / 300.0 / 386_250.0 - 1.0).abs() < 0.15, "{total}");
    let last = flows.last().unwrap()["start"].as_f64().unwrap();
    assert!((total * 8e-6 / last / 1600.0 - 1.0).abs() < 0.2, "{last}");
    let again = run(TEN_LINES);
    assert_eq!(again, statistics);
}

#[test]
fn words_that_a_controller_does_not_have_are_refused_with_their_line() {
    let cases = [
        (
            "kind = \"ecmpp\"",
            "line 8: 'ecmpp': it is one of learning, shortest-path, ecmp, rules",
        ),
        (
            "kind = \"ecmp\"\nversion = \"1.0\"",
            "line 8: 'ecmp': it needs OpenFlow 1.3 or later",
        ),
        (
            "kind = \"ecmp\"\nflows = [\"\"]",
            "line 6: controller: one of kind ecmp has no flows",
        ),
        (
            "kind = \"learning\"\nfile = \"a\"",
            "line 6: controller: one of kind learning has no file",
        ),
        (
            "kind = \"rules\"\naddress = \"a\"",
            "line 6: controller: one of kind rules has no address",
        ),
        ("kind = \"ecmp\"\nhash = 1", "line 9: unknown field `hash`"),
    ];
    for (keys, wanted) in cases {
        let text = format!("{FABRIC}[[controller]]\nname = \"c\"\n{keys}\n");
        let error = Scenario::build(&text, None, &mut NoOutside).err().unwrap();
        assert!(error.to_string().starts_with(wanted), "{keys}: {error}");
    }
}
