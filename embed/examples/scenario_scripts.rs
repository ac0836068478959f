//! Prints the scenarios of `testdata/scenarios` as scripts, call by call with the effects, so that
//! switches in a network or in other languages can be compared. A script begins with
//! `scenario NAME`. The argument is the number of nanoseconds between calls.
#![allow(clippy::unwrap_used)]
#![allow(dead_code, unused_imports, reason = "what only tests use")]

#[path = "../tests/common/mod.rs"]
mod common;

fn main() {
    let step_nanos = std::env::args()
        .nth(1)
        .map_or(0, |step| step.parse().unwrap());
    for (name, script) in common::played(step_nanos) {
        print!("scenario {name}\n{script}");
    }
}
