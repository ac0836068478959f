//! Runs that end before they are done: by signals, by a kill, and with the switch.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Stdio};

use bofuss_tests::{Process, ip, ok, printed, program, run, until};

use crate::plant::{Folder, Plant, SWITCH, alone, ofmeter, switch_at};

/// Begins a run on a switch with one rule, and sends a signal once there are results. Returns the
/// exit code.
fn run_and_signal(plant: &Plant, folder: &Folder, signal: &str) -> Option<i32> {
    plant.dpctl(&["add-flow", "priority=7,ip,nw_dst=10.1.1.1,actions=output:1"]);
    let words = ["run", "match-type", "--short", "--wipe", "--repeats", "50"];
    let mut command = ofmeter(folder, &words);
    command.args(switch_at(SWITCH));
    let mut meter = Process::start(command.stderr(Stdio::piped()).stdout(Stdio::null()));
    // Its messages have no reader, as after a Ctrl-C that ends `tee`, too.
    drop(meter.0.stderr.take());
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
fn after_a_kill_the_next_run_puts_the_rules_back() {
    alone(|| {
        let plant = Plant::new(&[]);
        let folder = Folder::new();
        let files = || -> Vec<String> {
            let files = std::fs::read_dir(&folder.0).unwrap();
            let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
            names
                .filter(|name| name.starts_with("rules-before-"))
                .collect()
        };
        let written = || files().len();
        assert_eq!(run_and_signal(&plant, &folder, "KILL"), None);
        let rules = plant.dpctl(&["dump-flows"]);
        assert!(!rules.contains("nw_dst=10.1.1.1"), "{rules}");
        assert_eq!(written(), 1);
        // What others have added since is not removed.
        let other = "priority=9,udp,actions=output:2";
        plant.dpctl(&["add-flow", other]);
        let words = ["run", "match-type", "--short", "--wipe"];
        let refused = printed(&run(ofmeter(&folder, &words).args(switch_at(SWITCH))));
        assert!(
            refused.contains("others since") && refused.contains("udp"),
            "{refused}"
        );
        assert!(plant.dpctl(&["dump-flows"]).contains("priority=9,udp"));
        plant.dpctl(&["--strict", "del-flows", "priority=9,udp"]);
        ok(ofmeter(&folder, &words).args(switch_at(SWITCH)));
        assert_eq!(written(), 0, "they are back");
        let rules = plant.dpctl(&["dump-flows"]);
        assert!(rules.contains("nw_dst=10.1.1.1"), "{rules}");
        assert_eq!(rules.matches("actions=").count(), 1, "{rules}");

        // The same without a run.
        plant.dpctl(&["del-flows"]);
        std::fs::remove_file(folder.0.join("results.jsonl")).unwrap();
        assert_eq!(run_and_signal(&plant, &folder, "KILL"), None);
        // As an older version named it: by the datapath only. The switch has an entry of the run.
        let ours = "cookie=0x6f666d65746572,priority=1,udp,actions=drop";
        plant.dpctl(&["add-flow", ours]);
        let names = files();
        assert_eq!(names.len(), 1, "{names:?}");
        let (older, _) = names[0].split_at("rules-before-".len() + 16);
        let older = folder.0.join(format!("{older}.txt"));
        std::fs::rename(folder.0.join(&names[0]), older).unwrap();
        let address = format!("tcp:127.0.0.1:{SWITCH}");
        let restore = ["restore", "--switch", &address];
        let said = printed(&run(&mut ofmeter(&folder, &restore)));
        assert!(said.contains("1 rules are back"), "{said}");
        assert!(plant.dpctl(&["dump-flows"]).contains("nw_dst=10.1.1.1"));
        let again = run(&mut ofmeter(&folder, &restore));
        assert!(!again.status.success() && printed(&again).contains("nothing was removed"));
    });
}

/// Meters, groups and entries that OpenFlow 1.0 cannot express, or not whole.
const RULES: [(&str, &str); 9] = [
    ("add-meter", "meter=3,kbps,bands=type=drop,rate=5000"),
    ("add-group", "group_id=9,type=all,bucket=actions=output:1"),
    (
        "add-group",
        "group_id=4,type=indirect,bucket=actions=group:9",
    ),
    ("add-flow", "priority=7,ip,nw_dst=10.1.1.1,actions=output:1"),
    (
        "add-flow",
        "priority=8,tcp,tcp_flags=+syn,actions=goto_table:1",
    ),
    ("add-flow", "table=1,priority=9,metadata=5,actions=group:4"),
    (
        "add-flow",
        "table=1,cookie=0x77,ipv6,ipv6_src=2001:db8::/32,actions=meter:3,output:2",
    ),
    (
        "add-flow",
        "table=2,send_flow_rem,importance=6,udp,actions=write_actions(output:1)",
    ),
    ("add-flow", "table=2,priority=0,actions=drop"),
];

/// All that the switch has been given, as text in order, without counters and ages.
fn given(plant: &Plant) -> Vec<String> {
    let mut lines = Vec::new();
    for dump in ["dump-flows", "dump-groups", "dump-meters"] {
        for line in plant.dpctl(&[dump]).lines() {
            let mut words: Vec<&str> = line.split_whitespace().collect();
            words.retain(|word| !word.starts_with("duration=") && !word.starts_with("n_"));
            lines.push(words.join(" "));
        }
    }
    lines.sort();
    lines
}

#[test]
fn a_run_in_an_old_version_puts_back_what_that_cannot_express() {
    alone(|| {
        let plant = Plant::new(&[]);
        for (verb, rule) in RULES {
            plant.dpctl(&[verb, rule]);
        }
        let before = given(&plant);
        assert!(before.len() >= RULES.len(), "{before:?}");
        let folder = Folder::new();
        for version in ["1.0", "1.3"] {
            let words = [
                "run",
                "barrier-truth",
                "--short",
                "--wipe",
                "--openflow",
                version,
            ];
            let done = run(ofmeter(&folder, &words).args(switch_at(SWITCH)));
            let said = printed(&done);
            assert!(done.status.success(), "{said}");
            assert!(
                said.contains("1 meter, 2 groups, 6 rules are back"),
                "{said}"
            );
            assert_eq!(given(&plant), before, "{version}");
            for name in ["run.json", "results.jsonl"] {
                std::fs::remove_file(folder.0.join(name)).unwrap();
            }
        }
    });
}

#[test]
fn what_the_switchs_own_version_cannot_put_back_is_not_removed() {
    alone(|| {
        let folder = Folder::new();
        std::fs::create_dir_all(&folder.0).unwrap();
        let config = folder.0.join("bofuss.toml");
        std::fs::write(&config, "versions = ['1.0', '1.3']\n").unwrap();
        let plant = Plant::new(&["--config", config.to_str().unwrap()]);
        plant.dpctl(&["add-flow", "priority=7,ip,nw_dst=10.1.1.1,actions=output:1"]);
        plant.dpctl(&["add-flow", "table=1,priority=9,udp,actions=output:2"]);
        std::fs::write(&config, "versions = ['1.0']\n").unwrap();
        ok(Command::new(program("bofuss")).args(["reload", &plant.name]));
        let count = || {
            let rules = plant.dpctl(&["-O", "OpenFlow10", "dump-flows"]);
            rules.matches("actions=").count()
        };
        assert_eq!(count(), 2);
        let words = ["run", "match-type", "--short", "--wipe"];
        let refused = run(ofmeter(&folder, &words).args(switch_at(SWITCH)));
        let said = printed(&refused);
        assert!(
            !refused.status.success() && said.contains("nothing is removed"),
            "{said}"
        );
        assert_eq!(count(), 2);
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
