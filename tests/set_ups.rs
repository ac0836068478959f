//! Set-ups that `ofmeter` starts: Open vSwitch in its datapaths, the original BOFUSS, cables.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

use bofuss_tests::{have, ip, ok, printed, program, run, until};
use serde_json::Value;

use crate::plant::{Folder, alone, measured, metric, ofmeter};

/// What `fm-add` finds of Open vSwitch: flows that its datapath has cached follow a new rule some
/// milliseconds after the barrier's reply.
const OVS_ADDS: &[&str] = &["ok", "lies"];

#[test]
fn open_vswitch_is_measured_in_two_versions() {
    if !have(&["ovs-vswitchd", "ovs-vsctl"]) {
        return;
    }
    for version in ["1.0", "1.3"] {
        let folder = Folder::new();
        let cases = [
            "barrier-truth",
            "fm-add",
            "rewrite",
            "match-type",
            "pktin-lat",
        ];
        let named = ["--setup", "ovs", "--openflow", version];
        let found = measured(&folder, &[&cases[..], &named].concat());
        assert!(found.iter().all(|result| result["version"] == version));
        let verdict = |case: &str, kind: &str| {
            let mut results = found.iter();
            let of = results.find(|r| r["case"] == case && r["point"]["kind"] == kind);
            of.unwrap()["verdict"].as_str().unwrap().to_owned()
        };
        assert!(OVS_ADDS.contains(&verdict("fm-add", "bulk").as_str()));
        assert_eq!(verdict("rewrite", "ip"), "ok");
        let tables = if version == "1.0" {
            "unsupported"
        } else {
            "ok"
        };
        assert_eq!(verdict("match-type", "2 tables"), tables);
    }
}

#[test]
fn a_case_runs_in_each_version_of_openflow_that_a_switch_speaks() {
    // Ours runs all cases in 1.5 elsewhere.
    for (setup, versions) in [
        ("bofuss", &["1.1", "1.2", "1.4"][..]),
        ("ovs", &["1.1", "1.2", "1.4", "1.5"][..]),
    ] {
        if setup == "ovs" && !have(&["ovs-vswitchd", "ovs-vsctl"]) {
            continue;
        }
        for version in versions.iter().copied() {
            let folder = Folder::new();
            let mut words = vec!["fm-add", "fm-del"];
            // The points of full tables take longest, and show whether ours speaks each version.
            words.extend((setup == "bofuss").then_some("table-size"));
            words.extend(["--max-rules", "100", "--setup", setup]);
            words.extend(["--openflow", version]);
            let found = measured(&folder, &words);
            for result in &found {
                assert_eq!(result["version"], version);
                let verdict = result["verdict"].as_str().unwrap();
                let may_lie = setup == "ovs" && result["case"] == "fm-add";
                let usual = if may_lie { OVS_ADDS } else { &["ok"] };
                assert!(usual.contains(&verdict), "{setup}: {result}");
            }
            assert!(found.iter().any(|result| result["case"] == "fm-add"));
        }
    }
}

/// The processes that a process has started.
fn children(parent: u32) -> Vec<u32> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").unwrap().flatten() {
        let stat = std::fs::read_to_string(entry.path().join("stat")).unwrap_or_default();
        // The name in parentheses may have blanks; the state and the parent follow it.
        let after = stat.rsplit(") ").next().unwrap();
        if after.split(' ').nth(1) == Some(&parent.to_string()) {
            found.extend(entry.file_name().to_str().unwrap().parse::<u32>());
        }
    }
    found
}

#[test]
fn open_vswitch_is_measured_in_each_datapath_that_is_here() {
    if !have(&["ovs-vswitchd", "ovs-vsctl"]) {
        return;
    }
    let folder = Folder::new();
    let found = measured(&folder, &["spine-leaf-live", "--setup", "ovs"]);
    assert_eq!(found[0]["point"]["kind"], "web search, hash");
    assert_eq!(found[0]["verdict"], "ok", "{}", found[0]);
    assert_eq!(found[1]["point"]["kind"], "web search, arp-path");
    assert_eq!(found[1]["verdict"], "unsupported");
    let folder = Folder::new();
    let cases = ["fm-add", "action-delay", "--frames", "300"];
    let found = measured(&folder, &[&cases[..], &["--setup", "ovs-afxdp"]].concat());
    assert_eq!(found[0]["case"], "fm-add");
    let verdict = found[0]["verdict"].as_str().unwrap();
    assert!(OVS_ADDS.contains(&verdict), "{}", found[0]);
    assert!(found.iter().all(|result| result["subject"] == "ovs-afxdp"));
    // Its AF_XDP on a veth pair of a busy machine holds frames for 200 ms, or loses the few of a
    // point: that is a finding about Open vSwitch, and most points have frames.
    let delays = || found.iter().filter(|result| result["case"] != "fm-add");
    let is_finding = |result: &&Value| result["notes"][0] == "no frame arrived";
    let lost = delays().filter(is_finding).count();
    let ok = delays().filter(|result| result["verdict"] == "ok").count();
    assert_eq!(ok + lost, delays().count(), "{found:?}");
    assert!(ok > lost, "{found:?}");
    // Open vSwitch with DPDK, which userspace-tso needs, is a package of its own, and wants huge
    // pages: without them the set-up says so.
    let folder = Folder::new();
    let words = ["run", "--short", "fm-add", "--setup", "ovs-tso"];
    let said = printed(&run(&mut ofmeter(&folder, &words)));
    let works = said.contains("fm-add bulk 100 rules: ok");
    let why = said.contains("huge pages") || said.contains("ovs-tso is not on this machine");
    assert!(works || why, "{said}");
}

#[test]
fn the_datapath_in_the_kernel_is_refused_where_the_kernel_has_none() {
    if !have(&["ovs-vswitchd", "ovs-vsctl"]) {
        return;
    }
    let folder = Folder::new();
    let words = ["run", "--short", "fm-add", "--setup", "ovs-kernel"];
    let output = run(&mut ofmeter(&folder, &words));
    let said = printed(&output);
    if std::path::Path::new("/sys/module/openvswitch").exists() {
        assert!(output.status.success(), "{said}");
    } else {
        let why = "ovs-kernel is not on this machine: this kernel has no module openvswitch";
        assert!(!output.status.success() && said.contains(why), "{said}");
    }
}

#[test]
fn nothing_of_a_set_up_outlives_a_meter_that_is_killed() {
    let folder = Folder::new();
    let words = ["run", "--short", "fm-add", "table-size"];
    let mut command = ofmeter(&folder, &words);
    command.args(["--setup", "bofuss", "--repeats", "1000"]);
    command.stderr(Stdio::null()).stdout(Stdio::null());
    let mut meter = command.spawn().unwrap();
    until("there are results", || {
        folder.0.join("results.jsonl").exists()
    });
    let started = children(meter.id());
    assert!(!started.is_empty());
    meter.kill().unwrap();
    meter.wait().unwrap();
    until("the set-up has ended", || {
        started
            .iter()
            .all(|child| !std::path::Path::new(&format!("/proc/{child}")).exists())
    });
}

/// A program of a folder that a shell runs.
fn script(folder: &std::path::Path, name: &str, text: &str) {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
}

#[test]
fn the_original_is_started_as_two_programs_of_a_folder() {
    let programs = Folder::new();
    let at = &programs.0;
    std::fs::create_dir_all(at).unwrap();
    let named = ["--setup", "bofuss-original", "--original"];
    let folder = Folder::new();
    let words = [&["run", "fm-add", "--short"][..], &named].concat();
    let refused = run(&mut ofmeter(
        &folder,
        &[&words[..], &[at.to_str().unwrap()]].concat(),
    ));
    let said = printed(&refused);
    assert!(said.contains("name the folder of ofdatapath"), "{said}");
    // One that has the ports makes the socket, and the other speaks OpenFlow.
    let datapath = "echo \"$3\" > \"$0.ports\"; : > \"${4#punix:}\"; exec sleep 60";
    script(at, "ofdatapath", datapath);
    let bofuss = program("bofuss");
    let protocol = format!(
        "test -e \"${{1#unix:}}\" || exit 1\n\
         ports=$(sed 's/^/--port /; s/,/ --port /g' \"$(dirname \"$0\")/ofdatapath.ports\")\n\
         exec {} run --name original$$ --fail-mode secure --listen \"$2\" $ports",
        bofuss.display()
    );
    script(at, "ofprotocol", &protocol);
    let words = [&["fm-add"][..], &named, &[at.to_str().unwrap()]].concat();
    let found = measured(&folder, &words);
    assert_eq!(found[0]["verdict"], "ok", "{}", found[0]);
    assert_eq!(found[0]["subject"], "bofuss-original");
}

#[test]
fn a_cable_between_two_named_interfaces_is_calibrated() {
    alone(|| {
        ip("link add left type veth peer name right");
        ip("link set left up");
        ip("link set right up");
        let folder = Folder::new();
        let words = ["calibrate", "--short", "--ports", "left,right"];
        let said = ok(&mut ofmeter(&folder, &words));
        let calibration: Value = serde_json::from_str(&folder.read("calibration.json")).unwrap();
        assert_eq!(calibration["paths"][0]["name"], "wire");
        // Either delays of a wire are small, or the machine is called noisy.
        let floor = |name: &str| calibration[name].as_f64().unwrap();
        let is_quiet = floor("floor_p50") < 5_000.0 && floor("floor_p99") < 20_000.0;
        assert_eq!(is_quiet, !said.contains("This machine is noisy"), "{said}");
        assert!(
            floor("limit") >= 0.0 && said.contains("The instrument's limit"),
            "{said}"
        );
    });
}

#[test]
fn frames_that_the_interface_drops_are_lost_and_the_run_goes_on() {
    let folder = Folder::new();
    let found = measured(&folder, &["mtu", "--setup", "yardstick"]);
    let large = found.iter().find(|one| one["point"]["bytes"] == 1_614);
    let notes = large.unwrap()["notes"].to_string();
    assert!(notes.contains("dropped"), "{notes}");
    // A wire passes frames of all sizes in the same round.
    for one in &found {
        let wire = one["baseline"]["wire"]["p50"].as_f64();
        assert!(wire.is_some_and(|p50| p50 > 0.0), "{one}");
    }
}

#[test]
fn the_kernel_stamps_frames_if_asked_and_no_card_that_is_not_there() {
    let folder = Folder::new();
    let kernel = [
        "action-delay",
        "--setup",
        "yardstick",
        "--time-stamps",
        "kernel",
    ];
    let found = measured(&folder, &kernel);
    assert_eq!(found[0]["verdict"], "ok", "{}", found[0]);
    // A busy machine loses some; each other one has its stamps.
    let stamped = found[0]["delay"]["n"].as_f64().unwrap();
    let lost = metric(&found[0], "lost");
    assert_eq!(stamped + lost, metric(&found[0], "sent"), "{}", found[0]);
    assert!(found[0]["delay"]["min"].as_f64().unwrap() > 0.0);
    let page = folder.read("report.html");
    assert!(page.contains("time stamps: by the kernel, in software"));
    for (arguments, says) in [
        (
            ["--setup", "yardstick", "--time-stamps", "card"],
            "have no network card",
        ),
        (
            ["--setup", "yardstick", "--time-stamps", "program"],
            "another run",
        ),
    ] {
        let words = [&["run", "action-delay", "--short"][..], &arguments].concat();
        let refused = run(&mut ofmeter(&folder, &words));
        assert!(!refused.status.success());
        assert!(printed(&refused).contains(says), "{}", printed(&refused));
    }
}
