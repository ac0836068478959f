//! What the meter must not exceed on a switch that it did not start.
#![allow(clippy::unwrap_used)]

use crate::plant::{Folder, Plant, SWITCH, alone, measured_at};

/// Rules that a switch has room for, and cases that would need a few more if they took the next
/// number of rules without those that they add next to them.
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
