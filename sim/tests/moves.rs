//! Hosts that move to another switch: their flows go on, and rows that make no sense are refused.
#![allow(clippy::unwrap_used)]

use bofuss_sim::scenario::{NoOutside, Scenario};
use bofuss_sim::summary;
use serde_json::Value;

const EXAMPLE: &str = include_str!("../../testdata/sim/moving_host.toml");

/// Hosts 1 to 4 at switches 1 to 4 of a ring, or of a line if `is_line`. Host 1 moves from switch 1
/// to switch 3 after 3.5 s. Host 2 pings it each second, and it may ping host 2, too.
fn moving(is_line: bool, switches: &str, announce: bool) -> String {
    let shape = if is_line { "line" } else { "ring" };
    format!(
        "end = 70\n{switches}\n[topology]\nshape = \"{shape}\"\nswitches = 4\nhosts = 1\n\
         [[traffic]]\nkind = \"ping\"\nfrom = \"h2\"\nto = \"h1\"\ncount = 69\n\
         [[change]]\nat = 3.5\nhost = \"h1\"\nto = \"s3\"\nannounce = {announce}\n"
    )
}

/// Lets host 1 ping host 2.
const SPEAKS: &str = "[[traffic]]\nkind = \"ping\"\nfrom = \"h1\"\nto = \"h2\"\ncount = 69\n";
const NORMAL: &str = "defaults.switch.fail_mode = \"standalone\"";
const ARP_PATH: &str = "defaults.switch.fail_mode = \"arp-path\"";

fn controller(kind: &str) -> String {
    format!("controller = [{{ name = \"c0\", kind = \"{kind}\", delay_us = 100 }}]")
}

fn run(text: &str) -> Value {
    let mut scenario = Scenario::build(text, None, &mut NoOutside).unwrap();
    scenario.run_until(scenario.end(), &mut ()).unwrap();
    let statistics = scenario.statistics();
    let failures = scenario.failures(&statistics);
    assert_eq!(failures, [], "{}", summary(&statistics));
    statistics
}

/// How many of the pings of a row of traffic, from 0, came back.
fn received(statistics: &Value, row: usize) -> u64 {
    statistics["traffic"][row]["received"].as_u64().unwrap()
}

#[test]
fn a_download_goes_on_at_the_other_switch() {
    let statistics = run(EXAMPLE);
    assert_eq!(statistics["links"]["h1-s3"]["back"]["down"], 0);
    let without = EXAMPLE.replace("host = \"h1\"", "link = \"s1-h1\"");
    let without = without.replace("to = \"s3\"\nannounce = true", "state = \"down\"");
    let (head, _) = without.split_once("[[assert]]").unwrap();
    let statistics = run(head);
    assert_eq!(
        statistics["traffic"][0]["completed"], 0,
        "it needs the move"
    );
}

#[test]
fn a_host_that_speaks_or_announces_itself_is_found_at_once() {
    let learning = controller("learning");
    for (is_line, switches) in [
        (true, NORMAL),
        (true, &learning),
        (false, ARP_PATH),
        (false, &controller("shortest-path")),
        (false, &controller("ecmp")),
    ] {
        let speaks = run(&(moving(is_line, switches, false) + SPEAKS));
        // One ping of each may be lost until the next one of host 1 has shown where it is.
        let (to_it, of_it) = (received(&speaks, 0), received(&speaks, 1));
        assert!(to_it >= 68 && of_it >= 68, "{switches}: {to_it}, {of_it}");
        let announces = received(&run(&moving(is_line, switches, true)), 0);
        assert_eq!(announces, 69, "{switches}");
    }
}

#[test]
fn a_silent_host_is_found_when_its_peer_asks_again() {
    for switches in [NORMAL, &controller("learning")] {
        let found = received(&run(&moving(true, switches, false)), 0);
        // An ARP entry is valid for a minute; the question is flooded, and the answer learnt.
        assert!((10..=14).contains(&found), "{switches}: {found}");
    }
}

#[test]
fn a_host_can_return_to_its_first_port() {
    let back = "[[change]]\nat = 5.5\nhost = \"h1\"\nto = \"s1\"\nannounce = true\n\
                [[assert]]\nstatistic = \"links.h1-s3.forth.frames\"\nis = 4\n";
    let statistics = run(&(moving(true, NORMAL, true) + back));
    assert_eq!(received(&statistics, 0), 69);
    let links = statistics["links"].as_object().unwrap();
    assert_eq!(links.len(), 3 + 4 + 1, "one link more");
}

#[test]
fn moves_that_make_no_sense_are_refused_with_their_lines() {
    let base = moving(true, NORMAL, false);
    let line = base.lines().count() + 1;
    let row = |at: &str, rest: &str| format!("[[change]]\nat = {at}\n{rest}\n");
    for (rows, offset, wanted) in [
        (
            row("5", "host = \"h9\"\nto = \"s2\""),
            2,
            "'h9': there is no such host",
        ),
        (
            row("5", "host = \"s1\"\nto = \"s2\""),
            2,
            "'s1': there is no such host",
        ),
        (
            row("5", "host = \"h2\"\nto = \"s9\""),
            3,
            "'s9': there is no such switch",
        ),
        (
            row("5", "host = \"h2\"\nto = \"h1\""),
            3,
            "'h1': there is no such switch",
        ),
        (
            row("5", "host = \"h2\"\nto = \"s3:0\""),
            3,
            "to: 's3:0': a port is 1",
        ),
        (row("5", "host = \"h2\""), 0, "to is missing"),
        (
            row("5", "host = \"h2\"\nto = \"s3\"\nstate = \"up\""),
            0,
            "no state",
        ),
        (
            row("71", "host = \"h2\"\nto = \"s3\""),
            0,
            "71 is after the end, 70",
        ),
        (
            row("3.5", "host = \"h1\"\nto = \"s2\""),
            0,
            "moves twice at this time",
        ),
        (
            row("5", "host = \"h1\"\nto = \"s3\""),
            0,
            "at this port already",
        ),
        (
            row("1", "host = \"h1\"\nto = \"s1\""),
            0,
            "at this port already",
        ),
        (
            row("5", "link = \"s1-h1\"\nto = \"s3\"\nstate = \"up\""),
            0,
            "only a host has to",
        ),
        (row("5", "link = \"s1-h1\""), 0, "state is missing"),
        (
            row("5", "state = \"up\""),
            0,
            "it needs one of link, controller",
        ),
        (
            row("5", "host = \"h2\"\nto = \"s3:7\"") + &row("5", "host = \"h4\"\nto = \"s3:7\""),
            7,
            "port 7 of s3 has a link",
        ),
    ] {
        let error = Scenario::build(&(base.clone() + &rows), None, &mut NoOutside);
        let error = error.err().expect(&rows).to_string();
        assert!(error.contains(wanted), "{rows}{error}");
        assert!(
            error.starts_with(&format!("line {}:", line + offset)),
            "{rows}{error}"
        );
    }
}
