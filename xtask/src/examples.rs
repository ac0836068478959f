//! `cargo xtask examples`: runs the examples, and prints which result each has checked.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use crate::{command, python, setup};

/// The examples that `make test` runs; one for each mechanism, so that it stays short.
pub(crate) const IN_TEST: &str = "afro aoss arp-responder dynamic-nat mac-learning port-knocking \
    spider tcp-handover router learning balancer telemetry firewall \
    network";

/// The examples that measure times or rates: they run one by one, after all others.
const ALONE: &str = "adn arp-responder crossflow open-pon openqflow radio routeflow spider \
    statesec time4 token-bucket";

/// Where examples of P4 programs are.
const P4: &str = "examples/p4";

/// The word before the figures in an example's output.
const CHECKED: &str = "checked: ";

/// The word before what an example lacks, which it says outside of continuous integration.
const SKIPPED: &str = "skipped: ";

/// Builds the programs and runs the examples with these names, or all if there is none.
///
/// Errors: the examples that fail or print no result.
pub(crate) fn run(root: &Path, target: &Path, names: &str) -> Result<(), String> {
    let interpreter = setup::environment(root, "venv")?;
    python::build(root, target)?;
    let all = folders(root, names)?;
    let (alone, others): (Vec<_>, Vec<_>) = all.into_iter().partition(|path| is_named(path, ALONE));
    let run = |folder: &PathBuf| check(folder, &interpreter, target);
    command::side_by_side(others, |folder| run(folder))?;
    alone.iter().try_for_each(run)
}

/// Runs an example, and prints which result it has checked.
///
/// Errors: it fails or prints no result.
fn check(folder: &Path, interpreter: &str, target: &Path) -> Result<(), String> {
    let start = Instant::now();
    let mut check = Command::new(interpreter);
    check.arg("-B").arg(folder.join("check.py"));
    check.env("BOFUSS_BIN_DIR", target.join("debug"));
    let said = command::output(check.stdin(Stdio::null()).stderr(Stdio::inherit()))?;
    let name = folder.file_name().unwrap_or_default().display();
    let line = |word| said.lines().find_map(|line| line.strip_prefix(word));
    if let Some(missing) = line(SKIPPED) {
        println!("{name}: {SKIPPED}{missing}");
        return Ok(());
    }
    let Some(checked) = line(CHECKED) else {
        return Err(format!("{}: no result: {said}", folder.display()));
    };
    println!(
        "{name}: checked in {} s: {checked}",
        start.elapsed().as_secs()
    );
    Ok(())
}

/// The folders of the examples with these names, or of all, in order. Errors: a name is none's.
fn folders(root: &Path, names: &str) -> Result<Vec<PathBuf>, String> {
    let mut folders = within(&root.join("examples"))?;
    folders.extend(within(&root.join(P4))?);
    folders.retain(|path| path.join("check.py").exists());
    let mut words = names.split_whitespace();
    if let Some(name) = words.find(|name| !folders.iter().any(|path| path.ends_with(name))) {
        return Err(format!("no example is called {name:?}"));
    }
    folders.retain(|path| names.is_empty() || is_named(path, names));
    folders.sort();
    Ok(folders)
}

/// What a folder has.
fn within(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|e| format!("{}: {e}", folder.display()))?;
    Ok(entries.flatten().map(|entry| entry.path()).collect())
}

fn is_named(folder: &Path, names: &str) -> bool {
    names.split_whitespace().any(|name| folder.ends_with(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tree;

    /// The beginning of the paragraph of a README that names the published work.
    const WORK: &str = "**Work.** ";

    fn file_name(path: &Path) -> String {
        let name = path.file_name().unwrap();
        name.to_string_lossy().into_owned()
    }

    /// Title and work of a README.
    fn heading(text: &str) -> Option<(&str, String)> {
        let title = text.lines().next()?.strip_prefix("# ")?;
        let (_, work) = text.split_once(WORK)?;
        let paragraph = work.split("\n\n").next()?;
        Some((title, paragraph.trim().replace('\n', " ")))
    }

    #[test]
    fn a_heading_is_the_title_and_the_paragraph_with_the_work() {
        let text = "# Title\n\nText.\n\n**Work.** A. Author,\n*Title*.\n\nMore.";
        assert_eq!(heading(text), Some(("Title", "A. Author, *Title*.".into())));
        assert_eq!(heading("# Title\n\nText."), None);
    }

    #[test]
    fn the_index_has_each_example_and_each_says_what_it_shows() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        for folder in folders(&root, "").unwrap() {
            let name = file_name(&folder);
            let index = tree::read(&folder.join("../README.md")).unwrap();
            assert!(index.contains(&format!("[{name}]({name})")), "{name}");
            let readme = tree::read(&folder.join("README.md")).unwrap();
            let is_p4 = folder.parent().is_some_and(|above| above.ends_with(P4));
            assert!(is_p4 || heading(&readme).is_some(), "{name}");
            assert!(readme.starts_with("# "), "{name}");
        }
    }

    #[test]
    fn each_example_of_p4_has_source_program_p4info_and_packet_tests() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut folders = within(&root.join(P4)).unwrap();
        // A scenario has the programs of others.
        let is_scenario = |path: &Path| path.join(file_name(path)).with_extension("toml").exists();
        folders.retain(|path| path.is_dir() && !is_scenario(path));
        assert_eq!(folders.len(), 5);
        for folder in folders {
            let name = file_name(&folder);
            assert!(is_named(&folder, IN_TEST), "{name}");
            for end in ["p4", "json", "p4info.txtpb", "stf"] {
                assert!(
                    folder.join(&name).with_extension(end).exists(),
                    "{name}.{end}"
                );
            }
        }
    }

    #[test]
    fn examples_have_names_and_are_in_order() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let all = folders(&root, "").unwrap();
        assert!(all.is_sorted() && !all.is_empty());
        assert_eq!(folders(&root, &file_name(&all[0])).unwrap(), all[..1]);
        assert_eq!(folders(&root, IN_TEST).unwrap().len(), 14);
        assert!(folders(&root, ALONE).is_ok());
        assert_eq!(
            folders(&root, "none"),
            Err("no example is called \"none\"".into())
        );
    }
}
