//! Tests what a scenario is refused for and warned of, and what its seed decides.
#![allow(clippy::unwrap_used)]

use bofuss_sim::scenario::{NoOutside, Scenario};
use serde_json::Value;

/// Two hosts at two switches.
const LINE: &str = "end = 10.0\n\
    topology = { shape = \"line\", switches = 2, hosts = 1 }\n";

/// Why a scenario is refused.
fn refusal(text: &str) -> String {
    match Scenario::build(text, None, &mut NoOutside) {
        Ok(_) => String::new(),
        Err(error) => error.to_string(),
    }
}

/// The statistics at the end of a scenario.
fn run(text: &str, seed: u64) -> Value {
    let mut scenario = Scenario::build(text, Some(seed), &mut NoOutside).unwrap();
    scenario.run_until(scenario.end(), &mut ()).unwrap();
    scenario.statistics()
}

#[test]
fn times_and_numbers_that_cannot_be_meant_are_refused_with_their_lines() {
    let ping = "[[traffic]]\nkind = \"ping\"\nfrom = \"h1\"\nto = \"h2\"\n";
    for (more, wanted) in [
        ("[defaults.link]\nmbps = 0\n", "line 4: mbps: 0 is no rate"),
        (
            "[defaults.link]\nmbps = 1e-9\n",
            "mbps: 0.000000001 is no rate",
        ),
        (
            "[[link]]\nends = [\"s1\", \"s2\"]\nmbps = -1\n",
            "line 5: mbps: -1 is no rate",
        ),
        (
            "[[link]]\nends = [\"s1\", \"s2\"]\nloss = 1.5\n",
            "loss is 0 to 1",
        ),
        (
            "[[link]]\nends = [\"s1\", \"s2\"]\nbursts = { begin = 0.1, end = 0.0 }\n",
            "bursts have shares",
        ),
        (
            &format!("{ping}start = 11"),
            "line 3: traffic: start 11 is after the end, 10",
        ),
        (
            &format!("{ping}start = 2\nstop = 1"),
            "line 3: traffic: stop 1 is not after start 2",
        ),
        (
            &format!("{ping}count = 0"),
            "line 3: traffic: count is at least 1",
        ),
        (
            "[[controller]]\nname = \"c0\"\nkind = \"learning\"\nstart = 12",
            "line 3: controller: start 12 is after the end, 10",
        ),
        (
            "[[change]]\nat = 10.5\nlink = \"s1-s2\"\nstate = \"down\"",
            "line 3: change: at 10.5 is after the end, 10",
        ),
        (
            "[[assert]]\nstatistic = \"events\"\n",
            "line 3: assert: it needs is, min or max",
        ),
        (
            "[[assert]]\nstatistic = \"events\"\nmin = 2\nmax = 1",
            "line 3: assert: min 2 is above max 1",
        ),
    ] {
        let said = refusal(&format!("{LINE}{more}"));
        assert!(said.contains(wanted), "{more}\nsays {said:?}");
    }
    for (first, wanted) in [
        ("pool_bytes = 0\n", "line 1: pool_bytes: at least 1048576"),
        (
            "max_events = 0\n",
            "line 1: max_events: 0 events are no run",
        ),
    ] {
        let said = refusal(&format!("{first}{LINE}"));
        assert!(said.contains(wanted), "{first}\nsays {said:?}");
    }
    assert_eq!(refusal(&format!("{LINE}[defaults.link]\nmbps = inf\n")), "");
}

#[test]
fn hosts_or_switches_with_one_address_or_datapath_id_are_refused_with_both_lines() {
    let host = |name: &str, address: &str| format!("[[host]]\nname = \"{name}\"\n{address}\n");
    let switch = |name: &str| format!("[[switch]]\nname = \"{name}\"\ndpid = 7\n");
    for (more, wanted) in [
        (
            host("h1", "ip = \"10.0.0.2/8\""),
            "line 5: ip 10.0.0.2: h2 has it, too (by default)",
        ),
        (
            host("h2", "ip = \"10.9.0.2/8\"") + &host("h1", "ip = \"10.9.0.2/16\""),
            "line 5: ip 10.9.0.2: h1 has it, too (line 8)",
        ),
        (
            host("h2", "ip6 = \"fd00::1/64\""),
            "line 5: ip6 fd00::1: h1 has it, too (by default)",
        ),
        (
            host("h3", "switch = \"s1\"\nmac = \"02:00:00:00:00:01\""),
            "line 6: mac 02:00:00:00:00:01: h1 has it, too (by default)",
        ),
        (
            switch("s1") + &switch("s2"),
            "line 8: dpid 7: s1 has it, too (line 5)",
        ),
        (switch("s*"), "line 5: dpid 7: s1 has it, too (line 5)"),
        (
            "[[switch]]\nname = \"s2\"\ndpid = 1\n".into(),
            "line 5: dpid 1: s1 has it, too (by default)",
        ),
    ] {
        assert_eq!(refusal(&format!("{LINE}{more}")), wanted, "{more}");
    }
    let exchanged = host("h1", "ip = \"10.0.0.2/8\"") + &host("h2", "ip = \"10.0.0.1/8\"");
    assert_eq!(refusal(&format!("{LINE}{exchanged}")), "");
    let of_all = refusal(&format!("{LINE}[defaults.switch]\ndpid = 7\n"));
    assert!(
        of_all.contains("line 4: defaults.switch: name, dpid"),
        "{of_all}"
    );
}

/// A ring of switches that flood, by `how`.
fn ring(how: &str) -> String {
    format!(
        "end = 10.0\n{how}\
         [topology]\nshape = \"ring\"\nswitches = 3\nhosts = 1\n\
         [[traffic]]\nkind = \"ping\"\nfrom = \"h1\"\nto = \"h2\"\n"
    )
}

#[test]
fn a_loop_that_nothing_breaks_is_said_and_bounded() {
    let learning = "[[controller]]\nname = \"c0\"\nkind = \"learning\"\n";
    for how in [learning, "[defaults.switch]\nfail_mode = \"standalone\"\n"] {
        let mut scenario = Scenario::build(&ring(how), None, &mut NoOutside).unwrap();
        let [warning] = scenario.warnings() else {
            panic!("{how}: {:?}", scenario.warnings());
        };
        assert!(warning.contains("closes a loop"), "{warning}");
        assert!(warning.contains("ends after 10000000 events"), "{warning}");
        let own = format!("max_events = 50000\n{}", ring(how));
        scenario = Scenario::build(&own, None, &mut NoOutside).unwrap();
        assert!(!scenario.warnings()[0].contains("ends after"));
        let end = scenario.end();
        let ran = scenario.run_until(end, &mut ());
        assert!(ran.unwrap_err().to_string().contains("max_events"));
        assert!(scenario.statistics()["events"].as_u64().unwrap() >= 50_000);
    }
}

#[test]
fn a_loop_that_something_breaks_is_no_warning() {
    let broken = "[[change]]\nat = 0\nlink = \"s1-s2\"\nstate = \"down\"\n\
        [[controller]]\nname = \"c0\"\nkind = \"learning\"\n";
    for how in [broken, "[defaults.switch]\nfail_mode = \"arp-path\"\n", ""] {
        let scenario = Scenario::build(&ring(how), None, &mut NoOutside).unwrap();
        assert_eq!(scenario.warnings(), [""; 0], "{how}");
    }
    let line = format!("{LINE}controller = [{{ name = \"c0\", kind = \"learning\" }}]\n");
    let scenario = Scenario::build(&line, None, &mut NoOutside).unwrap();
    assert_eq!(scenario.warnings(), [""; 0]);
}

/// How many bytes each spine forwards, with ARP-Path on equal links.
fn spines(more: &str, seed: u64) -> Vec<u64> {
    let mut text = format!(
        "end = 3.0\n{more}\
         topology = {{ shape = \"spine-leaf\", spines = 4, leaves = 4, hosts = 4 }}\n\
         [defaults.switch]\nfail_mode = \"arp-path\"\n"
    );
    for host in 1..=8 {
        text += &format!(
            "[[traffic]]\nkind = \"ping\"\nfrom = \"h{host}\"\nto = \"h{}\"\nstart = {}\n\
             interval = 0.01\n",
            host + 8,
            f64::from(host) * 0.1,
        );
    }
    let statistics = run(&text, seed);
    let bytes = |name: String| {
        let links = statistics["links"].as_object().unwrap();
        let of_spine = links.iter().filter(|(link, _)| link.contains(&name));
        let counts = of_spine.flat_map(|(_, link)| link.as_object().unwrap().values());
        counts.filter_map(|way| way["bytes"].as_u64()).sum()
    };
    (1..=4)
        .map(|spine| bytes(format!("spine{spine}")))
        .collect()
}

#[test]
fn random_ties_spread_the_paths_of_arp_path_by_the_seed() {
    let in_order = spines("", 1);
    let used = |bytes: &[u64]| bytes.iter().filter(|one| **one > 40_000).count();
    assert_eq!(used(&in_order), 1, "{in_order:?}");
    let spread = spines("ties = \"random\"\n", 1);
    assert!(used(&spread) >= 3, "{spread:?}");
    assert_eq!(spread, spines("ties = \"random\"\n", 1));
    assert_ne!(spread, spines("ties = \"random\"\n", 2));
}

#[test]
fn jitter_and_bursts_of_a_scenario_are_those_of_its_links() {
    let text = format!(
        "{LINE}known_addresses = true\n\
         [defaults.switch]\nfail_mode = \"standalone\"\n\
         [[link]]\nends = [\"s1\", \"s2\"]\njitter_us = 500\n\
         bursts = {{ begin = 0.05, end = 0.5 }}\n\
         [[traffic]]\nkind = \"ping\"\nfrom = \"h1\"\nto = \"h2\"\ninterval = 0.01\n"
    );
    let text = text.replace("known_addresses = true\n", "");
    let ping = &run(&format!("known_addresses = true\n{text}"), 1)["traffic"][0];
    let [sent, received] = ["sent", "received"].map(|key| ping[key].as_f64().unwrap());
    assert!((0.7..0.95).contains(&(received / sent)), "{ping}");
    let rtt = |key: &str| ping["rtt"][key].as_f64().unwrap();
    assert!(rtt("max_ms") - rtt("min_ms") > 0.5, "{}", ping["rtt"]);
}
