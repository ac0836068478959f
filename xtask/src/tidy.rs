//! `cargo xtask tidy`: checks the style of files, rooms, documents and libraries.

use std::path::Path;

use crate::source::{self, Source};
use crate::{docs, modules, mutants, rooms};

/// The most lines of a file without its tests, or of a file of tests. A longer file has to give the
/// reason in a line with [`LONG_FILE`].
const MAX_FILE_LINES: usize = 500;
/// The most lines of a file with a reason.
const HARD_FILE_LINES: usize = 800;
const LONG_FILE: &str = "// tidy: long because ";
const MAX_COLUMNS: usize = 100;

/// Checks the whole tree. Clippy checks the length of functions and finds bare `unwrap()`.
///
/// Errors: the number of findings, after printing each as `path:line: what`.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let sources = source::load(root)?;
    let mut findings = Vec::new();
    for source in &sources {
        for (line, what) in file(source) {
            findings.push(format!("{}:{line}: {what}", source.path.display()));
        }
    }
    findings.extend(rooms::check(root, &sources)?);
    let arrows = rooms::table(&root.join(rooms::ARROWS))?;
    findings.extend(modules::check(&arrows, &sources));
    findings.extend(docs::check(root, &sources)?);
    findings.extend(mutants::check(root)?);
    for finding in &findings {
        println!("{finding}");
    }
    match findings.len() {
        0 => {
            println!("tidy: {} Rust files are tidy", sources.len());
            Ok(())
        }
        n => Err(format!("tidy: {n} findings")),
    }
}

/// The findings in one file, each with its line.
fn file(source: &Source) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    if !source.text.starts_with("//! ") {
        found.push((
            1,
            "the first line is no `//!` that says the file's one job".into(),
        ));
    }
    // A bench is a list of cases.
    let is_bench = source.path.iter().any(|folder| folder == "benches");
    let is_tests = !is_bench && source.test.iter().all(|test| *test);
    let counted = source.test.iter().filter(|test| is_tests || !**test);
    let lines = counted.count();
    let kind = if is_tests { "of" } else { "without" };
    let reason = source.comments.contains(LONG_FILE);
    if lines > HARD_FILE_LINES || (lines > MAX_FILE_LINES && !reason) {
        found.push((
            1,
            format!("{lines} lines {kind} tests, more than {MAX_FILE_LINES}"),
        ));
    }
    for (i, line) in source.text.lines().enumerate() {
        let columns = line.chars().count();
        if columns > MAX_COLUMNS {
            found.push((i + 1, format!("{columns} columns, more than {MAX_COLUMNS}")));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(text: &str) -> Vec<String> {
        let (source, _) = Source::new("a/src/lib.rs".into(), text.into());
        file(&source)
            .into_iter()
            .map(|(line, what)| format!("{line}: {what}"))
            .collect()
    }

    #[test]
    fn a_tidy_file_has_no_findings() {
        assert_eq!(
            findings("//! One job.\n\nfn a() -> u8 {\n    1\n}\n"),
            [""; 0]
        );
    }

    #[test]
    fn each_rule_finds_its_line() {
        let long_line = format!("//! A.\n// {}\n", "x".repeat(98));
        let long_file = format!("//! A.\n{}", "const A: u8 = 1;\n".repeat(500));
        let excused = format!("//! A.\n// tidy: long because x\n{}", "// a\n".repeat(500));
        let too_long = format!("//! A.\n// tidy: long because x\n{}", "// a\n".repeat(800));
        let cases = [
            ("fn a() {}\n", "1: the first line"),
            (&long_line, "2: 101 columns"),
            (&long_file, "1: 501 lines"),
            (&excused, ""),
            (&too_long, "1: 802 lines"),
        ];
        for (text, expected) in cases {
            let found = findings(text);
            assert!(
                found.first().map_or("", |f| f).starts_with(expected),
                "{found:?}"
            );
            assert_eq!(found.len(), usize::from(!expected.is_empty()), "{found:?}");
        }
    }

    #[test]
    fn a_file_of_tests_has_a_limit_and_a_bench_has_none() {
        for (path, findings) in [("a/tests/b.rs", 1), ("a/benches/b.rs", 0)] {
            let text = format!("//! A.\n{}", "const A: u8 = 1;\n".repeat(500));
            let (mut source, _) = Source::new(path.into(), text);
            source.test.fill(true);
            assert_eq!(file(&source).len(), findings, "{path}");
        }
    }
}
