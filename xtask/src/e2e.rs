//! `cargo xtask e2e`: runs the end-to-end tests of `tests/`, each binary in a network of its own.
//!
//! They find the programs under test in `BOFUSS_BIN_DIR`, their packages in `BOFUSS_DIST` and
//! Python with the controllers in `BOFUSS_PYTHON`; `CI=true` turns a skip into a failure. The long
//! ones are `#[ignore]`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::thread;
use std::vec::IntoIter;

use serde::Deserialize;

use crate::{ci, dist, tree};

/// Test programs that run at the same time: most of their time they wait for something.
const AT_A_TIME: usize = 3;

/// A test program, as cargo tells of what it has built.
#[derive(Deserialize)]
struct TestProgram {
    target: TestTarget,
    manifest_path: PathBuf,
    executable: PathBuf,
}

#[derive(Deserialize)]
struct TestTarget {
    name: String,
}

/// What the threads that run test programs share.
struct Run<'a> {
    root: &'a Path,
    /// For each test program.
    arguments: &'a [String],
    python: String,
    /// The folder of the programs under test, and that of their packages.
    programs: PathBuf,
    packages: PathBuf,
    /// Holds a folder for each test program: in process spaces of their own two may have the same
    /// number of process, and it is in the names of their files.
    scratch: PathBuf,
    waiting: Mutex<IntoIter<TestProgram>>,
    failures: Mutex<Vec<String>>,
}

/// Builds the programs under test, then runs the tests with `arguments` for each test program.
///
/// Errors: the step that failed; the test programs that did.
pub(crate) fn run(root: &Path, target: &Path, arguments: &[String]) -> Result<(), String> {
    let long = arguments.iter().any(|word| word == "--include-ignored");
    let tests = build_tests(&root.join("tests/Cargo.toml"))?;
    let run = Run {
        root,
        arguments,
        python: python(root)?,
        programs: target.join("debug"),
        packages: dist::folder(target, !long),
        scratch: std::env::temp_dir().join(format!("bofuss-e2e-{}", std::process::id())),
        waiting: Mutex::new(tests.into_iter()),
        failures: Mutex::default(),
    };
    ci::cargo(
        "build --locked --package bofuss-switchd --package bofuss-dpctl --package bofuss-measure \
         --package bofuss-oflib --package bofuss-capi --lib --bins --examples",
        |_| {},
    )?;
    thread::scope(|scope| {
        for _ in 0..AT_A_TIME {
            scope.spawn(|| run.work());
        }
    });
    // What a test left behind is of no use to anyone.
    drop(std::fs::remove_dir_all(&run.scratch));
    let failures = run.failures.into_inner().expect("no thread panicked");
    if failures.is_empty() {
        Ok(())
    } else {
        Err(failures.join("; "))
    }
}

/// Builds the test programs of the package `manifest`, among the whole workspace: so they are made
/// of the libraries that the unit tests have, which a package alone asks other features of.
///
/// Errors: it does not build.
fn build_tests(manifest: &Path) -> Result<Vec<TestProgram>, String> {
    let mut cargo = ci::cargo_command("test --locked --workspace --no-run --message-format json");
    for name in tree::target_names(manifest, "test")? {
        cargo.args(["--test", &name]);
    }
    let output = cargo.stderr(Stdio::inherit());
    let messages = ci::output(output)?;
    // What is no program has no `executable`; what is no JSON is not cargo's.
    let programs = messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    Ok(programs
        .filter(|program: &TestProgram| program.manifest_path == manifest)
        .collect())
}

impl Run<'_> {
    /// Runs the next test program, until there is none.
    fn work(&self) {
        while let Some(test) = self.next() {
            if let Err(e) = self.test(&test) {
                self.failures.lock().expect("no thread panics").push(e);
            }
        }
    }

    /// A function of its own, that the lock is not held longer.
    fn next(&self) -> Option<TestProgram> {
        self.waiting.lock().expect("no thread panics").next()
    }

    /// Runs a test program and prints what it printed, whole.
    ///
    /// Errors: its name, when it does not succeed.
    fn test(&self, test: &TestProgram) -> Result<(), String> {
        let name = &test.target.name;
        let scratch = self.scratch.join(name);
        std::fs::create_dir_all(&scratch).map_err(|e| format!("{}: {e}", scratch.display()))?;
        let mut isolated = Command::new("sh");
        isolated
            .arg(self.root.join("xtask/setup.sh"))
            .arg("isolate")
            .arg(&test.executable)
            .args(self.arguments)
            .current_dir(self.root.join("tests"))
            // One at a time: they share a network, and few cores.
            .env("RUST_TEST_THREADS", "1")
            .env("BOFUSS_PYTHON", &self.python)
            .env("BOFUSS_DIST", &self.packages)
            .env("BOFUSS_BIN_DIR", &self.programs)
            .env("TMPDIR", &scratch);
        let output = isolated.output().map_err(|e| format!("{name}: {e}"))?;
        let out = String::from_utf8_lossy(&output.stdout);
        let err = String::from_utf8_lossy(&output.stderr);
        println!("{name}:\n{err}{out}");
        if output.status.success() {
            Ok(())
        } else {
            Err(format!("{name} failed"))
        }
    }
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
