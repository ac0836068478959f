//! `cargo xtask check` and `cargo xtask ci`: the gate, as a list of steps in tiers.

use std::net::{Ipv6Addr, TcpListener};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use crate::dist::{self, BuildKind};
use crate::reference::{self, PageAction};
use crate::{cost, e2e, examples, fuzz, mutants, python, size, tidy, tree};

/// The tiers of steps: each includes the one before.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
pub(crate) enum Tier {
    /// Static checks.
    Lint,
    /// Also unit tests: 2 minutes after the build.
    Check,
    /// Also all but the long steps: 20 minutes more.
    Test,
    /// All steps.
    All,
}

/// A step's name, its tier, and what it does.
type CiStep<'a> = (&'a str, Tier, &'a dyn Fn() -> Result<(), String>);

/// Runs the steps of a tier in order, up to the first that fails.
///
/// Errors: that step.
pub(crate) fn run(root: &Path, target: &Path, tier: Tier) -> Result<(), String> {
    let steps: [CiStep; 20] = [
        ("format", Tier::Lint, &|| format_check(root)),
        ("tidy", Tier::Lint, &|| tidy::run(root)),
        ("size", Tier::Lint, &|| size::run(root)),
        ("lints", Tier::Lint, &|| {
            cargo(
                "clippy --locked --workspace --all-targets -- --deny warnings",
                |_| {},
            )
        }),
        ("tests", Tier::Check, &|| {
            unit_tests(root, &long_arguments(tier, &["--", "--include-ignored"]))
        }),
        ("fast path as released", Tier::Test, &fast_path_as_released),
        ("long bundles as released", Tier::All, &long_bundles),
        ("documentation", Tier::Test, &|| {
            cargo(
                "doc --locked --workspace --no-deps --document-private-items",
                |c| {
                    c.env("RUSTDOCFLAGS", "--deny warnings");
                },
            )
        }),
        ("oflib as a package", Tier::Test, &|| {
            cargo(
                "package --locked --offline --package bofuss-oflib --allow-dirty",
                |_| {},
            )
        }),
        ("reference", Tier::Test, &|| {
            reference::run(root, PageAction::Compare)
        }),
        ("cost", Tier::Test, &|| cost::run(root, target, "")),
        ("lints of the tutorials", Tier::Test, &|| {
            cost::check(root, target, "lint")
        }),
        ("packages", Tier::Test, &|| packages(root, target, tier)),
        ("end to end", Tier::Test, &|| {
            e2e::run(root, target, &long_arguments(tier, &["--include-ignored"]))
        }),
        ("python", Tier::Test, &|| python::run(root, target, &[])),
        ("examples", Tier::Test, &|| examples::run(root, target, "")),
        ("cost after each tutorial", Tier::All, &|| {
            cost::run_after_each(root, target)
        }),
        ("tests of the tutorials", Tier::All, &|| {
            cost::check(root, target, "check")
        }),
        ("mutants", Tier::All, &|| mutants::run(root, target, "")),
        ("fuzz", Tier::All, &|| fuzz::run(root, target, &[])),
    ];
    let mut times = Vec::new();
    for (name, _, step) in steps.iter().filter(|(_, of, _)| *of <= tier) {
        println!("\n== {name}");
        let start = Instant::now();
        step().map_err(|e| format!("step `{name}` failed: {e}"))?;
        times.push(format!("{name} {} s", start.elapsed().as_secs()));
    }
    println!("\nall steps passed: {}", times.join(", "));
    Ok(())
}

/// Arguments that a step has in the long tier only.
fn long_arguments(tier: Tier, arguments: &[&str]) -> Vec<String> {
    match tier {
        Tier::All => arguments.iter().map(|a| a.to_string()).collect(),
        Tier::Lint | Tier::Check | Tier::Test => Vec::new(),
    }
}

/// Folders whose modules are declared by a macro, so that `cargo fmt` does not find them.
const DECLARED_BY_MACROS: [&str; 2] = ["ext/src", "datapath/src/egress"];

/// Checks that all files are formatted, those of [`DECLARED_BY_MACROS`] among them.
fn format_check(root: &Path) -> Result<(), String> {
    cargo("fmt --all --check", |_| {})?;
    for folder in DECLARED_BY_MACROS {
        let folder = root.join(folder);
        let files = tree::files(&folder)?;
        let mut rustfmt = Command::new("rustfmt");
        rustfmt.current_dir(&folder);
        rustfmt.args(["--check", "--edition", "2024"]);
        rustfmt.args(files.iter().filter(|path| tree::is(path, "rs")));
        succeed(&mut rustfmt)?;
    }
    Ok(())
}

/// Makes the packages: optimised ones in the long tier. Skips this if a tool for it is missing,
/// except in continuous integration.
fn packages(root: &Path, target: &Path, tier: Tier) -> Result<(), String> {
    let kind = match tier {
        Tier::All => BuildKind::Release,
        Tier::Lint | Tier::Check | Tier::Test => BuildKind::Debug,
    };
    match dist::prepare(kind).err() {
        Some(missing) if std::env::var_os("CI").is_none() => {
            println!("not run: {missing}");
            Ok(())
        }
        Some(_) | None => dist::run(root, target, kind),
    }
}

/// Runs the unit tests. Some connect by IPv6: if this machine's loopback has none, each test
/// program runs in a network namespace of its own.
fn unit_tests(root: &Path, arguments: &[String]) -> Result<(), String> {
    cargo("test --locked --workspace --exclude bofuss-tests", |c| {
        if TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_err() {
            c.args(["--config", &e2e::isolating(root)]);
        }
        c.args(arguments);
    })
}

/// Runs the fast path's tests without debug assertions.
fn fast_path_as_released() -> Result<(), String> {
    cargo(
        "test --locked --release -p bofuss-datapath --lib fast::",
        |_| {},
    )
}

/// Runs the tests of atomic commits in release mode: a debug build is too slow for long bundles.
fn long_bundles() -> Result<(), String> {
    cargo(
        "test --locked --release -p bofuss-agent --test bundles atomic::",
        |_| {},
    )
}

/// Runs cargo with `words`, after `more` has added to the command.
///
/// Errors: the command, when it does not succeed.
pub(crate) fn cargo(words: &str, more: impl FnOnce(&mut Command)) -> Result<(), String> {
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

/// Runs a command. Errors: the command, when it does not succeed.
pub(crate) fn succeed(command: &mut Command) -> Result<(), String> {
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{status}: {command:?}")),
        Err(e) => Err(format!("{e}: {command:?}")),
    }
}

/// What a command prints. Errors: the command and its error output, when it does not succeed.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let output = command.output().map_err(|e| format!("{e}: {command:?}"))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(format!("{}: {command:?}: {said}", output.status));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}
