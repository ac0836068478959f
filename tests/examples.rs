//! The helpers in Python write what the extensions read; the examples themselves run by
//! `cargo xtask examples`.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use bofuss_tests::{have, ok, python};

/// Runs a program of Python in this folder, which holds a helper to vectors.
fn holds(name: &str) {
    if have(&["python3"]) {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        ok(Command::new(python()).arg("-B").arg(here.join(name)));
    }
}

#[test]
fn the_helper_for_state_machines_writes_the_bytes_of_the_vectors() {
    holds("machine.py");
}

#[test]
fn the_helper_for_state_machines_says_each_time_that_its_connection_has_closed() {
    holds("closed.py");
}

#[test]
fn the_helper_for_openqflow_writes_and_reads_the_bytes_of_the_vectors() {
    holds("qflow.py");
}
