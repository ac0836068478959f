//! `cargo xtask fuzz`: builds the targets of `fuzz/` with the pinned compiler, and runs each.

use std::path::Path;

use crate::{command, seeds, tree};

/// The instrumentation for libFuzzer: a counter for each edge, and the operands of comparisons.
const FLAGS: &str = "--cfg fuzzing -Ccodegen-units=1 -Cpasses=sancov-module \
    -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters \
    -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares";
const SECONDS_PER_TARGET: &str = "60";

/// Runs all targets, or one, by the arguments `[SECONDS [TARGET]]`. A run starts from the corpus of
/// the tree, which is not changed, and from `target/fuzz/corpus`, where inputs that reach new code
/// are added; the target that reads messages also from the vectors. An input that crashes is
/// written to `target/fuzz`.
///
/// Errors: the target that crashed, or that there is none of that name.
pub(crate) fn run(root: &Path, target: &Path, arguments: &[String]) -> Result<(), String> {
    let manifest = root.join("fuzz/Cargo.toml");
    let only = arguments.get(1);
    let mut targets = tree::target_names(&manifest, "bin")?;
    targets.retain(|name| only.is_none_or(|o| o == name));
    if targets.is_empty() {
        return Err(format!("fuzz: no such target in {}", manifest.display()));
    }
    let out = target.join("fuzz");
    let seconds = arguments.first().map_or(SECONDS_PER_TARGET, String::as_str);
    for name in targets {
        println!("fuzz: {name} for {seconds} s");
        let known = root.join("fuzz/corpus").join(&name);
        let found = out.join("corpus").join(&name);
        for corpus in [&known, &found] {
            tree::folder_at(corpus)?;
        }
        if name == seeds::TARGET {
            seeds::write_all(root, &found)?;
        }
        command::cargo_with("run --locked --release --target host-tuple", |cargo| {
            cargo.arg("--manifest-path").arg(&manifest);
            cargo
                .arg("--target-dir")
                .arg(&out)
                .args(["--bin", &name, "--"])
                .args([&found, &known]);
            cargo
                .arg(format!("-max_total_time={seconds}"))
                .arg("-timeout=10");
            cargo.arg(format!("-artifact_prefix={}/", out.display()));
            cargo.env("RUSTFLAGS", FLAGS);
        })?;
    }
    Ok(())
}
