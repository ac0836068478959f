//! `cargo xtask mutants`: plants faults into a copy of the tree, one at a time, and fails if the
//! tests do not notice one. `xtask/mutants.txt` lists them, and describes its own format.

use std::path::Path;
use std::process::{Command, Output};
use std::time::Instant;

use crate::cost;
use crate::tree::{self, ChangedFiles, write};

const LIST: &str = "xtask/mutants.txt";
/// Seconds after which a test that does not end counts as having noticed the fault.
const MAX_TEST_SECONDS: &str = "300";
/// The argument of `timeout` that is no limit.
const NO_LIMIT: &str = "0";

/// One fault.
#[derive(Debug, Default, PartialEq)]
struct Mutant {
    /// Line of its name in the list, from 1.
    line: usize,
    name: String,
    file: String,
    old: Vec<String>,
    new: Vec<String>,
    /// Words for `cargo test`.
    test: String,
}

impl Mutant {
    /// The text of the file with the fault in it. Errors: it does not have the old lines exactly
    /// once.
    fn plant(&self, text: &str) -> Result<String, String> {
        let old = self.old.join("\n");
        let new = self.new.join("\n");
        match text.matches(&old).count() {
            1 if !old.is_empty() && old != new => Ok(text.replacen(&old, &new, 1)),
            n => Err(format!("its old lines stand {n} times in {}", self.file)),
        }
    }
}

/// Tries the faults whose name, file or test contains `only`.
///
/// Errors: a test that fails without a fault, a fault that does not compile, or how many were not
/// noticed.
pub(crate) fn run(root: &Path, target: &Path, only: &str) -> Result<(), String> {
    let mut mutants = parse(&tree::read(&root.join(LIST))?)?;
    mutants.retain(|m| [&m.name, &m.file, &m.test].iter().any(|s| s.contains(only)));
    // The copy and the build folder of `cost` are used again.
    let copy = target.join("cost/tree");
    tree::sync(root, &copy, &ChangedFiles::new())?;
    let mut tests: Vec<&str> = mutants.iter().map(|m| m.test.as_str()).collect();
    tests.dedup();
    for test in tests {
        let output = cargo_test(&copy, test, MAX_TEST_SECONDS)?;
        let text = String::from_utf8_lossy(&output.stdout);
        let passed = cost::passed_tests(&text);
        println!("without a fault: cargo test {test}: {passed} tests passed");
        if passed == 0 || !output.status.success() {
            return Err(format!("mutants: cargo test {test}: {text}"));
        }
    }
    let mut survived = 0;
    for mutant in &mutants {
        let path = copy.join(&mutant.file);
        let start = Instant::now();
        let text = tree::read(&path)?;
        write(&path, mutant.plant(&text)?.as_bytes())?;
        let result = is_noticed(&copy, &mutant.test);
        write(&path, text.as_bytes())?;
        let verdict = if result? {
            "noticed"
        } else {
            survived += 1;
            "SURVIVED"
        };
        let seconds = start.elapsed().as_secs();
        println!("{verdict} in {seconds} s: {}", mutant.name);
    }
    let all = mutants.len();
    println!("mutants: {} of {all} noticed", all - survived);
    match survived {
        0 => Ok(()),
        n => Err(format!("mutants: {n} of {all} faults were not noticed")),
    }
}

/// Returns true if the test fails. Errors: it does not compile.
fn is_noticed(copy: &Path, test: &str) -> Result<bool, String> {
    let built = cargo_test(copy, &format!("--no-run {test}"), NO_LIMIT)?;
    if !built.status.success() {
        let errors = String::from_utf8_lossy(&built.stderr);
        return Err(format!("mutants: it does not compile:\n{errors}"));
    }
    let ran = cargo_test(copy, test, MAX_TEST_SECONDS)?;
    Ok(!ran.status.success())
}

/// Runs `cargo test` with the arguments `words`, for at most `max_seconds`.
fn cargo_test(copy: &Path, words: &str, max_seconds: &str) -> Result<Output, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or("cargo".into());
    let mut command = Command::new("timeout");
    command.args(["--kill-after=5", max_seconds]);
    command.arg(cargo).args(["test", "--locked"]);
    command.args(words.split(' ')).current_dir(copy);
    command.env("CARGO_TARGET_DIR", copy.with_file_name("target"));
    command.output().map_err(|e| format!("timeout: {e}"))
}

/// The findings about the list: each fault whose file does not have the old lines exactly once.
///
/// Errors: what could not be read.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let mut findings = Vec::new();
    for mutant in parse(&tree::read(&root.join(LIST))?)? {
        let text = tree::read(&root.join(&mutant.file))?;
        let wrong = mutant.plant(&text).err();
        findings.extend(wrong.map(|e| format!("{LIST}:{}: {}: {e}", mutant.line, mutant.name)));
    }
    Ok(findings)
}

/// The faults of a list. Errors: the first line that is not understood.
fn parse(text: &str) -> Result<Vec<Mutant>, String> {
    let mut mutants: Vec<Mutant> = Vec::new();
    let mut test = "";
    for (number, line) in (1..).zip(text.lines()) {
        if let Some(words) = line.strip_prefix("test ") {
            test = words;
            continue;
        }
        if let Some(name) = line.strip_prefix("fault: ") {
            mutants.push(Mutant {
                line: number,
                name: name.into(),
                test: test.into(),
                ..Mutant::default()
            });
            continue;
        }
        match (mutants.last_mut(), line.split_once(' ')) {
            (_, None) if line.is_empty() => {}
            (_, Some(("#", _))) => {}
            (Some(mutant), Some(("file:", file))) => mutant.file = file.into(),
            (Some(mutant), Some(("-", old))) => mutant.old.push(old.into()),
            (Some(mutant), Some(("+", new))) => mutant.new.push(new.into()),
            _ => return Err(format!("{LIST}:{number}: {line}")),
        }
    }
    Ok(mutants)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# Why.\n\ntest -p a b\n\nfault: it is off\nfile: a.rs\n- one\n-   two\n\
                        + three\n\nfault: other\nfile: b.rs\n- x\n+ y\n";

    #[test]
    fn a_list_is_read_and_its_faults_are_planted_where_they_fit_once() {
        let mutants = parse(TEXT).unwrap();
        assert_eq!((mutants.len(), mutants[0].line), (2, 5));
        assert_eq!(
            (mutants[0].test.as_str(), mutants[1].test.as_str()),
            ("-p a b", "-p a b")
        );
        let planted = mutants[0].plant("0 one\n  two!\n");
        assert_eq!(planted, Ok("0 three!\n".into()));
        for text in ["one two", "one\n  two one\n  two"] {
            assert!(mutants[0].plant(text).is_err(), "{text}");
        }
        assert!(parse("- stray\n").is_err() && parse("fault: a\nwhat is this\n").is_err());
    }
}
