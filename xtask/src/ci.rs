//! `cargo xtask check` and `cargo xtask ci`: the gate, as a list of steps in tiers.

use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Instant;

use crate::command::{all_succeeded, cargo, cargo_with, succeed};
use crate::package::BuildKind;
use crate::reference::{self, PageAction};
use crate::{
    cost, dist, e2e, examples, fuzz, mutants, python, rooms, setup, site, size, tidy, tree, unit,
};

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

/// The kind of work that takes most of the time of a step.
#[derive(Clone, Copy, PartialEq)]
enum StepLoad {
    /// It computes, and later steps need it or fail with it.
    Computes,
    /// It waits, for what takes its time or is measured.
    Waits,
    /// It computes, and may do so whenever other steps wait.
    Behind,
    /// The same, but parts of it have limits of time. If it fails behind other steps, it is tried
    /// once more, alone.
    BehindAtFirst,
}

/// A step's name, its tier, what it does most of the time, and what it does.
type CiStep<'a> = (&'a str, Tier, StepLoad, &'a dyn Fn() -> Result<(), String>);

/// Runs the steps of a tier: first those that compute, up to the first that fails, then those that
/// wait, and meanwhile those behind them.
///
/// Errors: the steps that failed.
pub(crate) fn run(root: &Path, target: &Path, tier: Tier) -> Result<(), String> {
    with_steps(root, target, tier, |steps| {
        let mut times = Vec::new();
        for step in of_load(steps, tier, StepLoad::Computes) {
            times.push(timed(step)?);
        }
        let at_first = of_load(steps, tier, StepLoad::BehindAtFirst);
        let all_behind: Vec<_> = at_first
            .chain(of_load(steps, tier, StepLoad::Behind))
            .collect();
        let names: Vec<&str> = all_behind.iter().map(|step| step.0).collect();
        let (waited, results) = thread::scope(|scope| {
            let all = || names.iter().map(|name| behind(name)).collect::<Vec<_>>();
            let meanwhile = scope.spawn(all);
            let waiting = of_load(steps, tier, StepLoad::Waits).map(timed);
            let waited = waiting.collect::<Result<Vec<_>, _>>();
            (waited, meanwhile.join().expect("no step panics"))
        });
        let mut failures = Vec::new();
        for (step, result) in all_behind.into_iter().zip(results) {
            match or_alone(step, result) {
                Ok(time) => times.push(time),
                Err(e) => failures.push(e),
            }
        }
        match waited {
            Ok(part) => times.extend(part),
            Err(e) => failures.push(e),
        }
        all_succeeded(&failures)?;
        println!("\nall steps passed: {}", times.join(", "));
        Ok(())
    })
}

/// The result of a step behind others; or that of the step alone, if it failed and is tried again.
fn or_alone(step: &CiStep<'_>, result: Result<String, String>) -> Result<String, String> {
    match result {
        Err(e) if step.2 == StepLoad::BehindAtFirst => {
            println!("behind others: {e}; once more, alone:");
            timed(step)
        }
        Ok(_) | Err(_) => result,
    }
}

/// The steps of a tier that do this most of the time.
fn of_load<'s, 'a>(
    steps: &'s [CiStep<'a>],
    tier: Tier,
    load: StepLoad,
) -> impl Iterator<Item = &'s CiStep<'a>> {
    let of_tier = steps.iter().filter(move |step| step.1 <= tier);
    of_tier.filter(move |step| step.2 == load)
}

/// Runs one step of any tier.
///
/// Errors: no step has this name, or it failed.
pub(crate) fn run_step(root: &Path, target: &Path, name: &str) -> Result<(), String> {
    with_steps(root, target, Tier::Test, |steps| {
        let step = steps.iter().find(|step| step.0 == name);
        let names: Vec<&str> = steps.iter().map(|step| step.0).collect();
        step.ok_or(format!("the steps are: {}", names.join(", ")))?
            .3()
    })
}

/// Runs a step. Returns its name and its time.
fn timed((name, _, _, step): &CiStep<'_>) -> Result<String, String> {
    println!("\n== {name}");
    let start = Instant::now();
    step().map_err(|e| format!("step `{name}` failed: {e}"))?;
    Ok(format!("{name} {} s", start.elapsed().as_secs()))
}

/// Runs a step in a process that computes only while all others wait, and then prints what it
/// printed.
fn behind(name: &str) -> Result<String, String> {
    let start = Instant::now();
    // This program, even if a step has built it anew.
    let xtask = format!("/proc/{}/exe", std::process::id());
    // Where a process may not choose its priority, the step takes the usual one.
    let script = "chrt --idle --pid 0 $$; exec \"$@\"";
    let mut idle = Command::new("sh");
    idle.args(["-c", script, "sh", &xtask, "step", name]);
    let output = idle.output().map_err(|e| format!("sh: {e}"))?;
    let out = String::from_utf8_lossy(&output.stdout);
    let err = String::from_utf8_lossy(&output.stderr);
    let seconds = start.elapsed().as_secs();
    println!("\n== {name}, meanwhile\n{err}{out}");
    if !output.status.success() {
        return Err(format!("step `{name}` failed: see its lines above"));
    }
    Ok(format!("{name} {seconds} s meanwhile"))
}

/// What the step of the unit tests does most of the time: a step behind others does what it does
/// without the long tier.
fn load_of_tests(tier: Tier) -> StepLoad {
    match tier {
        Tier::Test => StepLoad::BehindAtFirst,
        Tier::Lint | Tier::Check | Tier::All => StepLoad::Computes,
    }
}

/// Calls `use_steps` with all steps, as they are in a tier.
fn with_steps(
    root: &Path,
    target: &Path,
    tier: Tier,
    use_steps: impl FnOnce(&[CiStep<'_>]) -> Result<(), String>,
) -> Result<(), String> {
    use StepLoad::{Behind, BehindAtFirst, Computes, Waits};
    use_steps(&[
        ("format", Tier::Lint, Computes, &|| format_check(root)),
        ("tidy", Tier::Lint, Computes, &|| tidy::run(root)),
        ("size", Tier::Lint, Computes, &|| size::run(root)),
        ("lints", Tier::Lint, Computes, &|| lints(root)),
        // A step behind copies the libraries: none may be in the making.
        ("programs", Tier::Test, Computes, &|| all_programs(root)),
        ("tests", Tier::Check, load_of_tests(tier), &|| {
            unit::run(root, &long_arguments(tier))
        }),
        ("site", Tier::Test, Computes, &|| {
            site_if_possible(root, target)
        }),
        ("oldest Rust of libraries", Tier::All, Computes, &|| {
            oldest_rust(root, target)
        }),
        ("features of oflib", Tier::All, Computes, &|| {
            features_of_oflib(root)
        }),
        ("reference", Tier::Test, Computes, &|| {
            reference::run(root, target, PageAction::Compare)
        }),
        ("packages", Tier::Test, Computes, &|| {
            packages(root, target, tier)
        }),
        ("end to end", Tier::Test, Waits, &|| {
            e2e::run(root, target, &long_arguments(tier), "")
        }),
        ("end to end with two workers", Tier::All, Waits, &|| {
            // Packages are for all switches, and this tier has made them as they are released.
            e2e::run(root, target, &["--skip=packages::".into()], "2")
        }),
        ("python", Tier::Test, BehindAtFirst, &|| {
            python::run(root, target, &[])
        }),
        ("python by pip", Tier::All, Computes, &|| {
            python::by_pip(root, target)
        }),
        ("examples", Tier::Test, Waits, &|| match tier {
            Tier::All => examples::run(root, target, ""),
            Tier::Lint | Tier::Check | Tier::Test => examples::run(root, target, examples::IN_TEST),
        }),
        ("core alone", Tier::Test, Behind, &|| core_alone(target)),
        ("libraries as packages", Tier::Test, Behind, &as_packages),
        ("fast path as released", Tier::Test, Behind, &|| {
            released("-p bofuss-fastpath --lib")
        }),
        ("documentation", Tier::Test, Behind, &documentation),
        ("cost", Tier::Test, Behind, &|| cost::first(root, target)),
        ("cost of further cases", Tier::All, Behind, &|| {
            cost::others(root, target)
        }),
        ("lints of the tutorials", Tier::All, Behind, &|| {
            cost::check(root, target, "lint")
        }),
        // A debug build is too slow for long bundles.
        ("long bundles as released", Tier::All, Behind, &|| {
            released("-p bofuss-agent --test switch bundles::atomic::")
        }),
        ("sanitizers", Tier::All, Behind, &|| {
            sanitizers(root, target)
        }),
        ("tests of the tutorials", Tier::All, Behind, &|| {
            cost::check(root, target, "check")
        }),
        ("mutants", Tier::All, Behind, &|| {
            mutants::run(root, target, "")
        }),
        ("fuzz", Tier::All, Behind, &|| fuzz::run(root, target, &[])),
    ])
}

/// Lints the tree, and the core without features.
fn lints(root: &Path) -> Result<(), String> {
    cargo("clippy --locked --workspace --all-targets -- --deny warnings")?;
    core_lints(root)
}

/// Builds all programs, those of the unit tests too.
fn all_programs(root: &Path) -> Result<(), String> {
    cargo("test --locked --workspace --no-run")?;
    e2e::build(root).map(drop)
}

/// Runs tests that are optimised as what is released, without the checks of a debug build. Links
/// them as in a debug build: to optimise the libraries together takes longer than all else.
fn released(tests: &str) -> Result<(), String> {
    cargo_with(&format!("test --locked --release {tests}"), |cargo| {
        cargo.env("CARGO_PROFILE_RELEASE_LTO", "off");
        cargo.env("CARGO_PROFILE_RELEASE_CODEGEN_UNITS", "16");
    })
}

/// Packs `bofuss-embed` and all of ours that it needs as crates for a registry, and compiles oflib
/// from its package.
fn as_packages() -> Result<(), String> {
    cargo("package --locked --offline --package bofuss-oflib --allow-dirty")?;
    let mut words = String::from("package --locked --offline --allow-dirty --no-verify");
    for room in [
        "frame",
        "intrinsics",
        "oflib",
        "packet",
        "datapath",
        "disciplines",
        "fastpath",
        "agent",
        "ext",
        "p4",
        "embed",
    ] {
        words += &format!(" --package bofuss-{room}");
    }
    cargo(&words)
}

/// The arguments of test programs: only the long tier also runs the tests that others ignore.
fn long_arguments(tier: Tier) -> Vec<String> {
    let long = (tier == Tier::All).then(|| String::from("--include-ignored"));
    long.into_iter().collect()
}

/// Folders whose modules are declared by a macro, so that `cargo fmt` does not find them.
const DECLARED_BY_MACROS: [&str; 2] = ["ext/src", "disciplines/src"];

/// Checks that all files are formatted, those of [`DECLARED_BY_MACROS`] among them.
fn format_check(root: &Path) -> Result<(), String> {
    cargo("fmt --all --check")?;
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

/// Lints the core as a switch without any feature compiles it: 1.3, no text.
fn core_lints(root: &Path) -> Result<(), String> {
    let rooms = size::core(root)?;
    cargo_with("clippy --locked --no-default-features", |cargo| {
        for room in rooms {
            cargo
                .arg("--package")
                .arg(format!("{}{room}", rooms::PREFIX));
        }
        cargo.args(["--", "--deny", "warnings"]);
    })
}

/// Compiles oflib, and the switch for other programs with all that it needs, each with all features
/// and with none, by the oldest Rust that its manifest says, which rustup installs.
fn oldest_rust(root: &Path, target: &Path) -> Result<(), String> {
    for room in ["oflib", "embed"] {
        let manifest = rooms::table(&root.join(room).join("Cargo.toml"))?;
        let package = manifest.get("package");
        let version = package.and_then(|package| package.get("rust-version")?.as_str());
        let version = version.ok_or_else(|| format!("{room}/Cargo.toml: no rust-version"))?;
        for features in ["--all-features", "--no-default-features"] {
            check_by(&format!("{version}.0"), room, features, root, target)?;
        }
    }
    Ok(())
}

/// Compiles a room by another Rust, which rustup installs.
fn check_by(
    toolchain: &str,
    room: &str,
    features: &str,
    root: &Path,
    target: &Path,
) -> Result<(), String> {
    let mut rustup = Command::new("rustup");
    rustup
        .current_dir(root)
        .args(["run", "--install", toolchain, "cargo"]);
    rustup.args(["check", "--locked", "--package", &format!("bofuss-{room}")]);
    rustup.arg(features);
    rustup.arg("--target-dir").arg(target.join("oldest-rust"));
    // What cargo says about itself to its own children would choose its compiler.
    rustup
        .env_remove("CARGO")
        .env_remove("RUSTC")
        .env_remove("RUSTUP_TOOLCHAIN");
    succeed(&mut rustup)
}

/// Tests `oflib` without features, and compiles it with each of them alone.
fn features_of_oflib(root: &Path) -> Result<(), String> {
    cargo("test --locked --no-default-features --package bofuss-oflib --lib")?;
    let manifest = rooms::table(&root.join("oflib/Cargo.toml"))?;
    let features = manifest.get("features").and_then(toml::Value::as_table);
    for feature in features.into_iter().flat_map(toml::Table::keys) {
        let words = "clippy --locked --no-default-features --package bofuss-oflib --features";
        cargo(&format!("{words} {feature} -- --deny warnings"))?;
    }
    Ok(())
}

/// Builds the core without any feature, and plays transcripts of scenarios on it.
fn core_alone(target: &Path) -> Result<(), String> {
    cargo("test --locked --workspace --test core")?;
    cargo_with("run --locked --package bofuss-core --", |cargo| {
        cargo.arg(target.join("tmp/core"));
    })
}

/// Makes the site of the documentation, and checks its links. Skips this without mdBook, except in
/// continuous integration.
fn site_if_possible(root: &Path, target: &Path) -> Result<(), String> {
    match site::program() {
        Err(missing) if std::env::var_os("CI").is_none() => {
            println!("not run: {missing}");
            Ok(())
        }
        Err(_) | Ok(_) => site::run(root, target),
    }
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

/// Runs the tests that reach `unsafe` code, of frames, ports and the C interface, with
/// AddressSanitizer: it reports accesses to memory that is not the program's, and leaks. The pinned
/// compiler has it, but takes its option only with this variable.
fn sanitizers(root: &Path, target: &Path) -> Result<(), String> {
    cargo_with("test --locked --target host-tuple", |cargo| {
        for room in ["bofuss-frame", "bofuss-ports", "bofuss-capi"] {
            cargo.args(["--package", room]);
        }
        cargo.args(["--lib", "--test", "namespaces", "--test", "corpus"]);
        cargo.arg("--target-dir").arg(target.join("sanitizers"));
        cargo.args(["--config", &setup::isolating(root)]);
        cargo.env("RUSTC_BOOTSTRAP", "1");
        cargo.env("RUSTFLAGS", "-Zsanitizer=address");
    })
}

fn documentation() -> Result<(), String> {
    let words = "doc --locked --workspace --no-deps --document-private-items";
    cargo_with(words, |cargo| {
        cargo.env("RUSTDOCFLAGS", "--deny warnings");
    })
}
