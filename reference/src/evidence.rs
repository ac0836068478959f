//! Finds the specification's section about a message, and the tests that cite a section or use a
//! name.

use std::path::PathBuf;
use std::sync::LazyLock;

use serde::Deserialize;

use crate::tree::{self, read};

/// The citations of the pages: the lists of `reference/evidence.toml`, which says what each has.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Cited {
    sections: Vec<[String; 2]>,
    pub(crate) chapters: Vec<[String; 2]>,
    pub(crate) others: Vec<[String; 3]>,
    pub(crate) never: Vec<[String; 2]>,
}

/// The lists.
pub(crate) static CITED: LazyLock<Cited> = LazyLock::new(|| {
    toml::from_str(include_str!("../evidence.toml")).expect("its lists are as they should be")
});

/// The section about a message.
pub(crate) fn section(name: &str) -> &'static str {
    let mut sections = CITED.sections.iter();
    let found = sections.find(|[start, _]| name.starts_with(start));
    found.map_or("", |[_, section]| section)
}

/// The texts of all tests, by their path from the root.
pub(crate) struct Tests(Vec<(PathBuf, String)>);

impl Tests {
    /// Reads the tests of the tree. Vectors come first, because they change least.
    ///
    /// Errors: a file that cannot be read.
    pub(crate) fn read() -> Result<Self, String> {
        let mut files = Vec::new();
        for place in tree::files()? {
            let is = |kind: &str| place.extension().is_some_and(|found| found == kind);
            let data = place.starts_with("testdata") && is("txt");
            if !data && !is("rs") {
                continue;
            }
            let text = read(&place)?;
            let mut parts = place.components().map(|part| part.as_os_str());
            if data || parts.any(|part| part == "tests" || part == "tests.rs") {
                files.push((place, text));
            } else if let Some((_, tests)) = text.split_once("#[cfg(test)]") {
                files.push((place, tests.to_string()));
            }
        }
        files.sort_by_key(|(place, _)| {
            let rank = ["testdata/vectors", "testdata", "tests"]
                .iter()
                .position(|folder| place.starts_with(folder));
            (rank.unwrap_or(usize::MAX), place.clone())
        });
        Ok(Self(files))
    }

    /// All files that name a section, as a table cell; `None` if there is none.
    pub(crate) fn about(&self, section: &str) -> Option<String> {
        self.places(|text| names(text, section))
    }

    /// The same for a section of another version's text: one line has to name version and section.
    pub(crate) fn about_in(&self, version: &str, section: &str) -> Option<String> {
        let version = format!("OpenFlow {version} ");
        self.places(|text| {
            let mut lines = text.lines().filter(|line| line.contains(&version));
            lines.any(|line| names(line, section))
        })
    }

    /// The files whose text is meant, as a table cell; `None` if there is none.
    fn places(&self, is_meant: impl Fn(&str) -> bool) -> Option<String> {
        let found = self.0.iter().filter(|(_, text)| is_meant(text));
        let cells: Vec<_> = found
            .map(|(place, _)| format!("`{}`", place.display()))
            .collect();
        (!cells.is_empty()).then(|| cells.join(" "))
    }

    /// The first file with one of these words, as a table cell; `None` if there is none.
    pub(crate) fn of(&self, words: &[&str]) -> Option<String> {
        first_with(words, self.0.iter())
    }

    /// The same, but vectors come last: they show how a message is written, not when it is sent.
    pub(crate) fn provoking(&self, words: &[&str]) -> Option<String> {
        let all = self.0.iter();
        let others = all.filter(|(place, _)| !place.starts_with("testdata/vectors"));
        first_with(words, others).or_else(|| self.of(words))
    }
}

/// The first of some files with one of these words, as a table cell.
fn first_with<'a>(
    words: &[&str],
    mut files: impl Iterator<Item = &'a (PathBuf, String)>,
) -> Option<String> {
    let found = files.find(|(_, text)| words.iter().any(|word| holds(text, word)));
    found.map(|(place, _)| format!("`{}`", place.display()))
}

/// Returns true if a comment of a test names a section.
fn names(text: &str, section: &str) -> bool {
    let comments = text
        .lines()
        .filter(|line| line.contains("//") || line.starts_with('#'));
    let mut hits =
        comments.flat_map(|line| line.match_indices(section).map(move |hit| (line, hit.0)));
    hits.any(|(line, at)| {
        let before = line[..at].chars().next_back();
        let mut after = line[at + section.len()..].chars();
        let next = after.next();
        let then = after.next();
        let inside = is_digit(next) || next == Some('.') && is_digit(then);
        !inside && !is_digit(before) && before != Some('.')
    })
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn is_digit(c: Option<char>) -> bool {
    c.is_some_and(|c| c.is_ascii_digit())
}

/// Returns true if a text has a word, and not only as a part of another.
fn holds(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}
