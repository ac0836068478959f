//! Runs `cargo xtask cost` on a small tree: cases within their bar pass, one above it fails.

use std::path::Path;
use std::process::Command;

// I13
#[test]
fn patches_are_applied_tested_and_held_to_their_bars() {
    let root = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cost");
    let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cost");
    Command::new("rm").arg("-rf").arg(&root).status().unwrap();
    Command::new("cp")
        .arg("-r")
        .args([&from, &root])
        .status()
        .unwrap();
    let mut xtask = Command::new(env!("CARGO_BIN_EXE_xtask"));
    xtask
        .arg("cost")
        .env("CARGO_MANIFEST_DIR", root.join("xtask"))
        .env_remove("CARGO_TARGET_DIR");
    let output = xtask.output().unwrap();
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
