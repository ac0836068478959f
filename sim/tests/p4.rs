//! Switches with P4 programs in a network: what they forward, count and explain, and the errors of
//! wrong scenarios.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use bofuss_embed::EmbedError;
use bofuss_sim::controller::Controller;
use bofuss_sim::scenario::{ControllerRow, Outside, Scenario, ScenarioError};
use bofuss_sim::{EventKind, EventLog, LogEvent, Observer};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/p4/network");

/// The files of the example, and some that are wrong.
struct Files;

impl Outside for Files {
    fn read(&mut self, name: &str) -> Result<String, ScenarioError> {
        match name {
            "wrong.json" => Ok("{\"program\": 1}".into()),
            "wrong-entries.json" => Ok("{\"table_entries\": [{\"table\": \"t\"}]}".into()),
            name => {
                let text = fs::read_to_string(Path::new(FOLDER).join(name));
                text.map_err(|_| "no such file".into())
            }
        }
    }

    fn controller(&mut self, _: &ControllerRow) -> Result<Box<dyn Controller>, ScenarioError> {
        Err("there is none".into())
    }
}

/// The events of a run, and the trace of the first frame that arrives over a link.
struct Watcher {
    log: EventLog,
    lines: String,
    link: bofuss_sim::LinkId,
    trace: Option<String>,
}

impl Observer for Watcher {
    fn event(&mut self, event: &LogEvent<'_>) {
        self.lines += &self.log.line(event);
    }

    fn wants_trace(&mut self, event: &LogEvent<'_>) -> bool {
        let is_meant = matches!(event.kind, EventKind::Arrived(direction, _)
            if direction.link == self.link);
        is_meant && self.trace.is_none()
    }

    fn trace(&mut self, _: u64, trace: Result<String, EmbedError>) {
        self.trace = Some(trace.unwrap());
    }
}

/// Runs a scenario to its end. Returns its statistics, its events, and the trace of the first frame
/// over the link from `s1` to `r1`.
fn run(text: &str) -> (String, String, String) {
    let mut scenario = Scenario::build(text, None, &mut Files).unwrap();
    let names = scenario.names().clone();
    let catalogue = scenario.catalogue().clone();
    let mut watcher = Watcher {
        log: EventLog::new(scenario.network(), &names, catalogue),
        lines: String::new(),
        link: names.link("s1-r1").unwrap(),
        trace: None,
    };
    let end = scenario.end();
    scenario.run_until(end, &mut watcher).unwrap();
    let statistics = scenario.statistics();
    assert_eq!(scenario.failures(&statistics), []);
    let trace = watcher.trace.unwrap();
    (statistics.to_string(), watcher.lines, trace)
}

fn refusal(rows: &str) -> String {
    let text = format!(
        "end = 1.0\n{rows}\n[[host]]\nname = \"h1\"\nswitch = \"r1\"\n\
         [[switch]]\nname = \"s1\"\n"
    );
    match Scenario::build(&text, None, &mut Files) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn a_router_and_a_firewall_run_beside_an_openflow_switch() {
    let text = Files.read("network.toml").unwrap();
    let (statistics, events, trace) = run(&text);
    assert!(
        trace.contains("table RouterIngress.routes: hdr.ipv4.dst=0xa000202 hits entry 1"),
        "{trace}"
    );
    assert!(trace.contains("leave at port 2"), "{trace}");
    let again = run(&text);
    assert!(again == (statistics, events, trace), "equal runs are equal");
}

#[test]
fn what_is_wrong_with_a_p4_switch_is_named_with_its_line() {
    let right = "p4 = \"../router/router.json\"\nentries = \"../router/entries.json\"";
    let r1 = |keys: &str| format!("[[switch]]\nname = \"r1\"\n{keys}\n");
    assert_eq!(refusal(&r1(right)), "");
    for (rows, wanted) in [
        (
            r1("p4 = \"none.json\""),
            "line 4: switch r1: p4: none.json: no such file",
        ),
        (
            r1("p4 = \"wrong.json\""),
            "line 4: switch r1: p4: wrong.json: /: has no __meta__",
        ),
        (
            r1("p4 = \"../router/router.json\"\nentries = \"wrong-entries.json\""),
            "line 5: switch r1: entries: wrong-entries.json: /table_entries/0/table: the program \
             has no such table",
        ),
        (
            r1("entries = \"../router/entries.json\""),
            "line 4: switch r1: entries: it has no p4",
        ),
        (
            r1("queues = true"),
            "line 4: switch r1: queues: it has no p4",
        ),
        (
            r1(&format!("{right}\ntables = 3")),
            "line 4: switch r1: tables is for OpenFlow, and it has a P4 program",
        ),
        (
            r1(&format!("{right}\nflows = [\"actions=normal\"]")),
            "line 6: switch r1: flows: it has a P4 program",
        ),
        (
            r1(right) + "[[controller]]\nname = \"c\"\nkind = \"learning\"\nswitches = [\"r1\"]",
            "line 9: 'r1': it has a P4 program, and no controller of OpenFlow",
        ),
        (
            r1(right) + "[[link]]\nends = [\"s1\", \"r1:511\"]",
            "port 511 has a link already, or its node cannot have it",
        ),
        (
            r1(right) + "[defaults.switch]\np4 = \"x\"",
            "line 7: defaults.switch: name, dpid, flows, p4, entries and queues are of a \
             [[switch]] only",
        ),
    ] {
        let refused = refusal(&rows);
        assert!(refused.contains(wanted), "{rows}: {refused}");
    }
}

#[test]
fn packets_wait_in_a_switch_with_queues_while_a_link_is_busy() {
    for queues in [true, false] {
        let text = format!(
            "end = 5.0\nknown_addresses = true\n\
             [[switch]]\nname = \"r1\"\np4 = \"../router/router.json\"\n\
             entries = \"../router/entries.json\"\nqueues = {queues}\n\
             [[host]]\nname = \"h1\"\nip = \"10.0.1.1/8\"\n\
             [[host]]\nname = \"h2\"\nip = \"10.0.2.2/8\"\n\
             [[link]]\nends = [\"h1\", \"r1:1\"]\n\
             [[link]]\nends = [\"r1:2\", \"h2\"]\nmbps = 1.0\n\
             [[traffic]]\nkind = \"udp\"\nfrom = \"h1\"\nto = \"h2\"\nstart = 0.5\npps = 10000\n\
             count = 300\nsize = 100\n\
             [[assert]]\nstatistic = \"traffic.1.received\"\nis = 300\n"
        );
        let mut scenario = Scenario::build(&text, None, &mut Files).unwrap();
        let end = scenario.end();
        scenario.run_until(end, &mut ()).unwrap();
        let statistics = scenario.statistics();
        let failures = scenario.failures(&statistics);
        // Without queues, the link's own has no room for all.
        assert_eq!(failures.is_empty(), queues, "{failures:?}");
    }
}

#[test]
fn a_controller_of_all_switches_has_those_of_openflow() {
    let text = "end = 1.0\n[[switch]]\nname = \"s1\"\n\
        [[switch]]\nname = \"r1\"\np4 = \"../router/router.json\"\n\
        [[link]]\nends = [\"s1\", \"r1\"]\n\
        [[controller]]\nname = \"c\"\nkind = \"learning\"\n";
    let mut scenario = Scenario::build(text, None, &mut Files).unwrap();
    let end = scenario.end();
    scenario.run_until(end, &mut ()).unwrap();
    let statistics = scenario.statistics();
    assert!(statistics["switches"]["r1"]["counters"].is_object());
    assert!(statistics["switches"]["s1"]["tables"]["0"].is_object());
}
