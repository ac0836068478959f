//! Checks the documents: paths and tests that they name exist, a test cites each invariant, and the
//! site has each page.

use std::collections::BTreeSet;
use std::path::{Component, Path, PathBuf};

use crate::source::{Source, words};
use crate::tree;

/// The document with the invariants `I1`, `I2`..., each at the start of a line.
const ARCHITECTURE: &str = "ARCHITECTURE.md";
/// Tutorials name files that the reader creates.
const GUIDES: &str = "docs/guide";
/// The list of the site's pages and their order. Its links are relative to its folder.
pub(crate) const SUMMARY: &str = "docs/SUMMARY.md";
/// The files of a test, which are no documentation.
const FIXTURES: &str = "xtask/tests";
/// The heading of a section in which names in backquotes have to be tests.
const TESTS: &str = "## Tests";

/// All findings about documents.
///
/// Errors: a document that cannot be read.
pub(crate) fn check(root: &Path, sources: &[Source]) -> Result<Vec<String>, String> {
    let mut found = Vec::new();
    let tests = tests(sources);
    let pages = pages(root)?;
    for path in tree::files(root)?.iter().filter(|p| tree::is(p, "md")) {
        let text = tree::read(&root.join(path))?;
        let folder = path.parent().unwrap_or(Path::new(""));
        for (i, line) in text.lines().enumerate() {
            let links = links(line);
            let names = names(line).filter(|_| !path.starts_with(GUIDES));
            for name in links.chain(names).filter(|name| {
                [folder, Path::new("")]
                    .iter()
                    .all(|f| !root.join(f).join(name).exists())
            }) {
                found.push(format!("{}:{}: there is no {name}", path.display(), i + 1));
            }
        }
        for name in missing_tests(&text, &tests) {
            found.push(format!("{}: there is no test {name}", path.display()));
        }
        let is_page = !path.starts_with(FIXTURES) && path != Path::new(SUMMARY);
        if is_page && !pages.contains(path) {
            found.push(format!("{SUMMARY}: {} is not in the list", path.display()));
        }
        if path == Path::new(ARCHITECTURE) {
            found.extend(invariants(&text, sources));
        }
    }
    Ok(found)
}

/// The relative targets of `[text](target)`.
pub(crate) fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split([')', '#', ' ']).next());
    targets.filter(|t| !t.is_empty() && !t.contains(':') && !t.starts_with('/'))
}

/// The paths of the site's pages in the tree. Errors: the summary cannot be read.
pub(crate) fn pages(root: &Path) -> Result<BTreeSet<PathBuf>, String> {
    let summary = tree::read(&root.join(SUMMARY))?;
    let mut pages = BTreeSet::new();
    for line in summary.lines() {
        pages.extend(links(line).map(|link| resolved(Path::new("docs"), link)));
    }
    Ok(pages)
}

/// The path of a link in a page of this folder, relative to the root of the tree.
pub(crate) fn resolved(folder: &Path, link: &str) -> PathBuf {
    let mut path = PathBuf::new();
    for component in folder.join(link).components() {
        match component {
            Component::ParentDir => drop(path.pop()),
            Component::CurDir => (),
            Component::Prefix(_) | Component::RootDir | Component::Normal(_) => {
                path.push(component);
            }
        }
    }
    path
}

/// Words in backquotes that can only be a path: relative, of plain characters, with a slash or one
/// of three extensions.
fn names(line: &str) -> impl Iterator<Item = &str> {
    let quoted = line.split('`').skip(1).step_by(2);
    quoted.filter(|n| {
        let path = n.contains('/') || [".md", ".rs", ".toml"].iter().any(|e| n.ends_with(e));
        path && n
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || "./_-".contains(c))
            && !n.starts_with(['/', '.'])
            && !n.starts_with("target/")
    })
}

/// The names of all tests.
fn tests(sources: &[Source]) -> BTreeSet<&str> {
    let mut names = BTreeSet::new();
    for source in sources {
        let lines: Vec<&str> = source.text.lines().map(str::trim).collect();
        let attributes = lines.iter().enumerate();
        for (at, _) in attributes.filter(|(_, line)| **line == "#[test]") {
            // Tests of the long tier have another attribute.
            let mut others = lines[at..].iter().skip_while(|line| line.starts_with("#["));
            let function = others.next().and_then(|line| line.strip_prefix("fn "));
            names.extend(function.and_then(|rest| rest.split('(').next()));
        }
    }
    names
}

/// The names in a document's sections about tests that no test has. A name that ends with `_` is a
/// prefix.
fn missing_tests<'a>(text: &'a str, tests: &BTreeSet<&str>) -> Vec<&'a str> {
    let mut missing = Vec::new();
    let mut is_inside = false;
    for line in text.lines() {
        if line.starts_with("## ") {
            is_inside = line == TESTS;
        }
        for name in line.split('`').skip(1).step_by(2).filter(|_| is_inside) {
            if is_name_of_tests(name) && !is_one_of(name, tests) {
                missing.push(name);
            }
        }
    }
    missing
}

/// Returns true if a word is written as the name of a test: in lower case, with an underscore.
fn is_name_of_tests(name: &str) -> bool {
    let mut letters = name.chars();
    name.contains('_') && letters.all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_'))
}

/// Returns true if a test has this name, or begins with it if it ends with `_`.
fn is_one_of(name: &str, tests: &BTreeSet<&str>) -> bool {
    let mut all = tests.iter();
    tests.contains(name) || name.ends_with('_') && all.any(|test| test.starts_with(name))
}

/// Invariants that are out of order, and those that no test cites.
fn invariants(text: &str, sources: &[Source]) -> Vec<String> {
    let numbers: Vec<usize> = text.lines().filter_map(invariant).collect();
    let mut found = Vec::new();
    if !numbers.iter().copied().eq(1..=numbers.len()) {
        found.push(format!(
            "{ARCHITECTURE}: the invariants are not I1..In in order: {numbers:?}"
        ));
    }
    let lines = sources.iter().flat_map(|s| s.text.lines().zip(&s.test));
    let tests: Vec<&str> = lines
        .filter(|(_, test)| **test)
        .map(|(line, _)| line)
        .collect();
    for number in BTreeSet::from_iter(numbers) {
        let name = format!("I{number}");
        if !tests.iter().any(|line| words(line, &name).next().is_some()) {
            found.push(format!("{ARCHITECTURE}: no test cites {name}"));
        }
    }
    found
}

/// The number of the invariant that a line states.
fn invariant(line: &str) -> Option<usize> {
    let rest = line
        .trim_start_matches(['#', '*', '-', '|', ' '])
        .strip_prefix('I')?;
    let end = rest.find(|c: char| !c.is_ascii_digit())?;
    let stated = rest[end..].starts_with(['.', ':', '*', ' ']);
    stated.then(|| rest[..end].parse().ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_names_are_paths_of_the_tree() {
        let line = "see [a](docs/a.md#top), [b](https://b.org), `oflib/src/field.rs`, `/dev/x`, \
            `cargo xtask`, `a/{b,c}`, `tcp:1.2.3.4`, `README.md`, `target/release/x`";
        assert_eq!(links(line).collect::<Vec<_>>(), ["docs/a.md"]);
        assert_eq!(
            names(line).collect::<Vec<_>>(),
            ["oflib/src/field.rs", "README.md"]
        );
    }

    #[test]
    fn a_link_leads_from_the_folder_of_its_page() {
        let folder = Path::new("docs/guide");
        assert_eq!(resolved(folder, "../a.md"), Path::new("docs/a.md"));
        assert_eq!(
            resolved(folder, "./a/../b.md"),
            Path::new("docs/guide/b.md")
        );
    }

    #[test]
    fn names_in_sections_about_tests_are_those_of_tests() {
        let tests = BTreeSet::from(["t1_one_is_one", "two_is_two"]);
        let text = "`no_test`\n## Tests\n`t1_`, `two_is_two`, `two_is`, `a/b_c`, `t2_`\n\
            ### More\n`three_is_three`, `word`\n## Rest\n`four_is_four`\n";
        let missing = missing_tests(text, &tests);
        assert_eq!(missing, ["two_is", "t2_", "three_is_three"]);
        let code = "#[test]\n    fn a_b() {}\n#[test]\n#[ignore]\nfn c_d() {\n}\nfn e_f() {}\n";
        let (source, _) = Source::new("x/tests/a.rs".into(), code.into());
        assert_eq!(super::tests(&[source]), BTreeSet::from(["a_b", "c_d"]));
    }

    #[test]
    fn an_invariant_starts_its_line() {
        assert_eq!(invariant("- **I12** pure rooms"), Some(12));
        assert_eq!(invariant("I3: a fact"), Some(3));
        assert_eq!(invariant("If 3 then"), None);
        assert_eq!(invariant("see I4 there"), None);
    }
}
