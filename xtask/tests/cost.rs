//! Runs `cargo xtask cost` on a small tree: cases within their bar pass, one above it fails.

#![allow(clippy::unwrap_used)]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// A guide whose case needs that of the other guide.
const ANOTHER: &str = "# Add another

<!-- cost: files=1 lines=4 -->

```diff
--- a/src/lib.rs
+++ b/src/lib.rs
@@
+#[test]
+fn both_are_there() {
+    assert_eq!(second(), first() + 1);
+}
```

<!-- test: cargo test --offline both_are_there -->
";

/// Makes the small tree in a folder of this name.
fn small_tree(name: &str) -> PathBuf {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cost");
    Command::new("rm").arg("-rf").arg(&root).status().unwrap();
    Command::new("cp")
        .arg("-r")
        .args([&from, &root])
        .status()
        .unwrap();
    root
}

fn xtask(root: &Path, words: &[&str]) -> Output {
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    xtask
        .args(words)
        .env("CARGO_MANIFEST_DIR", root.join("xtask"))
        .env_remove("CARGO_TARGET_DIR");
    xtask.output().unwrap()
}

// I13
#[test]
fn patches_are_applied_tested_and_held_to_their_bars() {
    let output = xtask(&small_tree("cost"), &["cost"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "add-an-answer.md:5: files 1 of 1, lines 8 of 8: 1 tests passed",
            "add-an-answer.md:25: files 1 of 1, lines 1 of 1: 1 tests passed",
            "add-an-answer.md:50: files 1 of 1, lines 3 of 2: FAILED: above the bar",
            "cost: 2 passed, 1 failed",
        ],
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn the_step_of_the_gate_tries_the_first_case_of_each_guide_in_one_tree() {
    let root = small_tree("cost-of-first-cases");
    std::fs::write(root.join("docs/guide/add-another.md"), ANOTHER).unwrap();
    let output = xtask(&root, &["step", "cost"]);
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(
        lines,
        [
            "add-an-answer.md:5: files 1 of 1, lines 8 of 8: 1 tests passed",
            "add-another.md:3: files 1 of 1, lines 4 of 4: 1 tests passed",
            "cost: 2 passed, 0 failed",
        ],
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    assert_eq!(output.status.code(), Some(0));
}
