//! Runs commands, cargo's among them, one by one or side by side.

use std::path::Path;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

/// End-to-end tests and examples that run at the same time. It may exceed the cores, because they
/// mostly wait.
const AT_A_TIME: usize = 3;

/// How many of them are tried again if they fail: if more do, it is not for want of time.
const MOST_AGAIN: usize = 6;

/// Builds all libraries, programs and examples of the tree. Steps that need some of them build all:
/// a package alone would select other features of its libraries, and compile them again.
///
/// Errors: it does not build.
pub(crate) fn build_all() -> Result<(), String> {
    cargo("build --locked --workspace --lib --bins --examples")
}

/// Runs cargo with `words`. Errors: the command, when it does not succeed.
pub(crate) fn cargo(words: &str) -> Result<(), String> {
    succeed(&mut cargo_command(words))
}

/// Runs cargo with `words`, after `more` has added to the command.
///
/// Errors: the command, when it does not succeed.
pub(crate) fn cargo_with(words: &str, more: impl FnOnce(&mut Command)) -> Result<(), String> {
    let mut cargo = cargo_command(words);
    more(&mut cargo);
    succeed(&mut cargo)
}

/// Cargo with `words`, as a shell would run it.
///
/// `cargo run` sets variables that describe the xtask package. Build scripts that watch one of
/// them, such as ring's `CARGO_MANIFEST_DIR`, would be run again for us, and again for the next
/// build from a shell.
pub(crate) fn cargo_command(words: &str) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_MANIFEST_") || name.starts_with("CARGO_PKG_") {
            cargo.env_remove(&*name);
        }
    }
    cargo.args(words.split(' '));
    cargo
}

/// Does some work for each item, for [`AT_A_TIME`] at the same time.
///
/// Errors: those of [`so_many_at_a_time`].
pub(crate) fn side_by_side<Item: Send>(
    items: Vec<Item>,
    work: impl Fn(&mut Item) -> Result<(), String> + Sync,
) -> Result<(), String> {
    so_many_at_a_time(AT_A_TIME, items, work)
}

/// Does some work for each item, for so many at the same time, in their order. What fails is tried
/// once more, alone: beside others, a test may have to wait for longer than it has patience. Work
/// that fails may note in its item which part of it is to be tried again.
///
/// Errors: those of the items that fail alone, too; all, if more than [`MOST_AGAIN`] fail.
pub(crate) fn so_many_at_a_time<Item: Send>(
    number: usize,
    items: Vec<Item>,
    work: impl Fn(&mut Item) -> Result<(), String> + Sync,
) -> Result<(), String> {
    let waiting = Mutex::new(items.into_iter());
    let failed = Mutex::new(Vec::new());
    thread::scope(|scope| {
        for _ in 0..number {
            scope.spawn(|| {
                loop {
                    // The lock is released before the work begins.
                    let next = waiting.lock().expect("no thread panics").next();
                    let Some(mut item) = next else { break };
                    if let Err(e) = work(&mut item) {
                        failed.lock().expect("no thread panics").push((item, e));
                    }
                }
            });
        }
    });
    let failed = failed.into_inner().expect("no thread panicked");
    let is_tried_again = failed.len() <= MOST_AGAIN;
    let mut failures = Vec::new();
    for (mut item, failure) in failed {
        if is_tried_again {
            println!("beside others: {failure}; once more, alone:");
        }
        match is_tried_again.then(|| work(&mut item)) {
            Some(Ok(())) => println!("alone it succeeded, beside others: {failure}"),
            _ => failures.push(failure),
        }
    }
    all_succeeded(&failures)
}

/// Errors: the failures, if there are any.
pub(crate) fn all_succeeded(failures: &[String]) -> Result<(), String> {
    if failures.is_empty() {
        Ok(())
    } else {
        Err(failures.join("; "))
    }
}

/// Runs a command. Errors: the command, when it does not succeed.
pub(crate) fn succeed(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{status}: {command:?}")),
        Err(e) => Err(format!("{e}: {command:?}")),
    }
}

/// Returns the output of a command. Errors: the command and its error output, when it does not
/// succeed.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{e}: {command:?}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {command:?}: {said}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Runs a script in a folder. Errors: the command, when it does not succeed.
pub(crate) fn sh(folder: &Path, script: &str) -> Result<(), String> {
    succeed(
        Command::new("sh")
            .args(["-euc", script])
            .current_dir(folder),
    )
}
