//! Tests of all cases on switches whose fault has a known size: what is true, and what the meter
//! says, at rest and beside busy loops.
#![allow(clippy::unwrap_used)]

use serde_json::Value;

use crate::known::BUSY_LOOPS;
use crate::liar::{LATE, Lie};
use crate::lies::{TRIES, found_of};
use crate::plant::{Folder, Plant, SWITCH, alone, busy_loops, measured, measured_at, metric};

/// The time for which a line with faults holds each frame, in microseconds, and its words.
const HELD_US: f64 = 10_000.0;
const HOLDS: &str = "delay=10000us";
/// The share of a delay by which the meter may be wrong.
const MOST_ERROR: f64 = 0.05;
/// The same for a flow's first packet, whose delay has the time of the switch and the controller.
const MOST_ERROR_OF_FIRST: f64 = 0.2;
/// The load of frames that are held: few enough for a meter beside busy loops.
const SLOWLY: [&str; 4] = ["--frames", "150", "--max-rate", "500"];
/// What the meter said of a fault, and whether that is the truth.
type Said = (String, bool);

use Fault::{Lies, Line, SetUp};

/// The fault of a switch.
#[derive(Clone, Copy)]
enum Fault {
    /// One between the controller and it.
    Lies(Lie),
    /// One of the line behind it.
    Line(&'static str),
    /// One of a set-up of the meter's own.
    SetUp(&'static str),
}

/// A case on a switch with a fault.
struct Truth {
    case: &'static str,
    versions: &'static [&'static str],
    fault: Fault,
    /// The fault and the truth in words.
    truth: &'static str,
    said: fn(&[Value]) -> Said,
}

const fn truth(
    case: &'static str,
    versions: &'static [&'static str],
    fault: Fault,
    truth: &'static str,
    said: fn(&[Value]) -> Said,
) -> Truth {
    Truth {
        case,
        versions,
        fault,
        truth,
        said,
    }
}

const ALL: &[&str] = &["1.0", "1.3", "1.5"];
const ONE: &[&str] = &["1.3"];

/// What is true of each case, by a switch that makes it so.
const TRUTHS: &[Truth] = &[
    truth(
        "action-delay",
        ALL,
        Line(HOLDS),
        "frames are held for 10,000 us",
        held,
    ),
    truth(
        "match-type",
        ALL,
        Line(HOLDS),
        "frames are held for 10,000 us",
        held,
    ),
    truth(
        "mode-speedup",
        ALL,
        Line(HOLDS),
        "frames are held for 10,000 us",
        held,
    ),
    truth(
        "rewrite",
        ALL,
        Line(HOLDS),
        "frames are held for 10,000 us",
        held,
    ),
    truth(
        "mtu",
        ONE,
        SetUp("yardstick"),
        "frames of 1,614 bytes do not fit",
        too_long,
    ),
    truth(
        "rfc2544-throughput",
        ONE,
        SetUp("forwarder:loss=100%"),
        "nothing arrives at any rate",
        |found| says(&found[0], "no trial was without loss"),
    ),
    truth(
        "rfc2544-back-to-back",
        ONE,
        SetUp("forwarder:loss=20%"),
        "one frame in 5 is lost",
        |found| {
            let burst = metric(&found[0], "longest burst");
            (format!("longest burst {burst}"), burst < 40.0)
        },
    ),
    truth(
        "table-size",
        ONE,
        Lies(Lie::SwallowsOne(6)),
        "rule 5 of 999 is swallowed",
        |found| noted(&found[0], "lies", "1 do nothing: number 5 ("),
    ),
    truth(
        "stats-delay",
        ALL,
        Lies(Lie::LateAnswers),
        "answers are 50,000 us late",
        late,
    ),
    truth(
        "stats-delay",
        ALL,
        Lies(Lie::SwallowsStatistics),
        "statistics of flows are never answered",
        |found| (verdict(&found[0]), found[0]["verdict"] == "hangs"),
    ),
    truth(
        "fm-add",
        ALL,
        Lies(Lie::SwallowsOne(5)),
        "rule 5 is swallowed",
        |found| noted(&found[0], "lies", "1 do not forward: number 5 ("),
    ),
    truth(
        "fm-add",
        ALL,
        Lies(Lie::EarlyBarriers),
        "rules act 50,000 us after their barrier",
        |found| {
            let of = |name| metric(&found[0], name);
            let late = of("time until packets obey") - of("time of the barrier");
            let is_near = (30e3..150e3).contains(&late);
            (
                format!("{late:.0} us later"),
                is_near && found[0]["verdict"] == "lies",
            )
        },
    ),
    truth(
        "fm-add",
        ALL,
        Lies(Lie::HangsUp(29)),
        "it ends at its 30th rule",
        |found| {
            let (_, is_named) = says(&found[0], "at flow-mod 30 ");
            let is_crash = found[0]["verdict"] == "crashes";
            (verdict(&found[0]), is_named && is_crash)
        },
    ),
    truth(
        "fm-mod",
        ALL,
        Lies(Lie::SwallowsModifies),
        "no rule is modified",
        |found| noted(&found[0], "lies", "50 do not forward: number 1 ("),
    ),
    truth(
        "fm-del",
        ALL,
        Lies(Lie::SwallowsDeletes),
        "no rule is removed",
        |found| noted(&found[0], "lies", "50 still forward: number 1 ("),
    ),
    truth(
        "barrier-truth",
        ALL,
        Lies(Lie::EarlyBarriers),
        "barriers are answered 50,000 us early",
        |found| {
            let early = metric(&found[0], "last unhandled frame after the barrier");
            let is_near = (30e3..150e3).contains(&early);
            (
                format!("{early:.0} us early"),
                is_near && found[0]["verdict"] == "lies",
            )
        },
    ),
    truth(
        "pktin-lat",
        ALL,
        Lies(Lie::LateAnswers),
        "packet-ins are 50,000 us late",
        late,
    ),
    truth(
        "pktin-rate",
        ONE,
        Lies(Lie::LateAnswers),
        "all frames of a flood of 500/s come",
        bound,
    ),
    truth(
        "pktout-rate",
        ONE,
        Line(HOLDS),
        "all of 500 packet-outs/s come out",
        bound,
    ),
    truth(
        "echo-under-load",
        ALL,
        Lies(Lie::LateAnswers),
        "echoes are 50,000 us late",
        late,
    ),
    truth(
        "first-packet",
        ALL,
        Lies(Lie::LateAnswers),
        "packet-ins are 50,000 us late",
        late_first,
    ),
    truth(
        "iperf-single",
        ONE,
        SetUp("forwarder:loss=100%"),
        "nothing arrives",
        |found| (verdict(&found[0]), found[0]["verdict"] == "fails"),
    ),
];

fn verdict(result: &Value) -> String {
    result["verdict"].as_str().unwrap().into()
}

/// The mark or note of a result that has these words, if there is one.
fn says(result: &Value, words: &str) -> Said {
    let lists = ["marks", "notes"].map(|list| result[list].as_array().unwrap());
    let mut all = lists.into_iter().flatten().filter_map(Value::as_str);
    let said = all.find(|one| one.contains(words));
    let short = said.map_or_else(|| verdict(result), |one| one.replace("forced: ", ""));
    (short, said.is_some())
}

/// What a result notes, if it has this verdict and says this.
fn noted(result: &Value, wanted: &str, says: &str) -> Said {
    let notes = result["notes"].as_array().unwrap().iter();
    let said = notes
        .filter_map(Value::as_str)
        .find(|note| note.contains(says));
    // Without the rule's own words, which follow its number.
    let short = |note: &str| format!("{wanted}: {}", note.split(" (").next().unwrap());
    let words = said.map_or_else(|| verdict(result), short);
    (words, said.is_some() && result["verdict"] == wanted)
}

/// The least and the most of some delays, and whether all are the truth, but for this share of it.
fn near(truth_us: f64, most_error: f64, all: &[f64]) -> Said {
    let least = all.iter().copied().fold(f64::INFINITY, f64::min);
    let most = all.iter().copied().fold(0.0, f64::max);
    let is_near = [least, most].map(|one| (one / truth_us - 1.0).abs() <= most_error);
    let words = match all.len() {
        1 => format!("{least:.0} us"),
        count => format!("{least:.0} to {most:.0} us in {count} points"),
    };
    (words, is_near == [true, true])
}

/// Medians of delays, less what a wire takes in the same round.
fn medians<'a>(found: impl Iterator<Item = &'a Value>) -> Vec<f64> {
    let delays = found.filter_map(|one| {
        let wire = one["baseline"]["wire"]["p50"].as_f64().unwrap_or(0.0);
        Some((one["delay"]["p50"].as_f64()? - wire) / 1e3)
    });
    delays.collect()
}

fn held(found: &[Value]) -> Said {
    let kinds = found.iter().filter(|one| one["point"]["kind"] != "knee");
    near(HELD_US, MOST_ERROR, &medians(kinds))
}

fn late(found: &[Value]) -> Said {
    // Statistics of many rules take their own time.
    let is_short = |one: &&Value| !one["point"]["kind"].to_string().contains("flow");
    let delays = medians(found.iter().filter(is_short));
    near(LATE.as_micros() as f64, MOST_ERROR, &delays)
}

fn late_first(found: &[Value]) -> Said {
    let delays = medians(found.iter());
    near(LATE.as_micros() as f64, MOST_ERROR_OF_FIRST, &delays)
}

fn too_long(found: &[Value]) -> Said {
    let large = found.iter().find(|one| one["point"]["bytes"] == 1_614);
    says(large.unwrap(), "dropped")
}

/// A rate that the meter ended is said to be a bound.
fn bound(found: &[Value]) -> Said {
    let rate = metric(&found[0], "rate");
    let notes = found[0]["notes"].to_string();
    let is_bound = notes.contains("at least") && rate > 100.0;
    (format!("at least {rate:.0}/s"), is_bound)
}

impl Truth {
    fn measured(&self, version: &str) -> Vec<Value> {
        let mut words = vec![self.case, "--stall", "2"];
        if matches!(self.fault, Line(_) | Lies(Lie::LateAnswers)) {
            words.extend(SLOWLY);
        }
        match self.fault {
            Lies(fault) => found_of(fault, version, &words),
            Line(faults) => {
                words.extend(["--openflow", version]);
                let mut found = Vec::new();
                alone(|| {
                    let (_plant, _line) = Plant::with_line(faults);
                    found = measured_at(SWITCH, &Folder::new(), &words);
                });
                found
            }
            SetUp(setup) => measured(&Folder::new(), &[self.case, "--setup", setup]),
        }
    }

    /// What the meter says in a version, and how often it was tried.
    fn say(&self, version: &str) -> (Said, usize) {
        let mut said = (String::new(), false);
        for attempt in 1..=TRIES {
            said = (self.said)(&self.measured(version));
            if said.1 {
                return (said, attempt);
            }
        }
        (said, TRIES)
    }
}

#[test]
#[ignore = "long: all cases, at rest and beside busy loops"]
fn what_is_true_of_each_case_is_said_at_rest_and_beside_busy_loops() {
    let mut table = String::from("| case | OpenFlow | truth | at rest | beside 2 busy loops |\n");
    let mut wrong = Vec::new();
    for truth in TRUTHS {
        for version in truth.versions {
            let mut cells = Vec::new();
            for loops in [0, BUSY_LOOPS] {
                let _busy = busy_loops(loops);
                let ((words, is_true), attempts) = truth.say(version);
                if !is_true {
                    wrong.push(format!("{} {version}, {loops} loops: {words}", truth.case));
                }
                let again = format!(" (attempt {attempts})");
                cells.push(words + if attempts > 1 { &again } else { "" });
            }
            let row = format!(
                "| {} | {version} | {} | {} |\n",
                truth.case,
                truth.truth,
                cells.join(" | ")
            );
            eprint!("{row}");
            table += &row;
        }
    }
    println!("{table}");
    assert!(wrong.is_empty(), "{wrong:#?}");
}
