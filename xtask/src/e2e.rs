//! `cargo xtask e2e`: runs the end-to-end tests of `tests/`, each binary in a network of its own.
//!
//! They find the programs under test in `BOFUSS_BIN_DIR`, their packages in `BOFUSS_DIST` and
//! Python with the controllers in `BOFUSS_PYTHON`; `CI=true` turns a skip into a failure. The long
//! ones are `#[ignore]`.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::{ci, dist};

/// Builds the programs under test, then runs the tests with `arguments` for `cargo test`.
///
/// Errors: the step that failed.
pub(crate) fn run(root: &Path, target: &Path, arguments: &[String]) -> Result<(), String> {
    let long = arguments.iter().any(|word| word == "--include-ignored");
    let python = python(root)?;
    ci::cargo(
        "build --locked --package bofuss-switchd --package bofuss-dpctl --package bofuss-oflib \
         --package bofuss-capi --lib --bins --examples",
        |_| {},
    )?;
    ci::cargo("test --locked --package bofuss-tests", |cargo| {
        cargo.args(["--config", &isolating(root)]).args(arguments);
        cargo
            // One at a time: they share a network, and few cores.
            .env("RUST_TEST_THREADS", "1")
            .env("BOFUSS_PYTHON", python)
            .env("BOFUSS_DIST", dist::folder(target, !long))
            .env("BOFUSS_BIN_DIR", target.join("debug"));
    })
}

/// What makes cargo run each test program in a network of its own, as an argument of `--config`.
pub(crate) fn isolating(root: &Path) -> String {
    let setup = root.join("xtask/setup.sh");
    format!(
        "target.'cfg(all())'.runner = ['sh', '{}', 'isolate']",
        setup.display()
    )
}

/// The Python with the controllers, in an environment that is made if it is missing.
///
/// Errors: it cannot be made.
pub(crate) fn python(root: &Path) -> Result<String, String> {
    environment(root, "venv")
}

/// The Python of one of the tests' environments, which is made if it is missing.
///
/// Errors: it cannot be made.
pub(crate) fn environment(root: &Path, name: &str) -> Result<String, String> {
    let mut venv = Command::new("sh");
    venv.arg(root.join("xtask/setup.sh")).args(["venv", name]);
    let venv = venv
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("sh: {e}"))?;
    if !venv.status.success() {
        return Err("no Python environment; see above".into());
    }
    Ok(String::from_utf8_lossy(&venv.stdout).trim().to_string())
}
