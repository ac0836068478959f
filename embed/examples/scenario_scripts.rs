//! Prints what the scenarios of `testdata/scenarios` give a switch, call by call, and what it does:
//! switches in other surroundings and languages do the same. A script begins with `scenario NAME`.
//! The argument is how many nanoseconds there are between calls.
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
