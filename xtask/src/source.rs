//! Divides a Rust file into code and comments, and finds tests, without a full parser.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::tree;

/// One Rust source file.
pub(crate) struct Source {
    /// Relative to the root of the tree.
    pub(crate) path: PathBuf,
    /// The text as it is.
    pub(crate) text: String,
    /// The text with blanks for comments and quotes for literals; of the same length.
    pub(crate) code: String,
    /// The text with blanks for all but comments; of the same length.
    pub(crate) comments: String,
    /// For each line, whether it belongs to a test.
    pub(crate) test: Vec<bool>,
    /// For each line, whether it is compiled only with a feature of its crate.
    pub(crate) optional: Vec<bool>,
}

/// The files that a file declares as modules for tests, or for a feature.
pub(crate) struct Declared {
    /// The paths where test modules may be.
    tests: Vec<PathBuf>,
    /// The paths, without an ending, of modules that a feature has. Those below belong to it, too.
    optional: Vec<PathBuf>,
}

/// The size of code, without tests.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Count {
    /// Lines that are neither blank nor only a comment.
    pub(crate) lines: usize,
    /// Lines that have a comment.
    pub(crate) comments: usize,
}

impl Count {
    pub(crate) fn add(&mut self, other: Count) {
        self.lines += other.lines;
        self.comments += other.comments;
    }
}

/// All Rust files under `root`.
///
/// Errors: what could not be read.
pub(crate) fn load(root: &Path) -> Result<Vec<Source>, String> {
    let mut sources = Vec::new();
    let mut test_files = BTreeSet::new();
    let mut optional = BTreeSet::new();
    for path in tree::files(root)?.into_iter().filter(|p| tree::is(p, "rs")) {
        let (source, declared) = Source::new(path.clone(), tree::read(&root.join(&path))?);
        test_files.extend(declared.tests);
        optional.extend(declared.optional);
        sources.push(source);
    }
    for source in &mut sources {
        let folders = source
            .path
            .iter()
            .any(|f| ["tests", "benches", "examples"].iter().any(|t| f == *t));
        if folders || test_files.contains(&source.path) {
            source.test.fill(true);
        }
        let module = source.path.with_extension("");
        if module.ancestors().any(|path| optional.contains(path)) {
            source.optional.fill(true);
        }
    }
    Ok(sources)
}

impl Source {
    /// Reads a text. Also returns the modules that it declares for tests and features.
    pub(crate) fn new(path: PathBuf, text: String) -> (Source, Declared) {
        let (code, comments) = split(&text);
        let (test, tests) = marked(&code, &["#[cfg(test)]", "#[cfg(all(test"]);
        let (optional, gated) = marked(&code, &["#[cfg(feature"]);
        let tests = tests.into_iter().map(|name| module_path(&path, name));
        let declared = Declared {
            tests: tests
                .flat_map(|module| [module.with_extension("rs"), module.join("mod.rs")])
                .collect(),
            optional: gated
                .into_iter()
                .map(|name| module_path(&path, name))
                .collect(),
        };
        let source = Source {
            path,
            text,
            code,
            comments,
            test,
            optional,
        };
        (source, declared)
    }

    /// Counts the code outside of tests.
    pub(crate) fn count(&self) -> Count {
        self.count_lines(self.product_lines())
    }

    /// Counts the code outside of tests that is compiled without any feature of its crate.
    pub(crate) fn count_without_features(&self) -> Count {
        let lines = self.product_lines();
        self.count_lines(lines.filter(|(number, _)| !self.optional[number - 1]))
    }

    fn count_lines<'a>(&self, lines: impl Iterator<Item = (usize, &'a str)>) -> Count {
        let mut count = Count::default();
        let comments: Vec<&str> = self.comments.lines().collect();
        for (number, code) in lines {
            count.comments += usize::from(!comments[number - 1].trim().is_empty());
            count.lines += usize::from(!code.trim().is_empty());
        }
        count
    }

    /// The lines of `code` outside tests, each with its number from 1.
    pub(crate) fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        let lines = self.code.lines().zip(&self.test).enumerate();
        lines
            .filter(|(_, (_, test))| !**test)
            .map(|(i, (line, _))| (i + 1, line))
    }
}

/// The byte offsets of `word` in `code`, where it is not a part of another word.
pub(crate) fn words<'a>(code: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let hits = code.match_indices(word).map(|(at, _)| at);
    hits.filter(move |at| {
        !code[..*at].ends_with(is_word) && !code[at + word.len()..].starts_with(is_word)
    })
}

pub(crate) fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Marks the lines of items with one of these attributes, and returns the names of the modules
/// among these that are in files of their own.
fn marked<'a>(code: &'a str, attributes: &[&str]) -> (Vec<bool>, Vec<&'a str>) {
    let lines: Vec<&str> = code.lines().collect();
    let mut is_marked = vec![false; lines.len()];
    let mut modules = Vec::new();
    for (at, line) in lines.iter().enumerate() {
        if attributes.iter().any(|a| line.trim_start().starts_with(a)) {
            let item = &lines[at..at + item_lines(&lines[at..])];
            is_marked[at..at + item.len()].fill(true);
            let last = item.last().and_then(|last| last.strip_suffix(';'));
            modules.extend(last.and_then(|last| Some(last.split_once("mod ")?.1)));
        }
    }
    (is_marked, modules)
}

/// The number of lines of the item that begins with an attribute in the first line. The text is
/// formatted: an item ends with a bracket, a comma or a semicolon in a line of its indentation, or
/// before a line of less.
fn item_lines(lines: &[&str]) -> usize {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(lines[0]);
    let mut last = 0;
    for (at, line) in lines.iter().enumerate() {
        let text = line.trim();
        // A literal may continue at any indentation.
        if text.is_empty() || text.starts_with('"') {
            continue;
        }
        if indent(line) < own {
            break;
        }
        last = at;
        let continues_call = text.starts_with('.') && indent(line) == own + 4;
        let is_end = text.ends_with(['}', ';', ',']);
        if is_end && (indent(line) == own || continues_call && text.ends_with(';')) {
            break;
        }
    }
    last + 1
}

/// The path of the module that `mod name;` in `path` declares, without its ending or `mod.rs`.
fn module_path(path: &Path, name: &str) -> PathBuf {
    let folder = match path.file_stem().and_then(|s| s.to_str()) {
        Some("lib" | "main" | "mod") | None => path.with_file_name(""),
        Some(stem) => path.with_file_name(stem),
    };
    folder.join(name)
}

/// The kind of a stretch of text.
#[derive(Clone, Copy)]
enum StretchKind {
    Code,
    Comment,
    Literal,
}

/// Divides a text into its code and its comments: each has blanks for the other, and the code has
/// quotes for literals.
fn split(text: &str) -> (String, String) {
    let mut code = String::with_capacity(text.len());
    let mut comments = String::with_capacity(text.len());
    let mut rest = text;
    while !rest.is_empty() {
        let (kind, len) = stretch(rest, code.ends_with(is_word));
        for c in rest[..len].chars() {
            let blank = " ".repeat(c.len_utf8());
            match kind {
                _ if c == '\n' => {
                    code.push(c);
                    comments.push(c);
                }
                StretchKind::Comment => {
                    code.push_str(&blank);
                    comments.push(c);
                }
                StretchKind::Literal => {
                    code.push_str(&"\"".repeat(c.len_utf8()));
                    comments.push_str(&blank);
                }
                StretchKind::Code => {
                    code.push(c);
                    comments.push_str(&blank);
                }
            }
        }
        rest = &rest[len..];
    }
    (code, comments)
}

/// The offset of the first `word` from `from` on.
fn find_from(text: &str, from: usize, word: &str) -> Option<usize> {
    text[from..].find(word).map(|at| from + at)
}

/// The kind and the length of the first stretch of a text. `after_word`: it follows a word, so that
/// an `r` or `b` begins no literal.
fn stretch(text: &str, after_word: bool) -> (StretchKind, usize) {
    if text.starts_with("//") {
        let end = text.find('\n').unwrap_or(text.len());
        return (StretchKind::Comment, end);
    }
    if text.starts_with("/*") {
        let end = find_from(text, 2, "*/").map_or(text.len(), |at| at + 2);
        return (StretchKind::Comment, end);
    }
    if text.starts_with('"') {
        return (StretchKind::Literal, quoted_end(text, '"'));
    }
    if !after_word && text.starts_with(['r', 'b', 'c']) {
        let prefix = text.trim_start_matches(['r', 'b', 'c']);
        let hashes = prefix.len() - prefix.trim_start_matches('#').len();
        let start = text.len() - prefix.len();
        if start <= 2 && text[..start].contains('r') && prefix[hashes..].starts_with('"') {
            let end = format!("\"{}", "#".repeat(hashes));
            let found = find_from(text, start + hashes + 1, &end);
            let length = found.map_or(text.len(), |at| at + end.len());
            return (StretchKind::Literal, length);
        }
    }
    if let Some(inside) = text.strip_prefix('\'') {
        let mut next = inside.chars();
        let escaped = next.next() == Some('\\');
        if escaped || next.next() == Some('\'') {
            return (StretchKind::Literal, quoted_end(text, '\''));
        }
    }
    let first = text.chars().next().map_or(1, char::len_utf8);
    (StretchKind::Code, first)
}

/// The length of a literal between two `quote`s.
fn quoted_end(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            _ if c == quote => return at + c.len_utf8(),
            _ => {}
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn source(text: &str) -> Source {
        Source::new("a/src/lib.rs".into(), text.into()).0
    }

    #[test]
    fn comments_and_literals_are_no_code() {
        let s = source(
            "let a = \"// no {\"; // yes {\nlet b = r#\"x\"\"#; /* c\nd */ let c = '\\'';\n",
        );
        assert_eq!(s.code.len(), s.text.len());
        assert!(!s.code.contains('{') && s.comments.contains("// yes {"));
        assert!(s.code.contains("let b") && s.code.contains("let c") && !s.code.contains('d'));
    }

    #[test]
    fn lifetimes_are_no_literals() {
        let s = source("fn f<'a>(x: &'a str) -> &'a str { x }\n");
        assert_eq!(s.code, s.text);
    }

    #[test]
    fn test_modules_do_not_count() {
        let s =
            source("fn a() {}\n\n// b\n#[cfg(test)]\nmod tests {\n    fn c() {}\n}\nfn d() {}\n");
        assert_eq!(s.count().lines, 2);
    }

    #[test]
    fn only_the_marked_field_arm_or_argument_is_a_test() {
        let long = [
            "#[cfg(test)]\n#[allow(a, b)]\npub(crate) fn f<A, B>()\n",
            "where\n    A: C,\n{\n}\nf!();\n",
        ];
        let cases = [
            (
                "struct A {\n    #[cfg(test)]\n    b: M<u8, C>,\n    d: u8,\n}\n",
                2,
                3,
            ),
            ("A {\n    #[cfg(test)]\n    b: [1, 2],\n    d,\n};\n", 2, 3),
            (
                "fn f(\n    #[cfg(test)]\n    a: u8\n) -> u8 {\n    1\n}\n",
                2,
                3,
            ),
            ("fn f() {\n    #[cfg(test)]\n    g();\n    h();\n}\n", 2, 3),
            (&long.concat(), 1, 7),
        ];
        for (text, first, last) in cases {
            let tests = source(text).test;
            for (i, test) in tests.into_iter().enumerate() {
                let line = i + 1;
                assert_eq!(test, (first..=last).contains(&line), "{line} of {text}");
            }
        }
    }

    #[test]
    fn sibling_test_files_are_found() {
        let (_, declared) = Source::new("a/src/b.rs".into(), "#[cfg(test)]\nmod tests;\n".into());
        assert!(declared.tests.contains(&"a/src/b/tests.rs".into()));
    }

    #[test]
    fn what_a_feature_has_does_not_count_without_it() {
        let text = [
            "#[cfg(feature = \"b\")]\npub mod b;\n",
            "fn c() {\n    #[cfg(feature = \"b\")]\n    if d {\n        e();\n    }\n}\n",
        ];
        let (source, declared) = Source::new("a/src/lib.rs".into(), text.concat());
        assert_eq!(source.count().lines, 8);
        assert_eq!(source.count_without_features().lines, 2);
        assert_eq!(declared.optional, [PathBuf::from("a/src/b")]);
    }
}
