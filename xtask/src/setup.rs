//! Asks `setup.sh` for what tests need: Pythons, and namespaces that isolate test programs.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::command;

/// The argument of `--config` that makes cargo run each test program in a network namespace of its
/// own.
pub(crate) fn isolating(root: &Path) -> String {
    let setup = root.join("xtask/setup.sh").display().to_string();
    format!("target.'cfg(all())'.runner = ['sh', '{setup}', 'isolate']")
}

/// The path of the Python of a virtual environment; makes the environment if it is missing.
///
/// Errors: it cannot be made.
pub(crate) fn environment(root: &Path, name: &str) -> Result<String, String> {
    run(root, &["venv", name])
}

/// Returns the output of a verb of `setup.sh`. Errors: it fails.
pub(crate) fn run(root: &Path, words: &[&str]) -> Result<String, String> {
    let mut setup = Command::new("sh");
    setup.arg(root.join("xtask/setup.sh")).args(words);
    let output = command::output(setup.stderr(Stdio::inherit()))?;
    Ok(output.trim().to_string())
}
