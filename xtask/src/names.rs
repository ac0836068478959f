//! Checks that a type name means one thing: it is unique, or listed here with its meaning.

use std::collections::BTreeMap;

use crate::source::Source;

const KEYWORDS: [&str; 4] = ["struct ", "enum ", "trait ", "union "];

/// Names that several crates give to types with the same meaning, and this meaning.
const SHARED: &[(&str, &str)] = &[
    ("Cli", "the command line of a program"),
    ("CliCommand", "a command of a program, with its options"),
    ("Config", "the configuration of a switch or datapath"),
    (
        "ConnId",
        "a connection's number, also in crates that know no sockets",
    ),
    (
        "Generate",
        "what a program's `generate` writes: a manual page, completions",
    ),
    ("Lane", "what one data-plane thread has for itself"),
];

/// Reports the names that two types have: in one crate, or in several if the name is not one of
/// [`SHARED`].
pub(crate) fn check(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for ((name, _), places) in declarations(sources) {
        let (first, others) = places.split_first().expect("it is declared somewhere");
        if !others.is_empty() {
            let others = others.join(", ");
            found.push(format!("{first}: `{name}` is a type at {others}, too"));
        }
    }
    found
}

/// The places that declare each name. A shared name has an entry for each crate.
fn declarations(sources: &[Source]) -> BTreeMap<(String, String), Vec<String>> {
    let mut places: BTreeMap<(String, String), Vec<String>> = BTreeMap::new();
    for source in sources {
        let path = source.path.display().to_string();
        let Some((room, _)) = path.split_once("/src/") else {
            continue;
        };
        for (line, code) in source.product_lines() {
            let Some(name) = declared(code) else {
                continue;
            };
            let is_shared = SHARED.iter().any(|(shared, _)| *shared == name);
            let scope = if is_shared { room } else { "" };
            let key = (name.to_owned(), scope.to_owned());
            let place = format!("{path}:{line}");
            places.entry(key).or_default().push(place);
        }
    }
    places
}

/// The name of the type that a line declares. An indented alias is an associated type of an `impl`,
/// which does not count.
fn declared(code: &str) -> Option<&str> {
    let item = match code.trim_start().strip_prefix("pub") {
        Some(rest) if rest.starts_with('(') => rest.split_once(") ")?.1,
        Some(rest) => rest.trim_start(),
        None if code.starts_with("type ") => code,
        None => code.trim_start(),
    };
    let is_alias = item.starts_with("type ") && !code.starts_with(' ');
    let keyword = KEYWORDS.iter().find(|k| item.starts_with(**k)).copied();
    let rest = item.strip_prefix(keyword.or(is_alias.then_some("type "))?)?;
    let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_');
    let name = &rest[..end.unwrap_or(rest.len())];
    name.starts_with(char::is_uppercase).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declaration_has_a_name() {
        assert_eq!(declared("pub(crate) struct Queue<'a> {"), Some("Queue"));
        assert_eq!(declared("    enum Local {"), Some("Local"));
        assert_eq!(declared("pub type Answer = u8;"), Some("Answer"));
        assert_eq!(declared("    type Err = ();"), None);
        assert_eq!(declared("let structure = 1;"), None);
        assert_eq!(declared("pub struct $name;"), None);
    }

    #[test]
    fn a_name_is_given_to_one_type() {
        let file = |path: &str, text: &str| Source::new(path.into(), text.into()).0;
        let sources = [
            file("a/src/lib.rs", "//! A.\nstruct Queue;\nstruct Cli;\n"),
            file(
                "a/src/b.rs",
                "//! B.\nenum Cli {}\n#[cfg(test)]\nstruct Seen;\n",
            ),
            file("a/src/c.rs", "//! C.\nstruct Seen;\n"),
            file(
                "b/src/lib.rs",
                "//! Another crate.\nstruct Queue;\nstruct Cli;\n",
            ),
        ];
        assert_eq!(
            check(&sources),
            [
                "a/src/lib.rs:3: `Cli` is a type at a/src/b.rs:2, too",
                "a/src/lib.rs:2: `Queue` is a type at b/src/lib.rs:2, too",
            ]
        );
    }
}
