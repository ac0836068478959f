//! `ofmeter`: finds what is known of set-ups, of switches that lie, and of one that others wrote;
//! and leaves a switch as it was.
#![allow(clippy::unwrap_used)]

mod liar;

use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use bofuss_ports::NetNs;
use bofuss_tests::{Process, have, ip, ok, printed, program, run, until};
use serde_json::Value;

use crate::liar::{EARLY, Lie, lie};

/// Where the switch listens for OpenFlow, and where the liar in front of it.
const SWITCH: u16 = 6690;
const LIAR: u16 = 6691;
/// Tells the folders of one process apart.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A folder for results, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let number = NEXT.fetch_add(1, Relaxed);
        let name = format!("ofmeter-test-{}-{number}", std::process::id());
        Self(std::env::temp_dir().join(name))
    }

    /// The results, one for each line.
    fn results(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.0.join("results.jsonl")).unwrap();
        text.lines()
            .map(|line| serde_json::from_str(line).unwrap())
            .collect()
    }

    fn read(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A number of a result.
fn metric(result: &Value, name: &str) -> f64 {
    let metrics = result["metrics"].as_array().unwrap();
    let found = metrics.iter().find(|metric| metric["name"] == name);
    found.unwrap_or_else(|| panic!("{name} of {result}"))["value"]
        .as_f64()
        .unwrap()
}

fn ofmeter(folder: &Folder, arguments: &[&str]) -> Command {
    let mut command = Command::new(program("ofmeter"));
    command.args(arguments).arg("--out").arg(&folder.0);
    command
}

/// Runs cases in their shortest form and returns their results.
///
/// The instrument is calibrated once, and all results use that.
fn measured(folder: &Folder, arguments: &[&str]) -> Vec<Value> {
    static CALIBRATION: OnceLock<String> = OnceLock::new();
    let calibration = folder.0.join("calibration.json");
    if let Some(text) = CALIBRATION.get() {
        std::fs::create_dir_all(&folder.0).unwrap();
        std::fs::write(&calibration, text).unwrap();
    }
    let shortest = [&["run", "--short", "--force"], arguments].concat();
    println!("{}", ok(&mut ofmeter(folder, &shortest)));
    CALIBRATION.get_or_init(|| folder.read("calibration.json"));
    folder.results()
}

/// Two veth pairs and a switch between them, in this network namespace.
struct Plant {
    _switch: Process,
}

impl Plant {
    fn new(arguments: &[&str]) -> Self {
        ip("link set lo up");
        for (own, switch) in [("near", "sa"), ("far", "sb")] {
            ip(&format!("link add {own} type veth peer name {switch}"));
            ip(&format!("link set {own} up"));
            ip(&format!("link set {switch} up"));
        }
        let mut bofuss = Command::new(program("bofuss"));
        let listen = format!("ptcp:{SWITCH}");
        bofuss.args(["run", "--port", "sa", "--port", "sb", "--listen", &listen]);
        bofuss.args(["--fail-mode", "secure"]).args(arguments);
        let name = format!("plant{}-{}", std::process::id(), NEXT.fetch_add(1, Relaxed));
        bofuss
            .args(["--name", &name])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let switch = Process::start(&mut bofuss);
        until("the switch listens", || {
            TcpStream::connect(("127.0.0.1", SWITCH)).is_ok()
        });
        Self { _switch: switch }
    }

    /// Runs our dpctl on the switch.
    fn dpctl(&self, arguments: &[&str]) -> String {
        let address = format!("tcp:127.0.0.1:{SWITCH}");
        ok(Command::new(program("dpctl")).arg(address).args(arguments))
    }
}

/// Runs a test in a network namespace of its own.
fn alone(test: impl FnOnce() + Send) {
    NetNs::new().unwrap().run(test).unwrap();
}

/// The arguments that name a switch of a [`Plant`] and its interfaces.
fn switch_at(port: u16) -> [String; 4] {
    let address = format!("tcp:127.0.0.1:{port}");
    [
        "--switch".into(),
        address,
        "--ports".into(),
        "near,far".into(),
    ]
}

fn measured_at(port: u16, folder: &Folder, arguments: &[&str]) -> Vec<Value> {
    let switch = switch_at(port);
    let switch: Vec<&str> = switch.iter().map(String::as_str).collect();
    measured(folder, &[&switch[..], arguments].concat())
}

#[test]
fn a_forwarders_delay_loss_and_order_are_found() {
    let case = [
        "action-delay",
        "--frames",
        "500",
        "--max-rate",
        "2000",
        "--setup",
    ];
    let mut least = Vec::new();
    for faults in [
        "forwarder:delay=50us",
        "forwarder:delay=5000us,duplicate=1%",
    ] {
        let folder = Folder::new();
        let found = measured(&folder, &[&case[..], &[faults]].concat());
        let first = &found[0];
        // What else runs on the machine makes single frames late, and never one early.
        least.push(first["delay"]["min"].as_f64().unwrap());
        let duplicates = if faults.contains("duplicate") {
            5.0
        } else {
            0.0
        };
        assert_eq!(metric(first, "duplicated"), duplicates);
        let raw = std::fs::metadata(folder.0.join(first["raw"].as_str().unwrap())).unwrap();
        assert_eq!(raw.len(), first["delay"]["n"].as_u64().unwrap() * 8);
        let page = folder.read("report.html");
        assert!(page.contains("<svg") && page.contains("action-delay"));
        assert!(folder.read("results.csv").contains("action-delay,"));
    }
    assert!((50e3..1e6).contains(&least[0]), "{least:?}");
    assert!((5e6..6e6).contains(&least[1]), "{least:?}");
    let folder = Folder::new();
    let lossy = [&case[..], &["forwarder:loss=5%,reorder=1%"]].concat();
    let found = measured(&folder, &lossy);
    let low = metric(&found[0], "loss, least");
    let high = metric(&found[0], "loss, most");
    assert!(low <= 5.0 && 5.0 <= high, "{low} to {high}");
    // Of those that pass, one in 100 is overtaken.
    let reordered = metric(&found[0], "reordered");
    assert!((3.0..=6.0).contains(&reordered), "{}", found[0]);
}

#[test]
fn every_case_runs_on_bofuss_in_its_shortest_form() {
    let folder = Folder::new();
    for result in measured(&folder, &["--setup", "bofuss"]) {
        let why = format!("{} {}: {}", result["case"], result["point"]["name"], result);
        // A busy machine may be too slow for the rate that was wanted.
        let verdict = result["verdict"].as_str().unwrap();
        assert_eq!(verdict, "ok", "{why}");
    }
}

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
        assert_eq!(verdict("fm-add", "bulk"), "ok");
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
fn early_barriers_are_found_and_by_how_much() {
    alone(|| {
        let _plant = Plant::new(&[]);
        let folder = Folder::new();
        let honest = measured_at(SWITCH, &folder, &["barrier-truth"]);
        assert_eq!(honest[0]["verdict"], "ok", "{}", honest[0]);
        lie(Lie::EarlyBarriers, LIAR, SWITCH);
        let folder = Folder::new();
        let found = measured_at(LIAR, &folder, &["barrier-truth"]);
        assert_eq!(found[0]["verdict"], "lies", "{}", found[0]);
        let early = metric(&found[0], "last unhandled frame after the barrier");
        let resolution = metric(&found[0], "time between frames of a rule");
        let wanted = EARLY.as_micros() as f64;
        // The reply itself takes time, and a busy machine may delay what is late even more.
        assert!(
            early > wanted / 2.0 - resolution && early < wanted * 2.0,
            "{early}"
        );
    });
}

#[test]
fn the_limit_of_a_table_is_found_and_a_table_that_swallows_rules_is_a_lie() {
    alone(|| {
        let _plant = Plant::new(&["--max-entries", "150"]);
        let folder = Folder::new();
        let found = measured_at(SWITCH, &folder, &["table-size"]);
        // One of the 150 drops what no other rule matches.
        assert_eq!(metric(&found[0], "rules"), 149.0, "{}", found[0]);
        assert_eq!(found[0]["verdict"], "ok", "{}", found[0]);
    });
    alone(|| {
        let _plant = Plant::new(&[]);
        lie(Lie::SwallowsAdds(500), LIAR, SWITCH);
        let folder = Folder::new();
        let found = measured_at(LIAR, &folder, &["table-size"]);
        assert_eq!(found[0]["verdict"], "lies", "{}", found[0]);
        assert!(
            metric(&found[0], "of them without effect") > 300.0,
            "{}",
            found[0]
        );
    });
}

#[test]
fn a_switch_that_never_answers_statistics_hangs() {
    alone(|| {
        let _plant = Plant::new(&[]);
        lie(Lie::SwallowsStatistics, LIAR, SWITCH);
        let folder = Folder::new();
        let found = measured_at(LIAR, &folder, &["stats-delay", "--stall", "1"]);
        assert_eq!(found[0]["point"]["kind"], "flow, light");
        assert_eq!(found[0]["verdict"], "hangs", "{}", found[0]);
        let ports = found
            .iter()
            .find(|result| result["point"]["kind"] == "port, light");
        assert_eq!(ports.unwrap()["verdict"], "ok");
    });
}

#[test]
fn a_switch_with_rules_is_refused_without_wipe_and_restored_with_it() {
    alone(|| {
        let plant = Plant::new(&[]);
        let rule = "priority=7,ip,nw_dst=10.1.1.1,actions=output:1";
        plant.dpctl(&["add-flow", rule]);
        let folder = Folder::new();
        let switch = switch_at(SWITCH);
        let arguments = ["run", "fm-add", "--short"];
        let refused = run(ofmeter(&folder, &arguments).args(&switch));
        assert!(!refused.status.success());
        let said = printed(&refused);
        assert!(
            said.contains("--wipe") && said.contains("10.1.1.1"),
            "{said}"
        );
        assert!(plant.dpctl(&["dump-flows"]).contains("nw_dst=10.1.1.1"));
        ok(ofmeter(&folder, &arguments).args(&switch).arg("--wipe"));
        let rules = plant.dpctl(&["dump-flows"]);
        assert!(rules.contains("nw_dst=10.1.1.1"), "{rules}");
        assert_eq!(rules.matches("actions=").count(), 1, "{rules}");
    });
}

#[test]
fn an_interrupted_run_restores_the_switch_and_goes_on_where_it_was() {
    alone(|| {
        let plant = Plant::new(&[]);
        plant.dpctl(&["add-flow", "priority=7,ip,nw_dst=10.1.1.1,actions=output:1"]);
        let folder = Folder::new();
        let switch = switch_at(SWITCH);
        let mut command = ofmeter(
            &folder,
            &["run", "match-type", "fm-add", "--short", "--wipe"],
        );
        command.args(&switch).args(["--repeats", "20"]);
        let mut meter = Process::start(command.stderr(Stdio::null()).stdout(Stdio::null()));
        until("there are results", || {
            folder.0.join("results.jsonl").exists()
        });
        assert_ne!(meter.terminate(), Some(0));
        let before = folder.results().len();
        assert!(before < 20 * 11, "{before}");
        let rules = plant.dpctl(&["dump-flows"]);
        assert_eq!(rules.matches("actions=").count(), 1, "{rules}");
        let short = [
            "run",
            "match-type",
            "fm-add",
            "--short",
            "--wipe",
            "--repeats",
            "2",
        ];
        ok(ofmeter(&folder, &short).args(&switch));
        let mut seen: Vec<String> = Vec::new();
        for result in folder.results() {
            let key = format!("{} {} {}", result["case"], result["point"], result["round"]);
            assert!(!seen.contains(&key), "{key} is there twice");
            seen.push(key);
        }
        assert!(seen.len() >= 22);
    });
}

#[test]
fn frames_that_another_machine_reflects_are_measured() {
    alone(|| {
        let _plant = Plant::new(&[]);
        let mut reflector = Command::new(program("ofmeter"));
        let _reflector = Process::start(reflector.args(["reflect", "far"]));
        let folder = Folder::new();
        let address = format!("tcp:127.0.0.1:{SWITCH}");
        let switch = ["--switch", &address, "--ports", "near"];
        let slowly = ["match-type", "--max-rate", "500"];
        let found = measured(&folder, &[&slowly[..], &switch].concat());
        assert_eq!(found[0]["verdict"], "ok", "{}", found[0]);
        // A busy machine loses some.
        assert!(metric(&found[0], "lost") < metric(&found[0], "sent"));
    });
}

#[test]
fn a_switch_that_connects_is_measured() {
    alone(|| {
        let _plant = Plant::new(&["--controller", "tcp:127.0.0.1:6692"]);
        let folder = Folder::new();
        let arguments = ["fm-add", "--switch", "ptcp:6692", "--ports", "near,far"];
        let found = measured(&folder, &arguments);
        assert_eq!(found[0]["verdict"], "ok", "{}", found[0]);
    });
}

#[test]
fn a_papers_cases_run_on_each_set_up_and_its_numbers_are_beside_ours() {
    let folder = Folder::new();
    let words = [
        "paper",
        "002",
        "--short",
        "--setup",
        "bofuss",
        "--setup",
        "yardstick",
    ];
    println!("{}", ok(&mut ofmeter(&folder, &words)));
    let page = folder.read("report.html");
    // Of table III, the first and the last row; and both set-ups.
    for row in [
        "Extreme x460-24p",
        "LinkSys - OpenWRT",
        "<b>bofuss</b>",
        "<b>yardstick</b>",
    ] {
        assert!(page.contains(row), "{row}");
    }
    assert!(page.contains("0.125 to 0.127") && page.contains("Table VIII"));
    for setup in ["bofuss", "yardstick"] {
        assert!(folder.0.join(setup).join("report.html").exists());
    }
    let refused = run(&mut ofmeter(&folder, &["paper", "001"]));
    assert!(printed(&refused).contains("there are 000, 002, 004"));
}

#[test]
fn wrong_words_are_refused_with_what_there_is() {
    let folder = Folder::new();
    let refused = |arguments: &[&str]| -> Output { run(&mut ofmeter(&folder, arguments)) };
    for (arguments, says) in [
        (&["run", "fm-ad", "--setup", "bofuss"][..], "ofmeter list"),
        (&["run", "fm-add", "--setup", "bofus"], "there are wire"),
        (&["run", "fm-add", "--setup", "forwarder:loss=x"], "example"),
        (
            &["run", "fm-add", "--setup", "bofuss", "--openflow", "2.0"],
            "there are 1.0",
        ),
        (&["run", "fm-add"], "--setup"),
    ] {
        let output = refused(arguments);
        assert!(!output.status.success());
        assert!(
            printed(&output).contains(says),
            "{arguments:?}: {}",
            printed(&output)
        );
    }
}

#[test]
fn two_runs_are_compared_point_by_point() {
    let runs = [Folder::new(), Folder::new()];
    for (folder, setup) in runs.iter().zip(["yardstick", "forwarder:delay=500us"]) {
        measured(
            folder,
            &["mode-speedup", "--max-rate", "500", "--setup", setup],
        );
    }
    let mut command = Command::new(program("ofmeter"));
    let table = ok(command
        .arg("compare")
        .args(runs.iter().map(|folder| &folder.0)));
    let row = table
        .lines()
        .find(|line| line.contains("legacy 64 B"))
        .unwrap_or_else(|| panic!("{table}"));
    let number = |column: usize| -> f64 {
        let word = row.split('|').nth(column).unwrap();
        word.trim().replace(',', "").parse().unwrap()
    };
    let (first, second, ratio) = (number(4), number(5), number(6));
    assert!(second > 500.0, "the second one delays: {table}");
    assert!((ratio - second / first).abs() < 0.01, "{table}");
    let list = ok(Command::new(program("ofmeter")).arg("list"));
    assert!(list.contains("barrier-truth"));
}
