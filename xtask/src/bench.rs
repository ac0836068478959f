//! `cargo xtask bench`: builds what is measured, then runs `ofmeter bench` where interfaces can be
//! made and vanish.

use std::path::Path;
use std::process::Command;

use crate::ci;

/// What is built: the switch, the measuring tool, and the bare forwarder, an example of `ports`.
const BUILDS: [&str; 2] = [
    "build --locked --release --package bofuss-switchd --package bofuss-measure",
    "build --locked --release --package bofuss-ports --example yardstick",
];

/// Builds and runs; `arguments` are those of `ofmeter bench`.
///
/// Errors: what failed, or a wrong result.
pub(crate) fn run(root: &Path, target: &Path, arguments: &[String]) -> Result<(), String> {
    for build in BUILDS {
        ci::cargo(build, |_| {})?;
    }
    let mut isolated = Command::new("sh");
    isolated
        .arg(root.join("xtask/setup.sh"))
        .arg("isolate")
        .arg(target.join("release/ofmeter"));
    isolated
        .args(["bench", "--out"])
        .arg(target.join("bench"))
        .args(arguments);
    match isolated.status().map_err(|e| format!("sh: {e}"))?.success() {
        true => Ok(()),
        false => Err("bench: see above".into()),
    }
}
