//! Scenarios: what their texts mean, the errors of wrong ones, and that runs are deterministic.
#![allow(clippy::unwrap_used)]

use bofuss_sim::controller::Controller;
use bofuss_sim::scenario::{ControllerRow, Outside, Scenario, ScenarioError};
use bofuss_sim::{EventLog, LogEvent, Observer, summary};

/// Has one file, and no controllers.
struct OneFile;

impl Outside for OneFile {
    fn read(&mut self, name: &str) -> Result<String, ScenarioError> {
        match name {
            "two.gml" => Ok(
                "graph [ node [ id 0 label \"Oslo\" ] node [ id 1 label \"Bergen\" ] \
                             edge [ source 0 target 1 LinkSpeedRaw 100000000 ] ]"
                    .into(),
            ),
            "many.gml" => {
                let nodes: Vec<String> = (0..500).map(|id| format!("node [ id {id} ]")).collect();
                Ok(format!("graph [ {} ]", nodes.join(" ")))
            }
            _ => Err("no such file".into()),
        }
    }

    fn controller(&mut self, _: &ControllerRow) -> Result<Box<dyn Controller>, ScenarioError> {
        Err("it is one of learning, rules".into())
    }
}

/// The event log as text.
struct Lines(EventLog, String);

impl Observer for Lines {
    fn event(&mut self, event: &LogEvent<'_>) {
        self.1 += &self.0.line(event);
    }
}

fn build(text: &str) -> Scenario {
    Scenario::build(text, None, &mut OneFile).unwrap()
}

/// Runs a scenario; returns its log, and its statistics as text.
fn run(text: &str) -> (String, String) {
    let mut scenario = build(text);
    let names = scenario.names().clone();
    let catalogue = scenario.catalogue().clone();
    let mut lines = Lines(
        EventLog::new(scenario.network(), &names, catalogue),
        String::new(),
    );
    scenario.run_until(scenario.end(), &mut lines).unwrap();
    let statistics = scenario.statistics();
    let failures = scenario.failures(&statistics);
    assert_eq!(failures, [], "{}", summary(&statistics));
    (lines.1, statistics.to_string())
}

/// A number of a scenario's statistics.
fn number(text: &str, path: &str) -> u64 {
    let document: serde_json::Value = serde_json::from_str(text).unwrap();
    let value = path
        .split('.')
        .fold(&document, |value, key| match key.parse::<usize>() {
            Ok(place) if value.is_array() => &value[place],
            _ => &value[key],
        });
    value.as_u64().unwrap_or_else(|| panic!("{path} in {text}"))
}

const LINE: &str = r#"
end = 10.0
[topology]
shape = "line"
switches = 2
hosts = 1
[[controller]]
name = "c0"
kind = "learning"
delay_us = 100
[[traffic]]
kind = "ping"
from = "h1"
to = "h2"
start = 0.5
count = 8
"#;

#[test]
fn a_link_that_fails_loses_what_is_sent_until_it_returns() {
    let failing = LINE.to_string()
        + r#"
[[change]]
at = 3.0
link = "s1-s2"
state = "down"
[[change]]
at = 4.0
link = "s1-s2"
state = "up"
[[assert]]
statistic = "traffic.1.received"
is = 7
[[assert]]
statistic = "switches.s1.drops.link_down"
is = 1
"#;
    let (log, _) = run(&failing);
    assert!(
        log.contains(r#""event":"link","link":"s1-s2","n":"#),
        "{log}"
    );
}

#[test]
fn a_silent_link_loses_frames_and_no_end_sees_it() {
    let failing = LINE.to_string()
        + r#"
[[change]]
at = 3.0
link = "s1-s2"
state = "silent"
[[assert]]
statistic = "traffic.1.received"
is = 3
[[assert]]
statistic = "links.s1-s2.forth.down"
is = 5
[[assert]]
statistic = "switches.*.drops.link_down"
is = 0
"#;
    run(&failing);
}

#[test]
fn rows_change_what_a_topology_made() {
    let text = r#"
end = 4.0
known_addresses = true
[topology]
gml = "two.gml"
hosts = 1
[defaults.switch]
fail_mode = "standalone"
[defaults.link]
delay_us = 5
[[switch]]
name = "B*"
fail_mode = "secure"
flows = ["priority=1,in_port=1,actions=output:2", "priority=1,in_port=2,actions=output:1"]
[[host]]
name = "h2"
ip = "10.1.1.1/8"
mac = "02:00:00:00:11:11"
[[host]]
name = "third"
switch = "Oslo"
[[link]]
ends = ["h*", "*"]
mbps = 10
[[traffic]]
kind = "ping"
from = "h1"
to = "h2"
count = 2
[[traffic]]
kind = "ping"
from = "third"
to = "h1"
count = 2
[[assert]]
statistic = "traffic.*.received"
is = 2
"#;
    let (_, statistics) = run(text);
    assert_eq!(number(&statistics, "switches.Bergen.tables.0.entries"), 2);
    assert_eq!(number(&statistics, "switches.Oslo.tables.0.entries"), 1);
}

#[test]
fn a_controller_with_rules_sends_them_to_each_of_its_switches() {
    let text = LINE.replace(
        "kind = \"learning\"",
        "kind = \"rules\"\nflows = [\"group_id=1,type=all,bucket=output:1,bucket=output:2\", \
         \"in_port=1,actions=output:2\", \"in_port=2,actions=output:1\"]",
    );
    run(&(text + "[[assert]]\nstatistic = \"traffic.1.received\"\nis = 8\n"));
}

#[test]
fn what_is_wrong_is_reported_with_its_line() {
    let line = LINE.trim_start();
    let cases = [
        ("end = -1", "line 1: end is out of range"),
        ("end = 1\nends = 2", "line 2: unknown field `ends`"),
        (
            "end = 1\n[topology]\nshape = \"ring\"\nswitches = 2\nhosts = 1",
            "line 2: topology: a ring has at least 3",
        ),
        (
            "end = 1\n[topology]\nshape = \"oval\"",
            "line 2: topology: unknown variant `oval`",
        ),
        (
            "end = 1\n[topology]\nshape = 7",
            "line 3: topology: shape: 7 is not allowed",
        ),
        (
            "end = 1\n[topology]\nhosts = 1\ngml = []",
            "line 4: topology: gml: [] is not allowed",
        ),
        (
            "end = 1\n[topology]\nswitches = 2",
            "line 2: topology: missing field `shape`",
        ),
        (
            "end = 1\n[topology]\nshape = \"line\"\nhosts = 1\nswitches = \"two\"",
            "line 5: topology: switches: \"two\" is not allowed",
        ),
        (
            "end = 1\n[topology]\nshape = \"line\"\nswitches = 2\nhosts = -1",
            "line 5: topology: hosts: -1 is not allowed",
        ),
        (
            "end = 1\n[topology]\ngml = \"three.gml\"\nhosts = 1.5",
            "line 4: topology: hosts: 1.5 is not allowed",
        ),
        (
            "end = 1\n[topology]\nshape = \"line\"\nswitches = 2",
            "line 2: topology: missing field `hosts`",
        ),
        (
            "end = 1\n[topology]\nshape = \"line\"\nswitches = 2\nhosts = 1\nrows = 2",
            "line 2: topology: unknown field `rows`",
        ),
        (
            "end = 1\n[topology]\ngml = \"three.gml\"",
            "line 2: topology: three.gml: no such file",
        ),
        (
            "end = 1\n[topology]\ngml = \"many.gml\"\nhosts = 1000",
            "line 2: topology: hosts: more than 200000 in all",
        ),
        (
            "end = 1\n[[link]]\nends = [\"s1\", \"s2\"]",
            "line 3: ends: 's1' is neither a switch nor a host",
        ),
        (
            "end = 1\n[[link]]\nends = [\"s1\", \"s2\"]\nname = \"../x\"",
            "line 4: '../x': a name has no /, <, & and control characters",
        ),
        (
            "end = 1\n[[switch]]\nname = \"a\"\n[[controller]]\nname = \"<c\"\nkind = \"x\"",
            "line 5: '<c': a name has no /",
        ),
        (
            "end = 1\n[[switch]]\nname = \"a.b\"",
            "line 3: 'a.b': there is no such node, and a name has",
        ),
        (
            "end = 1\n[[switch]]\nname = \"a\"\nflows = [\n\"actions=output:x\"]",
            "line 5: ",
        ),
        (
            "end = 1\n[[switch]]\nname = \"a\"\nflows = [\n\"actions=group:7\"]",
            "line 5: BAD_ACTION/BAD_OUT_GROUP",
        ),
        (
            "end = 1\n[[switch]]\nname = \"a\"\nfail_mode = \"lax\"",
            "line 4: 'lax': it is one of secure, standalone, arp-path",
        ),
        (
            "end = 1\n[[host]]\nname = \"a\"\nip = \"10.0.0.1\"",
            "line 4: '10.0.0.1': no IPv4 address",
        ),
        (
            "end = 1\n[[host]]\nname = \"a\"\n[[host]]\nname = \"a\"",
            "line 5: 'a': there are two",
        ),
        (
            "end = 1\n[[controller]]\nname = \"c\"\nkind = \"tcp\"",
            "line 3: 'c': there is no switch for it",
        ),
        (
            "end = 1\n[[switch]]\nname = \"a\"\n[[controller]]\nname = \"c\"\nkind = \"x\"",
            "line 6: 'x': it is one of",
        ),
        (
            "end = 1\n[[change]]\nat = 1\nlink = \"a\"\nstate = \"down\"",
            "line 4: 'a': there is no such link",
        ),
        (
            "end = 1\n[defaults.link]\njitter_us = -1",
            "line 2: jitter_us is out of range",
        ),
        (
            "end = 1\n[defaults.link]\nloss = nan",
            "line 2: a link's loss is 0 to 1",
        ),
        (
            "end = 1\n[defaults.link]\noverhead = 65536",
            "line 2: a link's overhead is at most 65535",
        ),
        (
            "end = 1\n[defaults.link]\nbursts = { begin = 2, end = 1 }",
            "line 2: a link's bursts have shares of 0 to 1",
        ),
        (
            "end = 1\ndefaults.link.loss = 2",
            "line 2: a link's loss is 0 to 1",
        ),
        (
            "end = 1\n[defaults]\nmtu = 1279\n[[host]]\nname = \"a\"",
            "line 3: mtu: at least 1280",
        ),
        (
            "end = 1\n[[host]]\nname = \"a\"\nmac = \"01:00:00:00:00:01\"",
            "line 4: '01:00:00:00:00:01': no Ethernet address of one host",
        ),
        (
            "end = 1\n[[traffic]]\nkind = \"tcp\"\nfrom = \"a\"\nto = \"b\"\nsize = 0",
            "line 2: traffic: size is at least 1",
        ),
        (
            "end = 1\n[[change]]\nat = 1\nlink = \"a\"\nswitch = \"b\"\nstate = \"up\"",
            "line 2: change: it needs one of link, controller, perhaps with switch, and host",
        ),
        (
            "end = 1\n[[traffic]]\nkind = \"ping\"\nfrom = \"a\"\nto = \"b\"",
            "line 2: traffic: ",
        ),
        (
            "end = 1\n[[switch]]\nname = \"a\"\n[[link]]\nends = [\"a:1\", \"a:2\", \"b\"]",
            "line 5: ends: a link has 2, and not 3",
        ),
        (
            "end = 1\nhost = [{ name = 'a' }, { name = 'b' }]\nlink = [{ ends = ['a:2', 'b'] }]",
            "line 3: ends: a is a host, which has one link, at port 1",
        ),
        (
            "end = 1\n[[switch]]\nname = \"a\"\ndpid = 0",
            "line 4: switch a: dpid: it is at least 1",
        ),
        (
            "end = 1\n[[switch]]\nname = \"a\"\ndpid = 2\n[[switch]]\nname = \"b\"",
            "line 4: dpid 2: b has it, too (by default)",
        ),
        (
            "end = 1\n[[switch]]\nname = \"a\"\ntables = 0",
            "line 4: switch a: 0 tables",
        ),
        (
            "end = 1\n[defaults.switch]\ndpid = 1",
            "line 3: defaults.switch: name, dpid, flows",
        ),
    ];
    for (text, wanted) in cases {
        let error = Scenario::build(text, None, &mut OneFile).err().unwrap();
        assert!(error.to_string().contains(wanted), "{text}\n{error}");
    }
    let taken = line.to_string()
        + "[[link]]\nends = [\"s1:1\", \"s2:9\"]\n[[link]]\nends = [\"s1:1\", \"s2:8\"]\n";
    let error = Scenario::build(&taken, None, &mut OneFile).err().unwrap();
    assert!(
        error.to_string().contains("ends: port 1 of s1 has a link"),
        "{error}"
    );
}

#[test]
fn a_storm_ends_the_run_with_an_error() {
    let text = r#"
end = 100.0
max_events = 50000
[topology]
shape = "ring"
switches = 3
hosts = 1
[defaults.switch]
fail_mode = "standalone"
[[traffic]]
kind = "ping"
from = "h1"
to = "h2"
count = 1
"#;
    let mut scenario = build(text);
    let error = scenario.run_until(scenario.end(), &mut ()).err().unwrap();
    assert!(error.to_string().contains("max_events"), "{error}");
}

/// A random tree with a learning controller, loss, a failure, and traffic of all kinds.
fn large(seed: u64) -> String {
    format!(
        r#"
seed = {seed}
end = 2.0
known_addresses = true
[topology]
shape = "random"
switches = 12
links = 11
hosts = 3
seed = 5
[defaults.link]
mbps = 20
loss = 0.002
queue = 20
[[controller]]
name = "c0"
kind = "learning"
delay_us = 250
[[traffic]]
kind = "udp"
from = "h*"
to = "h*"
flows = 200
pps = 3000
size = 400
arrivals = "poisson"
[[traffic]]
kind = "tcp"
from = "h1*"
to = "h2*"
flows = 8
size = 60000
[[traffic]]
kind = "ping"
from = "h3*"
to = "h*"
interval = 0.05
[[change]]
at = 0.7
link = "s1-s2"
state = "down"
[[change]]
at = 1.1
link = "s1-s2"
state = "up"
"#
    )
}

#[test]
fn runs_of_a_large_scenario_are_byte_identical_whatever_memory_they_get() {
    let text = large(9);
    let (first, first_statistics) = run(&text);
    assert!(first.lines().count() > 15_000, "{}", first.lines().count());
    // Another thread has another stack; blocks of other sizes move all that is allocated later.
    let again = std::thread::spawn(move || {
        let blocks: Vec<Vec<u8>> = (1..4000).map(|size| vec![0; size * 7 % 3001]).collect();
        let holes: Vec<Vec<u8>> = blocks.into_iter().step_by(3).collect();
        let ran = run(&text);
        drop(holes);
        ran
    });
    let (second, second_statistics) = again.join().unwrap();
    assert!(first == second, "the logs differ");
    assert_eq!(first_statistics, second_statistics);
    let (other, _) = run(&large(10));
    assert!(first != other, "another seed gives another run");
}
