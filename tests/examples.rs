//! The Python helper of the examples writes what the extensions read; the examples themselves run
//! by `cargo xtask examples`.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::Command;

use bofuss_tests::{have, ok, python};

#[test]
fn the_helper_for_state_machines_writes_the_bytes_of_the_vectors() {
    if have(&["python3"]) {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut machine = Command::new(python());
        ok(machine.arg("-B").arg(here.join("machine.py")));
    }
}
