//! Tests that the meter exceeds no bound of a switch that it did not start, and answers it.
#![allow(clippy::unwrap_used)]

use crate::plant::{Folder, Plant, SWITCH, alone, measured_at};

/// The number of rules that a switch has room for, and cases that would exceed it if they forgot
/// the rules that they add to those of a point.
const BOUNDS: [(&str, &[&str]); 3] = [
    ("11", &["barrier-truth", "match-type"]),
    ("50", &["first-packet"]),
    (
        "100",
        &["table-size", "stats-delay", "fm-add", "fm-mod", "fm-del"],
    ),
];

#[test]
fn no_case_gives_a_switch_more_rules_than_permitted() {
    // A table that is full says so: then the verdict is another one.
    for (limit, cases) in BOUNDS {
        alone(|| {
            let _plant = Plant::new(&["--max-entries", limit]);
            let folder = Folder::new();
            let found = measured_at(SWITCH, &folder, &[cases, &["--max-rules", limit]].concat());
            for result in &found {
                let name = result["point"]["name"].as_str().unwrap();
                assert_eq!(result["verdict"], "ok", "{limit}: {name} {result}");
                let notes = result["notes"].to_string();
                if result["case"] == "table-size" && name.starts_with("limit") {
                    assert!(notes.contains("--max-rules ended the fill"), "{notes}");
                }
            }
            // Ten rules and two next to them are more than 11: the first case has no point there.
            for case in cases.iter().filter(|case| **case != "barrier-truth") {
                assert!(found.iter().any(|result| result["case"] == *case), "{case}");
            }
        });
    }
}

#[test]
fn a_switch_that_asks_whether_its_controller_lives_gets_answers_during_a_load() {
    alone(|| {
        let _plant = Plant::new(&["--inactivity-probe", "1"]);
        let folder = Folder::new();
        // The frames of a point take four seconds.
        let slowly = ["mode-speedup", "--max-rate", "30", "--frames", "60"];
        for result in measured_at(SWITCH, &folder, &slowly) {
            assert_eq!(result["verdict"], "ok", "{result}");
        }
    });
}
