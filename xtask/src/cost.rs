//! `cargo xtask cost`: applies the tutorials' patches to a clean copy and holds them to their bars.
//!
//! A guide in `docs/guide` holds cases. Each starts with its bar, `<!-- cost: files=1 lines=10 -->`
//! (with `folder=ext/name`, what lies in that folder is free), and has, up to the next bar, unified
//! diffs in ```` ```diff ```` blocks (one file each, or as `git diff` writes them; line counts need
//! not be exact) and tests, `<!-- test: cargo test -p PACKAGE NAME -->`.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::tree;

const GUIDES: &str = "docs/guide";

/// One change that a guide teaches.
#[derive(Debug, Default, PartialEq)]
struct Case {
    /// Line of its bar in the guide, from 1.
    line: usize,
    /// The bar: files touched and lines added.
    files: usize,
    lines: usize,
    folder: Option<String>,
    diffs: Vec<String>,
    tests: Vec<String>,
}

/// Runs every case of every guide, or of those whose name contains `only`.
///
/// Errors: how many are above their bar, do not apply, or have tests that fail or do not exist.
pub(crate) fn run(root: &Path, target: &Path, only: &str) -> Result<(), String> {
    let copy = target.join("cost/tree");
    let (mut cases, mut failed) = (0, 0);
    for guide in tree::files(&root.join(GUIDES))?
        .iter()
        .filter(|g| tree::is(g, "md"))
    {
        let name = guide.display().to_string();
        let text = tree::read(&root.join(GUIDES).join(guide))?;
        for case in parse(&text).map_err(|e| format!("{GUIDES}/{name}:{e}"))? {
            if !name.contains(only) {
                continue;
            }
            cases += 1;
            let (files, lines) = count(&case);
            let bar = format!(
                "files {files} of {}, lines {lines} of {}",
                case.files, case.lines
            );
            let met = files <= case.files && lines <= case.lines;
            let result = if met {
                try_out(&case, root, &copy)
            } else {
                Err("above the bar".into())
            };
            failed += usize::from(result.is_err());
            let verdict =
                result.map_or_else(|e| format!("FAILED: {e}"), |n| format!("{n} tests passed"));
            println!("{name}:{}: {bar}: {verdict}", case.line);
        }
    }
    println!("cost: {} passed, {failed} failed", cases - failed);
    if failed == 0 {
        Ok(())
    } else {
        Err(format!("cost: {failed} of {cases} cases failed"))
    }
}

/// The cases of a guide. Errors: line and what is wrong there.
fn parse(text: &str) -> Result<Vec<Case>, String> {
    let mut cases: Vec<Case> = Vec::new();
    let mut in_diff = false;
    for (i, line) in text.lines().enumerate() {
        let number = i + 1;
        let note = |kind| {
            line.strip_prefix(kind)
                .and_then(|l| l.strip_suffix("-->"))
                .map(str::trim)
        };
        if in_diff {
            in_diff = line != "```";
            let diff = cases.last_mut().and_then(|case| case.diffs.last_mut());
            if let Some(diff) = diff.filter(|_| in_diff) {
                diff.extend([line, "\n"]);
            }
        } else if let Some(bar) = note("<!-- cost:") {
            cases.push(parse_bar(bar, number).map_err(|e| format!("{number}: {e}"))?);
        } else if line == "```diff" || note("<!-- test:").is_some() {
            let case = cases
                .last_mut()
                .ok_or(format!("{number}: stands before the first bar"))?;
            in_diff = line == "```diff";
            case.diffs.extend(in_diff.then(String::new));
            case.tests.extend(note("<!-- test:").map(str::to_string));
        }
    }
    match cases
        .iter()
        .find(|c| c.diffs.is_empty() || c.tests.is_empty())
    {
        Some(case) => Err(format!("{}: this case has no diff or no test", case.line)),
        None => Ok(cases),
    }
}

/// Reads `files=1 lines=10 folder=ext/name`.
fn parse_bar(bar: &str, line: usize) -> Result<Case, String> {
    let mut case = Case {
        line,
        ..Case::default()
    };
    for word in bar.split_whitespace() {
        let number = |n: &str| n.parse().map_err(|e| format!("{word}: {e}"));
        match word.split_once('=') {
            Some(("files", n)) => case.files = number(n)?,
            Some(("lines", n)) => case.lines = number(n)?,
            Some(("folder", folder)) => case.folder = Some(folder.into()),
            Some(_) | None => return Err(format!("{word} is none of files=, lines=, folder=")),
        }
    }
    Ok(case)
}

/// Files touched and lines added, what lies in the case's own folder excepted.
fn count(case: &Case) -> (usize, usize) {
    let (mut files, mut added) = (BTreeSet::new(), 0);
    let (mut old, mut counts) = ("", false);
    for line in case.diffs.iter().flat_map(|d| d.lines()) {
        if let Some(path) = line.strip_prefix("--- ") {
            old = path;
        } else if let Some(new) = line.strip_prefix("+++ ").filter(|_| !old.is_empty()) {
            let path = if new == "/dev/null" { old } else { new };
            let path = path.split_once('/').map_or(path, |(_, path)| path);
            let own = case
                .folder
                .as_ref()
                .is_some_and(|f| Path::new(path).starts_with(f));
            counts = !own;
            files.extend(counts.then_some(path));
            old = "";
        } else if counts && line.starts_with('+') {
            added += 1;
        }
    }
    (files.len(), added)
}

/// Applies a case to a clean copy and runs its tests. Gives the number of tests that passed.
fn try_out(case: &Case, root: &Path, copy: &Path) -> Result<usize, String> {
    tree::sync(root, copy)?;
    for diff in &case.diffs {
        apply(diff, copy)?;
    }
    let mut passed = 0;
    for test in &case.tests {
        let mut words = test.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or_default());
        command
            .args(words)
            .current_dir(copy)
            .env("CARGO_TARGET_DIR", copy.with_file_name("target"));
        let output = command.output().map_err(|e| format!("{test}: {e}"))?;
        let text = String::from_utf8_lossy(&output.stdout);
        let n = passed_tests(&text);
        if !output.status.success() || n == 0 {
            let errors = String::from_utf8_lossy(&output.stderr);
            return Err(format!("{test}: {n} tests passed\n{text}{errors}"));
        }
        passed += n;
    }
    Ok(passed)
}

/// Applies one patch; the copy lies inside a work tree that git must not look at.
fn apply(diff: &str, copy: &Path) -> Result<(), String> {
    let mut git = Command::new("git");
    git.args(["apply", "--recount", "--whitespace=nowarn", "-"])
        .current_dir(copy);
    git.env("GIT_CEILING_DIRECTORIES", copy.with_file_name(""))
        .stdin(Stdio::piped());
    let mut git = git.spawn().map_err(|e| format!("git: {e}"))?;
    let mut input = git.stdin.take().expect("stdin is piped");
    let written = input.write_all(diff.as_bytes());
    drop(input);
    let applied = git.wait().is_ok_and(|status| status.success()) && written.is_ok();
    if applied {
        Ok(())
    } else {
        Err(format!("the patch does not apply:\n{diff}"))
    }
}

/// The sum over cargo's closing lines, `test result: ok. 3 passed; ...`.
pub(crate) fn passed_tests(output: &str) -> usize {
    let lines = output
        .lines()
        .filter_map(|l| l.strip_prefix("test result: ok. "));
    lines
        .filter_map(|l| l.split(' ').next()?.parse::<usize>().ok())
        .sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GUIDE: &str = include_str!("../tests/cost/docs/guide/add-an-answer.md");

    #[test]
    fn a_guide_is_read_as_cases() {
        let cases = parse(GUIDE).unwrap();
        let bars: Vec<_> = cases
            .iter()
            .map(|c| (c.files, c.lines, c.tests.len()))
            .collect();
        assert_eq!(bars, [(1, 8, 1), (1, 1, 1), (1, 2, 1)]);
        assert_eq!(count(&cases[0]), (1, 8));
        assert_eq!(count(&cases[1]), (1, 1), "what lies in the folder is free");
        assert_eq!(count(&cases[2]), (1, 3));
    }

    #[test]
    fn mistakes_in_a_guide_are_named_with_their_line() {
        let cases = [
            ("```diff\n```\n", "1: stands before the first bar"),
            ("\n<!-- cost: size=1 -->\n", "2: size=1 is none of"),
            (
                "<!-- cost: files=1 lines=1 -->\n",
                "1: this case has no diff",
            ),
        ];
        for (text, expected) in cases {
            assert!(parse(text).unwrap_err().starts_with(expected));
        }
    }
}
