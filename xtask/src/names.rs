//! Checks that a type name is unique within a crate.

use std::collections::BTreeMap;

use crate::source::Source;

const KEYWORDS: [&str; 4] = ["struct ", "enum ", "trait ", "union "];

/// A crate's folder and a type's name.
type Name = (String, String);

/// Reports the names that a crate gives to two types.
pub(crate) fn check(sources: &[Source]) -> Vec<String> {
    let mut found = Vec::new();
    for ((_, name), places) in repeated(sources) {
        let others = places[1..].join(", ");
        found.push(format!(
            "{}: `{name}` is a type at {others}, too",
            places[0]
        ));
    }
    found
}

/// The repeated names, each with the places that declare it.
fn repeated(sources: &[Source]) -> BTreeMap<Name, Vec<String>> {
    let mut places: BTreeMap<Name, Vec<String>> = BTreeMap::new();
    for source in sources {
        let path = source.path.display().to_string();
        let Some((room, _)) = path.split_once("/src/") else {
            continue;
        };
        for (line, code) in source.product_lines() {
            if let Some(name) = declared(code) {
                let key = (room.to_owned(), name.to_owned());
                places
                    .entry(key)
                    .or_default()
                    .push(format!("{path}:{line}"));
            }
        }
    }
    places.retain(|_, at| at.len() > 1);
    places
}

/// The type that a line declares. Types of an `impl`, which are indented aliases, do not count.
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
    fn a_crate_gives_a_name_to_one_type() {
        let file = |path: &str, text: &str| Source::new(path.into(), text.into()).0;
        let sources = [
            file("a/src/lib.rs", "//! A.\nstruct Queue;\n"),
            file(
                "a/src/b.rs",
                "//! B.\nenum Queue {}\n#[cfg(test)]\nstruct Seen;\n",
            ),
            file("a/src/c.rs", "//! C.\nstruct Seen;\n"),
            file("b/src/lib.rs", "//! Another crate.\nstruct Queue;\n"),
        ];
        let twice = "a/src/lib.rs:2: `Queue` is a type at a/src/b.rs:2, too";
        assert_eq!(check(&sources), [twice]);
    }
}
