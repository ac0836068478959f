//! Tests that the meter finds each fault of a lying switch, and says which rule it is about: a
//! table of truths.
#![allow(clippy::unwrap_used)]

use serde_json::Value;

use crate::liar::{Lie, lie};
use crate::plant::{Folder, LIAR, Plant, SWITCH, alone, first_measured_at, measured_at, metric};

/// A busy machine is tried so many times.
pub const TRIES: usize = 3;

/// The results of cases on a switch behind a liar, in a version.
pub fn found_of(fault: Lie, version: &str, arguments: &[&str]) -> Vec<Value> {
    let mut found = Vec::new();
    alone(|| {
        let _plant = Plant::new(&[]);
        lie(fault, LIAR, SWITCH);
        let folder = Folder::new();
        let spoken = ["--openflow", version];
        found = measured_at(LIAR, &folder, &[arguments, &spoken].concat());
    });
    found
}

/// The limit of the table of a switch behind a liar.
fn limit_of(fault: Lie, more: &[&str]) -> Value {
    let mut found = Value::Null;
    alone(|| {
        let _plant = Plant::new(&[]);
        lie(fault, LIAR, SWITCH);
        let case = ["table-size", "--openflow", "1.3"];
        found = first_measured_at(LIAR, &Folder::new(), &[&case[..], more].concat());
    });
    found
}

#[test]
fn a_single_rule_that_was_swallowed_is_found_and_named() {
    // The first entry is that of what no other matches.
    let limit = &limit_of(Lie::SwallowsOne(6), &[]);
    assert_eq!(limit["verdict"], "lies", "{limit}");
    assert_eq!(metric(limit, "rules"), 999.0, "{limit}");
    assert_eq!(metric(limit, "rules by table statistics"), 999.0);
    assert_eq!(metric(limit, "rules that act"), 998.0);
    let notes = limit["notes"].to_string();
    let named = "of 999 rules that were acknowledged, 1 do nothing: number 5 (";
    assert!(notes.contains(named), "{notes}");
}

#[test]
fn changes_that_are_acknowledged_and_not_made_are_found_by_packets() {
    // Each in one version; the long tier has all of them in each.
    for (fault, version, case, said) in [
        (
            Lie::SwallowsOne(5),
            "1.3",
            "fm-add",
            "1 do not forward: number 5 (",
        ),
        (
            Lie::SwallowsModifies,
            "1.0",
            "fm-mod",
            "50 do not forward: number 1 (",
        ),
        (
            Lie::SwallowsDeletes,
            "1.5",
            "fm-del",
            "50 still forward: number 1 (",
        ),
    ] {
        let found = found_of(fault, version, &[case]);
        assert_eq!(found[0]["verdict"], "lies", "{version}: {}", found[0]);
        let notes = found[0]["notes"].to_string();
        assert!(notes.contains(said), "{version} {case}: {notes}");
    }
}

#[test]
fn a_rate_that_the_meter_ended_is_said_to_be_a_bound() {
    let mut found = Vec::new();
    alone(|| {
        let _plant = Plant::new(&[]);
        let folder = Folder::new();
        let cases = ["pktin-rate", "pktout-rate", "action-delay"];
        found = measured_at(
            SWITCH,
            &folder,
            &[&cases[..], &["--max-rate", "2000"]].concat(),
        );
    });
    for (case, number) in [
        ("pktin-rate", "rate"),
        ("pktout-rate", "rate"),
        ("action-delay", "highest rate without loss"),
    ] {
        let mut of_case = found.iter().filter(|one| one["case"] == case);
        let is_knee = |one: &&Value| case != "action-delay" || one["point"]["kind"] == "knee";
        let result = of_case.find(is_knee).unwrap();
        let notes = result["notes"].to_string();
        assert!(notes.contains("\"at least"), "{case}: {result}");
        let rate = metric(result, number);
        // A busy machine holds a flood up, so that the bound is lower, or lets it arrive in a
        // shorter time than it was sent in, so that it is higher, and true.
        assert!((100.0..20_000.0).contains(&rate), "{case}: {rate}");
    }
}

#[test]
fn a_switch_that_ends_is_found_at_the_rule_at_which_it_does() {
    // The first entry is that of what no other matches.
    let limit = &limit_of(Lie::HangsUp(251), &[]);
    assert_eq!(limit["verdict"], "crashes", "{limit}");
    assert_eq!(metric(limit, "rules"), 250.0, "{limit}");
}

#[test]
fn a_switch_that_answers_no_barrier_hangs_and_that_is_a_result() {
    let cases = ["first-packet", "fm-add", "--stall", "2"];
    let found = found_of(Lie::SwallowsBarriers, "1.3", &cases);
    assert!(found.len() >= 2, "{found:?}");
    for result in &found {
        assert_eq!(result["verdict"], "hangs", "{result}");
    }
}

#[test]
fn a_switch_that_falls_silent_is_found_at_the_rule_at_which_it_does() {
    // The first entry is that of what no other matches.
    let limit = &limit_of(Lie::FallsSilent(251), &["--stall", "1"]);
    assert_eq!(limit["verdict"], "hangs", "{limit}");
    assert_eq!(metric(limit, "rules"), 250.0, "{limit}");
}

#[test]
fn a_switch_that_is_silent_from_the_first_message_on_is_a_result() {
    for fault in [Lie::Silent, Lie::SwallowsAllStatistics] {
        let cases = ["fm-add", "action-delay", "--stall", "1"];
        let found = found_of(fault, "1.3", &cases);
        assert!(found.len() > 2, "{found:?}");
        for result in &found {
            assert_eq!(result["verdict"], "hangs", "{result}");
            let why = "the switch hangs: it does not answer in time";
            assert_eq!(result["marks"][0], why, "{result}");
        }
    }
}

#[test]
fn rules_that_act_late_are_not_as_fast_as_their_barrier() {
    // In the oldest version; the long tier has the others.
    let mut seen = Vec::new();
    // Of frames that a busy machine lost the meter says that, and not when rules act.
    let is_found = (0..TRIES).any(|_| {
        let added = found_of(Lie::EarlyBarriers, "1.0", &["fm-add"]).swap_remove(0);
        let is_right = added["verdict"] == "lies" && {
            let obeyed = metric(&added, "time until packets obey");
            let late = obeyed - metric(&added, "time of the barrier");
            let notes = added["notes"].to_string();
            (30e3..1e6).contains(&late) && notes.contains("before the last rule acted")
        };
        seen.push(added);
        is_right
    });
    assert!(is_found, "{seen:?}");
}
