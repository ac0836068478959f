//! `cargo xtask cost`: applies the tutorials' patches to a clean copy, runs their tests, and
//! compares their size with their bars.
//!
//! A guide in `docs/guide` has cases. A case starts with its bar, the most files and added lines:
//! `<!-- cost: files=1 lines=10 -->`. With `folder=ext/name`, files in that folder are not counted.
//! Up to the next bar follow its patches, in ```` ```diff ```` blocks (see `patch.rs`), and its
//! tests: `<!-- test: cargo test -p PACKAGE NAME -->`.
//! Each case is tried on its own. With `--check`, the tree with all of them has to pass
//! `make check`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::tree::ChangedFiles;
use crate::{command, patch, tree};

const GUIDES: &str = "docs/guide";
/// The copy that is built and its build folder, both below the tree's build folder.
const COPY: &str = "cost/tree";
const COPY_TARGET: &str = "cost/target";

/// One change that a guide teaches.
#[derive(Debug, Default, PartialEq)]
struct Tutorial {
    /// The guide's file name.
    guide: String,
    /// Line of its bar in the guide, from 1.
    line: usize,
    /// The bar: files touched and lines added.
    files: usize,
    lines: usize,
    folder: Option<String>,
    diffs: Vec<String>,
    tests: Vec<String>,
}

/// Which cases of a guide to try.
#[derive(Clone, Copy, PartialEq)]
enum GuideCases {
    /// The first one.
    First,
    /// All but the first one.
    Others,
}

/// Tries every case of the guides whose name contains `only`.
///
/// Errors: how many cases are above their bar, do not apply, or have tests that fail or do not
/// exist.
pub(crate) fn run(root: &Path, target: &Path, only: &str) -> Result<(), String> {
    let mut cases = cases(root)?;
    cases.retain(|case| case.guide.contains(only));
    try_all(&cases, root, target)
}

/// Tries the first case of each guide.
///
/// Errors: those of [`run`].
pub(crate) fn first(root: &Path, target: &Path) -> Result<(), String> {
    try_all(&part_of(cases(root)?, GuideCases::First), root, target)
}

/// Tries all but the first case of each guide.
///
/// Errors: those of [`run`].
pub(crate) fn others(root: &Path, target: &Path) -> Result<(), String> {
    try_all(&part_of(cases(root)?, GuideCases::Others), root, target)
}

/// These cases of each guide, of all in the order of the guides.
fn part_of(cases: Vec<Tutorial>, part: GuideCases) -> Vec<Tutorial> {
    let mut guide = String::new();
    let mut chosen = Vec::new();
    for case in cases {
        let is_first = case.guide != guide;
        guide.clone_from(&case.guide);
        if is_first == (part == GuideCases::First) {
            chosen.push(case);
        }
    }
    chosen
}

/// Tries cases, one after another.
fn try_all(cases: &[Tutorial], root: &Path, target: &Path) -> Result<(), String> {
    share_libraries(target)?;
    let mut failed = 0;
    for case in cases {
        let (files, lines) = count(case);
        let bar = format!(
            "files {files} of {}, lines {lines} of {}",
            case.files, case.lines
        );
        let result = if files <= case.files && lines <= case.lines {
            try_out(case, root, target)
        } else {
            Err("above the bar".into())
        };
        let verdict = match result {
            Ok(passed) => format!("{passed} tests passed"),
            Err(e) => {
                failed += 1;
                format!("FAILED: {e}")
            }
        };
        println!("{}:{}: {bar}: {verdict}", case.guide, case.line);
    }
    let tried = cases.len();
    println!("cost: {} passed, {failed} failed", tried - failed);
    if failed == 0 {
        Ok(())
    } else {
        Err(format!("cost: {failed} of {tried} cases failed"))
    }
}

/// Applies the cases of all guides to one copy, prints its reference pages anew, and runs
/// `command`, a tier of steps, there.
///
/// Errors: a patch that does not apply, or the step that fails.
pub(crate) fn check(root: &Path, target: &Path, command: &str) -> Result<(), String> {
    share_libraries(target)?;
    let mut changed = ChangedFiles::new();
    for case in cases(root)? {
        apply(&case, root, &mut changed)?;
    }
    let copy = target.join(COPY);
    tree::sync(root, &copy, &changed)?;
    for words in ["reference", command] {
        let xtask = format!("run -q -p xtask -- {words}");
        command::cargo_with(&xtask, |cargo| in_copy(cargo, target))?;
    }
    Ok(())
}

/// All guides' cases. Errors: the guide, the line, and what is wrong there.
fn cases(root: &Path) -> Result<Vec<Tutorial>, String> {
    let folder = root.join(GUIDES);
    let mut all = Vec::new();
    for path in tree::files(&folder)? {
        if !tree::is(&path, "md") {
            continue;
        }
        let guide = path.display().to_string();
        let text = tree::read(&folder.join(&path))?;
        for mut case in parse(&text).map_err(|e| format!("{GUIDES}/{guide}:{e}"))? {
            case.guide.clone_from(&guide);
            all.push(case);
        }
    }
    Ok(all)
}

/// The text of an HTML comment that begins with `kind`.
fn note<'a>(line: &'a str, kind: &str) -> Option<&'a str> {
    let rest = line.strip_prefix(kind)?;
    rest.strip_suffix("-->").map(str::trim)
}

/// The cases of a guide. Errors: line and what is wrong there.
fn parse(text: &str) -> Result<Vec<Tutorial>, String> {
    let mut cases: Vec<Tutorial> = Vec::new();
    let mut in_diff = false;
    for (i, line) in text.lines().enumerate() {
        let number = i + 1;
        if in_diff {
            in_diff = line != "```";
            let diff = cases.last_mut().and_then(|case| case.diffs.last_mut());
            if let Some(diff) = diff.filter(|_| in_diff) {
                diff.extend([line, "\n"]);
            }
        } else if let Some(bar) = note(line, "<!-- cost:") {
            cases.push(parse_bar(bar, number).map_err(|e| format!("{number}: {e}"))?);
        } else if line == "```diff" || note(line, "<!-- test:").is_some() {
            let case = cases
                .last_mut()
                .ok_or(format!("{number}: stands before the first bar"))?;
            in_diff = line == "```diff";
            case.diffs.extend(in_diff.then(String::new));
            case.tests
                .extend(note(line, "<!-- test:").map(str::to_string));
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
fn parse_bar(bar: &str, line: usize) -> Result<Tutorial, String> {
    let mut case = Tutorial {
        line,
        ..Tutorial::default()
    };
    for word in bar.split_whitespace() {
        match word.split_once('=') {
            Some(("files", n)) => case.files = number(word, n)?,
            Some(("lines", n)) => case.lines = number(word, n)?,
            Some(("folder", folder)) => case.folder = Some(folder.into()),
            Some(_) | None => return Err(format!("{word} is none of files=, lines=, folder=")),
        }
    }
    Ok(case)
}

fn number(word: &str, digits: &str) -> Result<usize, String> {
    digits.parse().map_err(|e| format!("{word}: {e}"))
}

/// The files touched and the lines added, except those in the case's own folder.
fn count(case: &Tutorial) -> (usize, usize) {
    let mut files = BTreeSet::new();
    let mut added = 0;
    let mut old = "";
    let mut counts = false;
    for line in case.diffs.iter().flat_map(|d| d.lines()) {
        if let Some(path) = line.strip_prefix("--- ") {
            old = path;
        } else if let Some(new) = line.strip_prefix("+++ ").filter(|_| !old.is_empty()) {
            let named = if new == "/dev/null" { old } else { new };
            let path = named.split_once('/').map_or(named, |(_, path)| path);
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

/// Applies a case to a clean copy and runs its tests. Returns the number of tests that passed.
fn try_out(case: &Tutorial, root: &Path, target: &Path) -> Result<usize, String> {
    let mut changed = ChangedFiles::new();
    apply(case, root, &mut changed)?;
    tree::sync(root, &target.join(COPY), &changed)?;
    let mut passed = 0;
    for test in &case.tests {
        let mut words = test.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or_default());
        command.args(words);
        in_copy(&mut command, target);
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

/// Starts the copy's build folder with the libraries of the tree's, most of which are dependencies
/// that both have.
///
/// Removes the copy, to be written anew: cargo compares times, and the copy's files have to be
/// newer than libraries that were built from the tree's.
///
/// Errors: what could not be copied.
fn share_libraries(target: &Path) -> Result<(), String> {
    let made = target.join("debug");
    let products = target.join(COPY_TARGET).join("debug");
    if products.exists() || !made.join("deps").exists() {
        return Ok(());
    }
    let copy = target.join(COPY);
    if copy.exists() {
        std::fs::remove_dir_all(&copy).map_err(|e| format!("{}: {e}", copy.display()))?;
    }
    tree::folder_at(&products.join("deps"))?;
    let libraries: Vec<PathBuf> = tree::files(&made.join("deps"))?
        .into_iter()
        .filter(|path| {
            ["rlib", "rmeta", "so", "d"]
                .iter()
                .any(|kind| tree::is(path, kind))
        })
        .collect();
    let mut cp = Command::new("cp");
    cp.current_dir(made.join("deps"))
        .arg("--archive")
        .args(libraries);
    command::succeed(cp.arg(products.join("deps")))?;
    let mut cp = Command::new("cp");
    cp.current_dir(&made)
        .args(["--archive", ".fingerprint", "build"]);
    command::succeed(cp.arg(&products))
}

/// Applies all patches of a case. Errors: the case, and the hunk that has no place.
fn apply(case: &Tutorial, root: &Path, changed: &mut ChangedFiles) -> Result<(), String> {
    for diff in &case.diffs {
        patch::apply(diff, root, changed)
            .map_err(|e| format!("{}:{}: {e}", case.guide, case.line))?;
    }
    Ok(())
}

/// Sets a command up to run in the copy. What a case changes is built anew and no more, whatever
/// the tree's own build is told.
fn in_copy(command: &mut Command, target: &Path) {
    command
        .current_dir(target.join(COPY))
        .env("CARGO_INCREMENTAL", "1")
        .env("CARGO_TARGET_DIR", target.join(COPY_TARGET));
}

/// Counts the tests that passed: the sum over cargo's lines `test result: ok. 3 passed; ...`.
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

    #[test]
    fn the_first_case_of_each_guide_is_tried_first_and_the_others_later() {
        let all = || {
            let guides = ["a.md", "a.md", "a.md", "b.md", "c.md", "c.md"];
            let cases = (1..).zip(guides).map(|(line, guide)| Tutorial {
                guide: guide.into(),
                line,
                ..Tutorial::default()
            });
            cases.collect::<Vec<_>>()
        };
        let lines = |part| {
            let chosen = part_of(all(), part);
            chosen.iter().map(|case| case.line).collect::<Vec<_>>()
        };
        assert_eq!(lines(GuideCases::First), [1, 4, 5]);
        assert_eq!(lines(GuideCases::Others), [2, 3, 6]);
    }

    // I13
    #[test]
    fn each_case_applies_after_every_other() {
        let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = xtask.parent().expect("xtask lies in the tree");
        let cases = cases(root).unwrap();
        assert!(cases.len() >= 8, "{}", cases.len());
        for first in &cases {
            for second in &cases {
                let mut changed = ChangedFiles::new();
                apply(first, root, &mut changed).unwrap();
                apply(second, root, &mut changed).unwrap_or_else(|e| {
                    panic!("after {}:{}: {e}", first.guide, first.line);
                });
            }
        }
    }
}
