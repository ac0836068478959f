//! Runs that end before they are done: by signals, by a kill, and with the switch.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Stdio};

use bofuss_tests::{Process, ip, ok, printed, run, until};

use crate::plant::{Folder, Plant, SWITCH, alone, ofmeter, switch_at};

/// Begins a run on a switch with one rule, and sends a signal once there are results. Returns the
/// exit code.
fn run_and_signal(plant: &Plant, folder: &Folder, signal: &str) -> Option<i32> {
    plant.dpctl(&["add-flow", "priority=7,ip,nw_dst=10.1.1.1,actions=output:1"]);
    let words = ["run", "match-type", "--short", "--wipe", "--repeats", "50"];
    let mut command = ofmeter(folder, &words);
    command.args(switch_at(SWITCH));
    let mut meter = Process::start(command.stderr(Stdio::null()).stdout(Stdio::null()));
    until("there are results", || {
        folder.0.join("results.jsonl").exists()
    });
    ok(Command::new("kill").args(["-s", signal, &meter.0.id().to_string()]));
    until("the meter ends", || meter.0.try_wait().unwrap().is_some());
    meter.0.wait().unwrap().code()
}

#[test]
fn ctrl_c_restores_a_switch_and_leaves_nothing_behind() {
    alone(|| {
        let plant = Plant::new(&[]);
        let links = ip("-oneline link show");
        let folder = Folder::new();
        assert_eq!(run_and_signal(&plant, &folder, "INT"), Some(1));
        let rules = plant.dpctl(&["dump-flows"]);
        assert!(rules.contains("nw_dst=10.1.1.1"), "{rules}");
        assert_eq!(rules.matches("actions=").count(), 1, "{rules}");
        assert_eq!(ip("-oneline link show"), links);
    });
}

#[test]
fn after_a_kill_the_written_rules_are_put_back_by_dpctl() {
    alone(|| {
        let plant = Plant::new(&[]);
        let folder = Folder::new();
        assert_eq!(run_and_signal(&plant, &folder, "KILL"), None);
        let rules = plant.dpctl(&["dump-flows"]);
        assert!(!rules.contains("nw_dst=10.1.1.1"), "{rules}");
        // The same command again does not take what the run left for the switch's own rules.
        let words = ["run", "match-type", "--short", "--wipe"];
        let refused = printed(&run(ofmeter(&folder, &words).args(switch_at(SWITCH))));
        assert!(refused.contains("replace-flows"), "{refused}");
        let written = folder.0.join("rules-before.txt");
        plant.dpctl(&["replace-flows", written.to_str().unwrap()]);
        let rules = plant.dpctl(&["dump-flows"]);
        assert!(rules.contains("nw_dst=10.1.1.1"), "{rules}");
        assert_eq!(rules.matches("actions=").count(), 1, "{rules}");
        ok(ofmeter(&folder, &words).args(switch_at(SWITCH)));
        assert!(!written.exists(), "they are back");
    });
}

#[test]
fn what_a_switch_that_is_gone_would_fail_at_is_no_result() {
    alone(|| {
        let plant = Plant::new(&[]);
        let folder = Folder::new();
        let words = ["run", "fm-add", "--short", "--repeats", "500"];
        let mut command = ofmeter(&folder, &words);
        command.args(switch_at(SWITCH)).args(["--stall", "1"]);
        command.stderr(Stdio::piped()).stdout(Stdio::null());
        let meter = command.spawn().unwrap();
        until("there are results", || {
            folder.0.join("results.jsonl").exists()
        });
        drop(plant);
        let said = printed(&meter.wait_with_output().unwrap());
        assert!(said.contains("goes on once it is back"), "{said}");
        let found = folder.results();
        let gone = found.iter().filter(|result| result["verdict"] != "ok");
        assert!(gone.count() <= 1, "{found:?}");
    });
}
