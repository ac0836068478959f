//! `cargo xtask bench`: builds the programs, then runs `ofmeter bench` in a network namespace.

use std::fs::File;
use std::path::Path;
use std::process::Command;

use crate::command;

/// The programs: the switch, the measuring tool, and the bare forwarders, examples of `ports`.
const BUILDS: [&str; 2] = [
    "build --locked --release --package bofuss-switchd --package bofuss-measure",
    "build --locked --release --package bofuss-ports --examples",
];

/// The bench of the datapath alone.
const IN_MEMORY: &str = "bench --locked --quiet --package bofuss-fastpath --bench in_memory";
/// The argument that is not for `ofmeter bench`.
const DOCS: &str = "--docs";

/// Builds and runs `ofmeter bench` with `arguments`. If `--docs` is one of them, also runs the
/// bench of the datapath alone, and writes the figures of both into `docs/performance.md`.
///
/// Errors: what failed, or a wrong result.
pub(crate) fn run(root: &Path, target: &Path, arguments: &[String]) -> Result<(), String> {
    for build in BUILDS {
        command::cargo(build)?;
    }
    let out = target.join("bench");
    let ofmeter = target.join("release/ofmeter");
    let _ = std::fs::remove_file(out.join("bench.json")); // of another run
    let mut isolated = Command::new("sh");
    isolated.arg(root.join("xtask/setup.sh")).arg("isolate");
    isolated.arg(&ofmeter).args(["bench", "--out"]).arg(&out);
    isolated.args(arguments.iter().filter(|word| *word != DOCS));
    let done = command::succeed(&mut isolated);
    if arguments.iter().any(|word| word == DOCS) {
        let figures = out.join("in-memory.txt");
        let file = File::create(&figures).map_err(|e| format!("{}: {e}", figures.display()))?;
        let alone = command::cargo_with(IN_MEMORY, |cargo| {
            cargo.stdout(file);
        });
        // The figures are written even if some cases failed.
        let docs = root.join("docs");
        command::succeed(Command::new(&ofmeter).arg("page").arg(&out).arg(docs))?;
        alone?;
    }
    done
}
