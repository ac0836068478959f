//! `ofmeter` finds the known delays and faults of set-ups, and switches that lie; it measures a
//! switch that others wrote, and leaves a switch as it was.
#![allow(clippy::unwrap_used)]

mod bounds;
mod browser;
mod coverage;
mod interrupted;
mod known;
mod liar;
mod lies;
mod plant;
mod published;
mod set_ups;
mod truths;

use std::process::{Command, Output, Stdio};

use bofuss_tests::{Process, ip, ok, printed, program, run, until};
use serde_json::Value;

use crate::known::{is_found, of_legacy};
use crate::liar::{Lie, lie};
use crate::plant::{
    Folder, LIAR, Plant, SWITCH, alone, first_measured_at, measured, measured_at, metric, ofmeter,
    stated, switch_at,
};

/// The most time that the switch takes until a rule acts that it got, in microseconds.
const MOST_TO_ACT_US: f64 = 5_000.0;

/// The load of a forwarder of the meter's own.
const LOAD: [&str; 4] = ["--frames", "500", "--max-rate", "2000"];

/// The frames that a forwarder with these faults passes on: the results of one point.
fn forwarded(faults: &str) -> Value {
    let setup = ["mode-speedup", "--setup", faults];
    let found = measured(&Folder::new(), &[&setup[..], &LOAD].concat());
    of_legacy(&found).next().unwrap().clone()
}

/// The least delay of some results in nanoseconds: what else runs on the machine makes frames late,
/// and never one early.
fn least_delay<'a>(found: impl IntoIterator<Item = &'a Value>) -> f64 {
    let all = found.into_iter();
    let all = all.filter_map(|one| one["delay"]["min"].as_f64());
    all.fold(f64::INFINITY, f64::min)
}

#[test]
fn a_forwarders_delay_and_duplicates_are_found() {
    let folder = Folder::new();
    let case = ["action-delay", "--setup"];
    let faults = ["forwarder:delay=5000us,duplicate=1%"];
    let found = measured(&folder, &[&case[..], &faults, &LOAD].concat());
    let first = &found[0];
    // A busy machine may lose some of them on the line of one point.
    let kinds = found.iter().filter(|one| one["point"]["kind"] == "output");
    let seen = kinds.map(|one| metric(one, "duplicated"));
    assert_eq!(seen.fold(0.0, f64::max), 5.0);
    let raw = std::fs::metadata(folder.0.join(first["raw"].as_str().unwrap())).unwrap();
    assert_eq!(raw.len(), first["delay"]["n"].as_u64().unwrap() * 8);
    let page = folder.read("report.html");
    assert!(page.contains("<svg") && page.contains("action-delay"));
    assert!(folder.read("results.csv").contains("action-delay,"));
    // The same for a document of others.
    let figure = folder.read("thesis/figures/action-delay-plots-1.pdf");
    assert!(figure.starts_with("%PDF") && figure.ends_with("%%EOF\n"));
    let table = folder.read("thesis/tables/action-delay-1.tex");
    assert!(table.contains("& mean, us &"), "{table}");
    folder.typeset();
    let rows = folder.read("thesis/tables/action-delay-1.csv");
    assert!(rows.starts_with("point,verdict,n,"));
    let methods = folder.read("thesis/methods.txt");
    assert!(methods.contains("had 500 frames after at most 1000 of warm-up"));
    // On the line of a test, single points are beyond the instrument, and forced.
    let notes = first["notes"].as_array().unwrap();
    assert!(first["marks"].as_array().unwrap().is_empty(), "{notes:?}");
    // The path itself takes as long for a shorter delay.
    let fast = forwarded("forwarder:delay=50us");
    assert_eq!(metric(&fast, "duplicated"), 0.0, "{fast}");
    let least = [least_delay([&fast]), least_delay(&found)];
    assert!((50e3..1e6).contains(&least[0]), "{least:?}");
    let difference = least[1] - least[0];
    assert!((difference / 4_950e3 - 1.0).abs() < 0.1, "{least:?}");
}

#[test]
fn a_forwarder_that_loses_some_frames_or_all_is_found_to_do_so() {
    is_found(5.0, || {
        let found = forwarded("forwarder:loss=5%,reorder=1%");
        // Of those that pass, one in 100 is overtaken.
        let reordered = metric(&found, "reordered");
        assert!((3.0..=6.0).contains(&reordered), "{found}");
        let bounds = ["least", "most"].map(|bound| metric(&found, &format!("loss, {bound}")));
        bounds.into()
    });
    let found = forwarded("forwarder:loss=100%");
    assert_eq!(found["verdict"], "fails", "nothing crashed: {found}");
}

#[test]
fn trials_of_rfc_2544_lose_nothing_and_say_how_long_they_are() {
    let folder = Folder::new();
    let cases = ["rfc2544-throughput", "rfc2544-back-to-back"];
    let slowly = ["--max-rate", "2000", "--setup", "yardstick"];
    let found = measured(&folder, &[&cases[..], &slowly].concat());
    let [throughput, burst] = &found[..] else {
        panic!("{found:?}");
    };
    // A busy machine may lose frames at any rate, and its generator may be late.
    let rate = metric(throughput, "throughput");
    assert!((0.0..=2_000.0).contains(&rate), "{throughput}");
    let label = "trials of 0.2 s, and not the 60 s of RFC 2544";
    let notes = throughput["notes"].to_string();
    assert!(notes.contains(label), "{notes}");
    assert!(rate < 2_000.0 || notes.contains("at least: --max-rate ended the search"));
    assert!(metric(burst, "longest burst") >= 1.0, "{burst}");
    // A wire has the burst that a switch lost, in the same round.
    let folder = Folder::new();
    let lossy = ["rfc2544-back-to-back", "--setup", "forwarder:loss=50%"];
    let found = measured(&folder, &lossy);
    let of_wire = metric(
        &found[0],
        "loss of a wire at the load that ended the search",
    );
    assert!(of_wire < 100.0, "{}", found[0]);
}

#[test]
fn frames_that_go_there_and_back_are_delayed_twice() {
    let folder = Folder::new();
    let slowly = ["mode-speedup", "--echo", "--max-rate", "200"];
    let setup = ["--frames", "100", "--setup", "forwarder:delay=5000us"];
    let found = measured(&folder, &[&slowly[..], &setup].concat());
    // What else runs on the machine makes frames late, and never one early.
    let legacy = of_legacy(&found).next().unwrap();
    let least = legacy["delay"]["min"].as_f64().unwrap() / 1e3;
    assert!((10_000.0..12_000.0).contains(&least), "{least} us");
}

#[test]
fn every_case_runs_on_bofuss_in_its_shortest_form() {
    let folder = Folder::new();
    let found = measured(&folder, &["--setup", "bofuss"]);
    let page = folder.read("report.html");
    for (case, origin) in [("spine-leaf-fct", "simulated"), ("spine-leaf-live", "live")] {
        let mut results = found.iter().filter(|result| result["case"] == case);
        assert!(results.any(|result| metric(result, "mice: throughput, mean") > 0.0));
        let first = found.iter().find(|result| result["case"] == case).unwrap();
        let flows = folder.read(first["flows"].as_str().unwrap());
        let ended = flows.lines().skip(1).filter(|line| !line.ends_with(','));
        assert_eq!(ended.count() as u64, first["delay"]["n"].as_u64().unwrap());
        let mut sections = page.split("<h2 id=\"");
        let section = sections.find(|part| part.starts_with(case)).unwrap();
        for (figure, what) in [("Fig. 6", "throughput"), ("Fig. 7", "completion")] {
            let head = format!("{figure}, {origin}: {what}");
            assert!(section.contains(&head), "{head} of {case}");
        }
    }
    // A busy machine may send no frame during the few requests of one point.
    let statistics = found.iter().filter(|one| one["case"] == "stats-delay");
    let sent: f64 = statistics.map(|one| metric(one, "sent meanwhile")).sum();
    assert!(sent > 0.0);
    let mut limits = found.iter();
    let limit = limits.find(|one| one["point"]["kind"] == "limit, exact");
    let limit = limit.unwrap();
    for tenth in 1..=10 {
        assert!(metric(limit, &format!("rate of tenth {tenth}")) > 0.0);
        let memory = metric(limit, &format!("memory after tenth {tenth}"));
        assert!((1.0..1_000.0).contains(&memory), "{memory} MiB");
    }
    for result in found {
        let why = format!("{} {}: {}", result["case"], result["point"]["name"], result);
        // A busy machine may be too slow for the rate that was wanted.
        let verdict = result["verdict"].as_str().unwrap();
        assert_eq!(verdict, "ok", "{why}");
    }
}

#[test]
fn a_slow_switch_is_not_a_liar() {
    alone(|| {
        let _plant = Plant::new(&[]);
        lie(Lie::Slow, LIAR, SWITCH);
        let folder = Folder::new();
        let found = measured_at(LIAR, &folder, &["barrier-truth"]);
        assert_eq!(found[0]["verdict"], "ok", "{}", found[0]);
    });
}

#[test]
fn early_barriers_are_found_and_by_how_much() {
    alone(|| {
        let plant = Plant::new(&[]);
        let folder = Folder::new();
        let honest = measured_at(SWITCH, &folder, &["barrier-truth"]);
        assert_eq!(honest[0]["verdict"], "ok", "{}", honest[0]);
        let changes = lie(Lie::EarlyBarriers, LIAR, SWITCH);
        is_found(0.0, || {
            until("the rules of the attempt before are gone", || {
                plant.dpctl(&["dump-aggregate"]).contains("flow_count=0")
            });
            let folder = Folder::new();
            let found = measured_at(LIAR, &folder, &["barrier-truth"]);
            // Where frames were lost, nothing is said of the barrier.
            let marks = found[0]["marks"].as_array().unwrap();
            let is_a_lie = found[0]["verdict"] == "lies";
            assert!(is_a_lie || !marks.is_empty(), "{}", found[0]);
            let point = found[0]["point"]["name"].as_str().unwrap();
            let row = format!("{point} last unhandled frame after the barrier");
            let (low, high) = stated(&folder, "barrier-truth", &row, "stated error");
            let rules = found[0]["point"]["rules"].as_u64().unwrap();
            // The rules act after they were passed on, soon enough if not much else runs.
            let passed_on = changes.after(rules as u32).as_micros() as f64;
            (low - passed_on - MOST_TO_ACT_US, high - passed_on)
        });
    });
}

#[test]
fn the_limit_of_a_table_is_found_and_a_table_that_swallows_rules_is_a_lie() {
    alone(|| {
        let _plant = Plant::new(&["--max-entries", "100"]);
        let found = first_measured_at(SWITCH, &Folder::new(), &["table-size"]);
        // One of the 100 drops what no other rule matches.
        assert_eq!(metric(&found, "rules"), 99.0, "{found}");
        assert_eq!(found["verdict"], "ok", "{found}");
    });
    alone(|| {
        let _plant = Plant::new(&["--max-entries", "1000"]);
        let more = ["table-size", "--max-rules", "1200"];
        let found = first_measured_at(SWITCH, &Folder::new(), &more);
        assert_eq!(metric(&found, "rules"), 999.0, "{found}");
        assert_eq!(found["verdict"], "ok", "{found}");
    });
    alone(|| {
        let _plant = Plant::new(&[]);
        lie(Lie::SwallowsAdds(500), LIAR, SWITCH);
        let folder = Folder::new();
        let found = first_measured_at(LIAR, &folder, &["table-size"]);
        assert_eq!(found["verdict"], "lies", "{found}");
        let idle = metric(&found, "of them without effect");
        assert!(idle > 300.0, "{found}");
        let row = "limit, exact rules that act";
        let (low, high) = stated(&folder, "table-size", row, "stated error");
        // All were tried, and one of the 500 is the rule of what no other matches.
        assert_eq!((low, high), (499.0, 499.0));
    });
    alone(|| {
        let _plant = Plant::new(&[]);
        lie(Lie::RejectsLate(500), LIAR, SWITCH);
        let found = first_measured_at(LIAR, &Folder::new(), &["table-size"]);
        assert_eq!(found["verdict"], "lies", "{found}");
        // It has the rule of what no other matches, too; one more was acknowledged.
        assert_eq!(metric(&found, "rules by table statistics"), 499.0);
        assert_eq!(metric(&found, "rules"), 500.0, "{found}");
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
fn a_switch_that_closes_the_connection_is_connected_to_anew_and_restored() {
    alone(|| {
        let plant = Plant::new(&[]);
        plant.dpctl(&["add-flow", "priority=7,ip,nw_dst=10.1.1.1,actions=output:1"]);
        lie(Lie::HangsUp(2), LIAR, SWITCH);
        let folder = Folder::new();
        let cases = ["fm-add", "echo-under-load", "--wipe"];
        let found = measured_at(LIAR, &folder, &cases);
        assert_eq!(found[0]["verdict"], "crashes", "{}", found[0]);
        let echoes = found
            .iter()
            .find(|result| result["case"] == "echo-under-load");
        assert_eq!(echoes.unwrap()["verdict"], "ok", "{found:?}");
        let rules = plant.dpctl(&["dump-flows"]);
        assert!(rules.contains("nw_dst=10.1.1.1"), "{rules}");
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
        let slowly = ["match-type", "--max-rate", "500", "--frames", "100"];
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
        let page = folder.read("report.html");
        assert!(page.contains("interface near: offers no time stamps of a network card"));
    });
}

#[test]
fn what_is_wrong_with_a_switch_is_said_before_anything_is_measured() {
    alone(|| {
        ip("link set lo up");
        ip("link add near type veth peer name sa");
        let folder = Folder::new();
        for (up, says) in [
            (false, "near is down: ip link set near up"),
            (true, "tcp:127.0.0.1:6690: "),
        ] {
            if up {
                ip("link set near up");
                ip("link set sa up");
            }
            let address = format!("tcp:127.0.0.1:{SWITCH}");
            let words = ["run", "fm-add", "--switch", &address, "--ports", "near,sa"];
            let refused = printed(&run(&mut ofmeter(&folder, &words)));
            assert!(
                refused.contains(says) && !refused.contains("calibration"),
                "{refused}"
            );
        }
        // A switch that takes the connection and says nothing is found to hang.
        let silent = std::net::TcpListener::bind(("127.0.0.1", SWITCH)).unwrap();
        let words = [
            "run", "fm-add", "--stall", "1", "--ports", "near,sa", "--switch",
        ];
        let address = format!("tcp:127.0.0.1:{SWITCH}");
        let said = printed(&run(ofmeter(&folder, &words).arg(&address)));
        assert!(said.contains("fm-add bulk 1000 rules: hangs"), "{said}");
        drop(silent);
    });
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
        (
            &[
                "run",
                "fm-add",
                "--switch",
                "tcp:127.0.0.1:1",
                "--ports",
                "a,b,c",
            ],
            "takes two interfaces",
        ),
        // A set-up has ports of its own.
        (
            &["run", "fm-add", "--setup", "bofuss", "--ports", "a,b"],
            "cannot be used with '--ports <A[,B]>'",
        ),
        (
            &["run", "fm-add", "--setup", "bofuss", "--wipe"],
            "cannot be used with '--wipe'",
        ),
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
        let few = ["mode-speedup", "--max-rate", "500", "--frames", "100"];
        measured(folder, &[&few[..], &["--setup", setup]].concat());
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
    // Both are shown with three digits.
    let error = ratio / (second / first) - 1.0;
    assert!(error.abs() < 0.01, "{table}");
    let list = ok(Command::new(program("ofmeter")).arg("list"));
    assert!(list.contains("barrier-truth"));
}
