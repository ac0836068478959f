//! `cargo xtask tidy`: checks the style of files, rooms, documents and libraries.

use std::path::Path;

use crate::source::{self, Function, Source, words};
use crate::{captions, circles, docs, mutants, rooms};

/// The most lines of a file without its tests, or of a file of tests. A longer file has to give the
/// reason in a line with [`LONG_FILE`].
const MAX_FILE_LINES: usize = 500;
/// The most lines of a file with a reason.
const HARD_FILE_LINES: usize = 800;
const LONG_FILE: &str = "// tidy: long because ";
/// The most lines of a function, without matches whose arms are all short.
const MAX_FUNCTION_LINES: usize = 70;
/// The most lines of a short arm.
const MAX_ARM_LINES: usize = 3;
const MAX_COLUMNS: usize = 100;

/// Checks the whole tree.
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
    findings.extend(circles::check(&arrows, &sources));
    findings.extend(docs::check(root, &sources)?);
    findings.extend(captions::check(root)?);
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
    for (i, line) in source.comments.lines().enumerate() {
        if ["TODO", "FIXME", "XXX"]
            .iter()
            .any(|w| words(line, w).any(|at| !owned(&line[at..])))
        {
            found.push((
                i + 1,
                "a TODO without owner and condition: `TODO(name): when ...`".into(),
            ));
        }
    }
    for (line, code) in source.product_lines() {
        if code.contains(".unwrap()") {
            found.push((
                line,
                "bare unwrap(): `expect` says why it cannot happen".into(),
            ));
        }
    }
    for f in source
        .functions()
        .iter()
        .filter(|f| !source.test[f.line - 1])
    {
        let lines = counted_lines(f);
        if lines > MAX_FUNCTION_LINES {
            let what = format!(
                "`{}` has {lines} lines, more than {MAX_FUNCTION_LINES}",
                f.name
            );
            found.push((f.line, what));
        }
    }
    found
}

/// Whether a text begins with an owner and a condition: `TODO(name): when ...`.
fn owned(todo: &str) -> bool {
    let rest = todo.strip_prefix("TODO(").and_then(|t| t.split_once("): "));
    rest.is_some_and(|(owner, text)| !owner.is_empty() && text.starts_with("when "))
}

/// The lines of a function without matches whose arms are all short.
fn counted_lines(function: &Function) -> usize {
    let mut lines = function.body.lines().count();
    let mut flat_to = 0;
    for at in words(function.body, "match") {
        let Some(open) = function.body[at..].find('{').filter(|_| at >= flat_to) else {
            continue;
        };
        let start = at + open;
        let end = start + source::block_end(&function.body[start..]);
        let block = &function.body[start + 1..end - 1];
        if longest_arm(block) <= MAX_ARM_LINES {
            lines -= block.lines().count();
            flat_to = end;
        }
    }
    lines
}

/// The lines of the longest arm of a match's block.
fn longest_arm(block: &str) -> usize {
    let mut depth = 0;
    let mut start = 0;
    let mut in_body = false;
    let mut longest = 0;
    for (at, byte) in block.bytes().enumerate() {
        match byte {
            b'{' | b'(' | b'[' => depth += 1,
            b'}' | b')' | b']' => depth -= 1,
            b'>' if depth == 0 && block[..at].ends_with('=') => in_body = true,
            _ => {}
        }
        let ends = byte == b',' || (byte == b'}' && !block[at + 1..].starts_with([',', '.', '?']));
        if (in_body && depth == 0 && ends) || at + 1 == block.len() {
            longest = longest.max(block[start..=at].trim().lines().count());
            start = at + 1;
            in_body = false;
        }
    }
    longest
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
        let function = format!("//! A.\nfn a() {{\n{}}}\n", "    b();\n".repeat(69));
        let cases = [
            ("fn a() {}\n", "1: the first line"),
            (&long_line, "2: 101 columns"),
            (&long_file, "1: 501 lines"),
            (&excused, ""),
            (&too_long, "1: 802 lines"),
            (&function, "2: `a` has 71 lines"),
            ("//! A.\n// TODO: later\n", "2: a TODO"),
            ("//! A.\n// TODO(ann): when 1.5 comes, drop this\n", ""),
            (
                "//! A.\nfn a() {\n    b().unwrap()\n}\n",
                "3: bare unwrap()",
            ),
            (
                "//! A.\n#[cfg(test)]\nmod t {\n    fn a() {\n        b().unwrap()\n    }\n}\n",
                "",
            ),
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

    #[test]
    fn flat_matches_do_not_count() {
        let arms = "        1 => 2,\n        3 => {\n            4\n        }\n".repeat(30);
        let text =
            |arm: &str| format!("//! A.\nfn a() {{\n    match x {{\n{arms}{arm}    }}\n}}\n");
        assert_eq!(findings(&text("")), [""; 0]);
        let long = text("        5 => {\n            a();\n            b()\n        }\n");
        assert_eq!(findings(&long).len(), 1);
    }
}
