//! `cargo xtask idiom`: counts forms that take a second reading, and holds each room to its bars.
//!
//! Three forms are right in places and no findings of `tidy`: a closure that only names a step of
//! its function, a name that the next statement binds again, and several `let`s written as one
//! tuple. Others are folds and arrays indexed by a bool. `xtask/idiom.toml` says how many a room
//! may have in 1,000 lines. Well-known crates have 0 to 0.5 closures, 0.1 to 1.8 rebindings, 0 to
//! 0.7 tuples and no others (hyper, mio, `regex-automata`, rustls, `serde_json`, tokio and toml,
//! counted alike).

use std::collections::BTreeMap;
use std::path::Path;

use crate::source::{self, Source, words};
use crate::tree;

const BARS: &str = "xtask/idiom.toml";

/// What is counted, in the order of the columns.
const FORMS: [&str; 4] = ["closures", "rebindings", "tuples", "others"];

/// For each form, how many there are.
type FormCounts = [usize; FORMS.len()];

/// For each room, the most of each form in 1,000 lines of code.
type Bars = BTreeMap<String, BTreeMap<String, f64>>;

/// Prints each place in the files whose path starts with `prefix`.
///
/// Errors: what could not be read.
pub(crate) fn list(root: &Path, prefix: &str) -> Result<(), String> {
    for source in source::load(root)? {
        if source.path.starts_with(prefix) {
            print_places(&source);
        }
    }
    Ok(())
}

/// Prints the figures of each room, and compares them with its bars.
///
/// Errors: a room above one of its bars, or without bars.
pub(crate) fn check(root: &Path, sources: &[Source]) -> Result<(), String> {
    let text = tree::read(&root.join(BARS))?;
    let bars: Bars = toml::from_str(&text).map_err(|e| format!("{BARS}: {e}"))?;
    let mut lines: BTreeMap<&str, usize> = BTreeMap::new();
    let mut counts: BTreeMap<&str, FormCounts> = BTreeMap::new();
    for source in sources {
        let room = room_of(source);
        let code = source.product_lines();
        *lines.entry(room).or_default() += code.filter(|(_, c)| !c.trim().is_empty()).count();
        for (_, form) in places(source) {
            counts.entry(room).or_default()[form] += 1;
        }
    }
    println!("\nin 1,000 lines of code, and the most that {BARS} allows");
    println!(
        "{:<12} {}",
        "room",
        FORMS.map(|f| format!("{f:>14}")).concat()
    );
    let mut above = Vec::new();
    for (room, lines) in lines.into_iter().filter(|(_, lines)| *lines > 0) {
        let Some(bars) = bars.get(room) else {
            return Err(format!("{BARS}: nothing about {room}"));
        };
        let found = counts.get(room).copied().unwrap_or_default();
        print!("{room:<12} ");
        for (form, count) in FORMS.into_iter().zip(found) {
            let bar = bars.get(form).copied().unwrap_or(0.0);
            let rate = count as f64 * 1000.0 / lines as f64;
            print!(" {rate:>6.1} of {bar:>3.1}");
            if rate > bar {
                above.push(format!("{form} in {room}"));
            }
        }
        println!();
    }
    if above.is_empty() {
        return Ok(());
    }
    Err(format!(
        "idiom: above the bar in {BARS}: {}; `cargo xtask idiom ROOM` lists them",
        above.join(", ")
    ))
}

fn print_places(source: &Source) {
    for (line, form) in places(source) {
        println!("{}:{line}: {}", source.path.display(), FORMS[form]);
    }
}

/// The top folder of a file.
fn room_of(source: &Source) -> &str {
    let first = source.path.iter().next();
    first.and_then(|name| name.to_str()).unwrap_or("")
}

/// Each form outside of tests: its line, and its place in [`FORMS`].
fn places(source: &Source) -> Vec<(usize, usize)> {
    let code = &source.code;
    let mut found = Vec::new();
    let mut before: Option<(&str, usize)> = None;
    for at in words(code, "let") {
        let Some(binding) = Binding::read(&code[at..]) else {
            continue;
        };
        let line = source::line_of(code, at);
        if binding.value_is_closure() {
            found.push((line, 0));
        }
        if let Some((name, end)) = before
            && name == binding.name
            && code.get(end..at).is_some_and(|gap| gap.trim().is_empty())
        {
            found.push((line, 1));
        }
        if binding.name.is_empty() && binding.value.starts_with('(') {
            found.push((line, 2));
        }
        let binds = !matches!(binding.name, "" | "_");
        before = binds.then_some((binding.name, at + binding.len));
    }
    for form in [".fold(", "][usize::from("] {
        let hits = code.match_indices(form);
        found.extend(hits.map(|(at, _)| (source::line_of(code, at), 3)));
    }
    found.retain(|(line, _)| !source.test[line - 1]);
    found.sort_unstable();
    found
}

/// A `let` statement.
struct Binding<'a> {
    /// What it binds; empty for a pattern.
    name: &'a str,
    /// The expression and what follows it.
    value: &'a str,
    /// From `let` to its `;`.
    len: usize,
}

impl<'a> Binding<'a> {
    /// Reads `let PATTERN[: TYPE] = VALUE;`; none for an `if let` and a `let` without value.
    fn read(code: &'a str) -> Option<Binding<'a>> {
        let len = statement_end(code)?;
        let (before, _) = code[..len].split_once(" = ")?;
        let value = code[before.len() + 3..].trim_start();
        let bound = before.trim_start_matches("let").trim_start();
        let pattern = bound.strip_prefix("mut ").unwrap_or(bound);
        let name = pattern.split(':').next().unwrap_or("").trim();
        let simple = name.chars().all(|c| c.is_alphanumeric() || c == '_');
        // One that tests something, as `let (Some(a), Some(b)) = ... else`, saves no `let`.
        let tuple = pattern.starts_with('(') && !pattern.contains(char::is_uppercase);
        if !simple && !tuple {
            return None;
        }
        Some(Binding {
            name: if tuple { "" } else { name },
            value,
            len,
        })
    }

    fn value_is_closure(&self) -> bool {
        let value = self.value.strip_prefix("move ").unwrap_or(self.value);
        !self.name.is_empty() && value.starts_with('|')
    }
}

/// Where the `;` of a statement ends; none if the enclosing block ends before.
fn statement_end(code: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' | b'{' => depth += 1,
            b')' | b']' | b'}' if depth == 0 => return None,
            b')' | b']' | b'}' => depth -= 1,
            b';' if depth == 0 => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_is_found_in_its_line() {
        let cases: [(&str, &[usize]); 14] = [
            ("let f = |x| x + 1;\n", &[0]),
            ("let f: &dyn Fn(u8) -> u8 =\n    &|x| x;\n", &[]),
            ("let mut f = move || 1;\n", &[0]),
            ("let x = 1;\n// Why.\nlet x = x + 1;\n", &[1]),
            ("let x = 1;\nf(x);\nlet x = x + 1;\n", &[]),
            ("let x = if a { 1 } else { 2 };\nlet mut x: u8 = x;\n", &[1]),
            ("let _ = f();\nlet _ = g();\n", &[]),
            ("let (a, b) = (1, 2);\n", &[2]),
            ("let (a, b) = f();\n", &[]),
            ("let (Some(a), Some(b)) = (c, d) else { return };\n", &[]),
            ("if let Some(x) = y { f(x); }\n", &[]),
            ("let x = y.iter().fold(0, |a, b| a + b);\n", &[3]),
            ("let x = [1, 2][usize::from(wide)];\n", &[3]),
            ("let x = many[usize::from(table)];\n", &[]),
        ];
        for (body, expected) in cases {
            let text = format!("fn f() {{\n{body}}}\n");
            let (source, _) = Source::new("a/src/lib.rs".into(), text);
            let found: Vec<usize> = places(&source).into_iter().map(|(_, form)| form).collect();
            assert_eq!(found, expected, "{body}");
        }
    }

    #[test]
    fn tests_are_not_counted() {
        let text = "#[cfg(test)]\nmod tests {\n    fn a() {\n        let f = |x| x;\n    }\n}\n";
        let (source, _) = Source::new("a/src/lib.rs".into(), text.into());
        assert_eq!(places(&source), []);
    }
}
