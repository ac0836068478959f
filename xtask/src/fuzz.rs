//! `cargo xtask fuzz`: builds the targets of `fuzz/` with the pinned compiler, and runs each.

use std::path::Path;
use std::process::Command;

use toml::{Table, Value};

use crate::{ci, tree};

/// What the fuzzing engine needs of the compiler: counters at every edge, compared values.
const FLAGS: &str = "--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";
const SECONDS_PER_TARGET: &str = "60";

/// Runs `[SECONDS [TARGET]]`; new inputs go to the corpus, a crash to `target/fuzz`.
///
/// Errors: the target that crashed.
pub(crate) fn run(root: &Path, target: &Path, arguments: &[String]) -> Result<(), String> {
    let manifest = root.join("fuzz/Cargo.toml");
    let table: Table = tree::read(&manifest)?
        .parse()
        .map_err(|e| format!("fuzz: {e}"))?;
    let targets = table
        .get("bin")
        .and_then(Value::as_array)
        .into_iter()
        .flatten();
    let targets = targets.filter_map(|bin| bin.get("name")?.as_str());
    let out = target.join("fuzz");
    ci::cargo("build --release --bins", |cargo| {
        cargo
            .arg("--manifest-path")
            .arg(&manifest)
            .arg("--target-dir")
            .arg(&out);
        cargo.env("RUSTFLAGS", FLAGS);
    })?;
    let seconds = arguments.first().map_or(SECONDS_PER_TARGET, String::as_str);
    for name in targets.filter(|name| arguments.get(1).is_none_or(|only| only == name)) {
        let mut fuzzer = Command::new(out.join("release").join(name));
        fuzzer.arg(root.join("fuzz/corpus").join(name));
        fuzzer
            .arg(format!("-max_total_time={seconds}"))
            .arg("-timeout=10");
        fuzzer.arg(format!("-artifact_prefix={}/", out.display()));
        println!("fuzz: {name} for {seconds} s");
        ci::succeed(&mut fuzzer)?;
    }
    Ok(())
}
