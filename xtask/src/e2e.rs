//! `cargo xtask e2e`: runs the end-to-end tests of `tests/`, each test program in namespaces of its
//! own (network, processes, mounts).
//!
//! They find the programs under test in `BOFUSS_BIN_DIR`, the packages in `BOFUSS_DIST`, and a
//! Python that has the controllers in `BOFUSS_PYTHON`. With `BOFUSS_WORKERS=2`, the switches of
//! their labs have two workers. With `CI=true`, a test that cannot run fails instead of being
//! skipped. Long tests are `#[ignore]`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::Deserialize;

use crate::package::BuildKind;
use crate::{command, dist, setup, tree};

/// The programs that take longest, in this order. They begin first, so that the end does not wait
/// for one of them.
const LONGEST: [&str; 10] = [
    "ofmeter",
    "fairness",
    "mininet",
    "faults",
    "memory",
    "accelerator",
    "workers",
    "exports",
    "translated",
    "packages",
];

/// The programs that are groups of programs: each module is run as one.
const GROUPS: [&str; 3] = ["around", "daemon", "openflow"];

/// Modules of the longest program, which takes as long as all others side by side. Their tests run
/// beside its other tests, in namespaces of their own: each part is about half of it.
const APART: [&str; 6] = [
    "coverage",
    "interrupted",
    "lies",
    "published",
    "set_ups",
    "truths",
];

/// A test program, as cargo's JSON messages describe what was built.
#[derive(Clone, Deserialize)]
pub(crate) struct TestProgram {
    target: TestTarget,
    profile: TestProfile,
    manifest_path: PathBuf,
    executable: PathBuf,
    /// The tests to run, by name, or none for all.
    #[serde(skip)]
    only: Vec<String>,
    /// The tests not to run, by their modules.
    #[serde(skip)]
    skipped: Vec<String>,
    #[serde(skip)]
    has_failed: bool,
}

#[derive(Clone, Deserialize)]
struct TestTarget {
    name: String,
}

#[derive(Clone, Deserialize)]
struct TestProfile {
    test: bool,
}

impl TestProgram {
    /// The folder of its package, where cargo would run it.
    pub(crate) fn folder(&self) -> &Path {
        self.manifest_path
            .parent()
            .expect("a manifest is in a folder")
    }

    /// Returns true if its last run failed.
    pub(crate) fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Adds the program to a command that runs it: its path, `arguments`, and the tests to run.
    pub(crate) fn add_to(&self, command: &mut Command, arguments: &[String]) {
        command
            .arg(&self.executable)
            .args(arguments)
            .args(&self.only);
        for module in &self.skipped {
            command.args(["--skip", module]);
        }
    }

    /// A program of this name that has only the tests of some modules.
    fn only_of(&self, name: &str, modules: &[&str]) -> Self {
        let mut part = self.clone();
        part.target.name = name.into();
        part.only = modules.iter().map(|name| format!("{name}::")).collect();
        part
    }

    /// Takes the tests of some modules out of the program. Returns one that has only these.
    fn split_off(&mut self, modules: &[&str]) -> Self {
        let apart = self.only_of(&format!("{}-apart", self.target.name), modules);
        self.skipped.clone_from(&apart.only);
        apart
    }

    /// Runs a command that runs the program, then prints all its output at once. The next run is
    /// one of those of its tests that failed.
    ///
    /// Errors: its name, when it does not succeed.
    pub(crate) fn run(&mut self, command: &mut Command) -> Result<(), String> {
        let folder = self.folder().file_name().unwrap_or_default().display();
        let name = format!("{folder}: {}", self.target.name);
        let output = command.output().map_err(|e| format!("{name}: {e}"))?;
        let out = String::from_utf8_lossy(&output.stdout);
        let err = String::from_utf8_lossy(&output.stderr);
        println!("{name}:\n{err}{out}");
        self.has_failed = !output.status.success();
        if !self.has_failed {
            return Ok(());
        }
        let failed = failed_tests(&out);
        if !failed.is_empty() {
            self.only = failed;
        }
        Err(format!("{name} failed"))
    }
}

/// The state that the threads share which run test programs.
struct Run<'a> {
    root: &'a Path,
    /// The arguments of each test program.
    arguments: &'a [String],
    /// The number of workers of each switch that can have several, or empty for the switch's own.
    workers: &'a str,
    python: String,
    /// The folder of the programs under test.
    programs: PathBuf,
    /// The folder of their packages.
    packages: PathBuf,
    /// Has a folder for temporary files of each test program. Their file names have the process id,
    /// which two may share, because each runs in a PID namespace of its own.
    scratch: PathBuf,
}

/// Builds the programs under test, then runs each test program with `arguments`, and its switches
/// with so many workers, or as many as they have by themselves.
///
/// Errors: the step that failed, or the test programs that failed.
pub(crate) fn run(
    root: &Path,
    target: &Path,
    arguments: &[String],
    workers: &str,
) -> Result<(), String> {
    let is_long = arguments.iter().any(|word| word == "--include-ignored");
    let kind = if is_long {
        BuildKind::Release
    } else {
        BuildKind::Debug
    };
    let mut tests = build(root)?;
    // Words would name tests besides those of a part.
    if arguments.iter().all(|word| word.starts_with('-')) {
        tests = divided(root, tests)?;
    }
    if is_long {
        prepare_interop(root)?;
    }
    let run = Run {
        root,
        arguments,
        workers,
        python: setup::environment(root, "venv")?,
        programs: target.join("debug"),
        packages: dist::folder(target, kind),
        scratch: std::env::temp_dir().join(format!("bofuss-e2e-{}", std::process::id())),
    };
    let result = command::side_by_side(tests, |test| run.test(test));
    // If files of a test cannot be removed, they do no harm.
    drop(std::fs::remove_dir_all(&run.scratch));
    result
}

/// Fetches the libraries that read what a switch says. Errors: one cannot be had.
fn prepare_interop(root: &Path) -> Result<(), String> {
    setup::run(root, &["java"])?;
    setup::environment(root, "venv-interop").map(drop)
}

/// Builds the programs under test and the test programs. Returns those.
///
/// Errors: it does not build.
pub(crate) fn build(root: &Path) -> Result<Vec<TestProgram>, String> {
    command::build_all()?;
    let manifest = root.join("tests/Cargo.toml");
    build_tests(&manifest, &tree::target_names(&manifest, "test")?)
}

/// Builds the test programs of these names of the package `manifest`. The command names the whole
/// workspace, so that cargo takes the libraries of the unit tests: a package alone would select
/// other features, and compile them again.
///
/// Errors: it does not build.
fn build_tests(manifest: &Path, names: &[String]) -> Result<Vec<TestProgram>, String> {
    let mut cargo = command::cargo_command("test --locked --workspace --no-run");
    for name in names {
        cargo.args(["--test", name]);
    }
    let mut programs = built(&mut cargo)?;
    programs.retain(|program| program.manifest_path == manifest);
    Ok(programs)
}

/// The programs that run by themselves, in their order: the modules of [`GROUPS`], the two parts of
/// the longest, and all others.
///
/// Errors: the file of a group cannot be read.
fn divided(root: &Path, programs: Vec<TestProgram>) -> Result<Vec<TestProgram>, String> {
    let mut all = Vec::new();
    for mut program in programs {
        let name = program.target.name.clone();
        if name == LONGEST[0] {
            all.push(program.split_off(&APART));
        }
        if !GROUPS.contains(&&*name) {
            all.push(program);
            continue;
        }
        let modules = modules(root, &name)?;
        let parts = modules.iter();
        all.extend(parts.map(|one| program.only_of(one, &[one.as_str()])));
    }
    all.sort_by_key(|program| place(&program.target.name));
    Ok(all)
}

/// The modules of a group of programs.
///
/// Errors: its file cannot be read.
fn modules(root: &Path, group: &str) -> Result<Vec<String>, String> {
    let text = tree::read(&root.join("tests").join(group).with_extension("rs"))?;
    let lines = text.lines();
    let names = lines.filter_map(|line| line.strip_prefix("mod ")?.strip_suffix(';'));
    Ok(names.map(String::from).collect())
}

/// Runs a command of cargo that builds test programs, among others, and has it say so in JSON; what
/// the compiler says is printed. Returns the test programs.
///
/// Errors: it does not build.
pub(crate) fn built(cargo: &mut Command) -> Result<Vec<TestProgram>, String> {
    cargo.arg("--message-format=json-render-diagnostics");
    let messages = command::output(cargo.stderr(Stdio::inherit()))?;
    // Only programs have an `executable`. Lines that are not JSON are not from cargo.
    let programs = messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let is_test = |program: &TestProgram| program.profile.test;
    Ok(programs.filter(is_test).collect())
}

/// The names of the tests that failed, by what a test program printed; empty if it does not name
/// all, because it was killed, or because something else is on the line of one.
fn failed_tests(out: &str) -> Vec<String> {
    let names = out
        .lines()
        .filter_map(|line| line.strip_prefix("test ")?.strip_suffix(" ... FAILED"));
    let names: Vec<String> = names.map(String::from).collect();
    let mut results = out
        .lines()
        .filter_map(|line| line.strip_prefix("test result: FAILED. "));
    let number = results.next_back().and_then(|result| {
        let (_, rest) = result.split_once(" passed; ")?;
        let (number, _) = rest.split_once(" failed; ")?;
        number.parse::<usize>().ok()
    });
    if number == Some(names.len()) {
        names
    } else {
        Vec::new()
    }
}

/// The place of a program, or of a part of one, among those of [`LONGEST`]; all others have the
/// same, after these.
fn place(name: &str) -> usize {
    let whole = name.strip_suffix("-apart").unwrap_or(name);
    let place = LONGEST.iter().position(|long| *long == whole);
    place.unwrap_or(LONGEST.len())
}

impl Run<'_> {
    /// Runs a test program in namespaces of its own.
    ///
    /// Errors: its name, when it does not succeed.
    fn test(&self, test: &mut TestProgram) -> Result<(), String> {
        let scratch = self.scratch.join(&test.target.name);
        tree::folder_at(&scratch)?;
        let mut isolated = Command::new("sh");
        isolated
            .arg(self.root.join("xtask/setup.sh"))
            .arg("isolate");
        test.add_to(&mut isolated, self.arguments);
        isolated
            .current_dir(self.root.join("tests"))
            // Its tests share a network, and there are few cores.
            .env("RUST_TEST_THREADS", "1")
            .env("BOFUSS_PYTHON", &self.python)
            .env("BOFUSS_WORKERS", self.workers)
            .env("BOFUSS_DIST", &self.packages)
            .env("BOFUSS_BIN_DIR", &self.programs)
            .env("TMPDIR", &scratch);
        test.run(&mut isolated)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(name: &str) -> TestProgram {
        let text = r#"{
            "target": {"name": "NAME"},
            "profile": {"test": true},
            "manifest_path": "/tests/Cargo.toml",
            "executable": "/program"
        }"#;
        serde_json::from_str(&text.replace("NAME", name)).unwrap()
    }

    #[test]
    fn the_longest_programs_are_there_and_begin_first() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let names = tree::target_names(&root.join("tests/Cargo.toml"), "test").unwrap();
        let programs = names.iter().map(|name| program(name)).collect();
        let all = divided(&root, programs).unwrap();
        let names: Vec<&str> = all.iter().map(|one| &one.target.name[..]).collect();
        let [longest, others @ ..] = LONGEST;
        assert_eq!(names[..2], [format!("{longest}-apart"), longest.into()]);
        assert_eq!(names[2..=LONGEST.len()], others);
        assert!(GROUPS.iter().all(|group| !names.contains(group)));
        assert!(names.len() > 70, "{names:?}");
    }

    #[test]
    fn a_program_that_does_not_name_all_failures_is_run_again_as_a_whole() {
        let result = "\ntest result: FAILED. 3 passed; 2 failed; 0 ignored; 0 measured\n";
        let both = "test a ... ok\ntest b::c ... FAILED\ntest d ... FAILED\n";
        assert_eq!(failed_tests(&format!("{both}{result}")), ["b::c", "d"]);
        let mixed = "test b::c ... FAILED\ntest d ... a line of a child\nFAILED\n";
        for printed in [format!("{mixed}{result}"), both.into(), String::new()] {
            assert!(failed_tests(&printed).is_empty(), "{printed}");
        }
    }

    #[test]
    fn each_test_of_a_program_is_in_one_of_its_parts() {
        let mut rest = program("ofmeter");
        let apart = rest.split_off(&APART[..2]);
        let words = |program: &TestProgram| {
            let mut command = Command::new("sh");
            program.add_to(&mut command, &["--include-ignored".into()]);
            let arguments = command.get_args().map(|word| word.to_str().unwrap());
            arguments.collect::<Vec<_>>().join(" ")
        };
        let long = "/program --include-ignored";
        let [first, second] = [APART[0], APART[1]];
        assert_eq!(words(&apart), format!("{long} {first}:: {second}::"));
        let skips = format!("{long} --skip {first}:: --skip {second}::");
        assert_eq!(words(&rest), skips);
        assert_ne!(rest.target.name, apart.target.name, "each has a folder");
        let longest = include_str!("../../tests/ofmeter.rs");
        for module in APART {
            assert!(longest.contains(&format!("\nmod {module};\n")), "{module}");
        }
    }
}
