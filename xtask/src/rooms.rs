//! Checks the rooms against `xtask/arrows.toml`: which may depend on which, which are pure, which
//! may use `unsafe`.

use std::collections::BTreeSet;
use std::path::Path;

use toml::{Table, Value};

use crate::folders;
use crate::source::{Source, words};
use crate::tree;

/// The prefix of the names of our packages, which their folders do not have.
pub(crate) const PREFIX: &str = "bofuss-";
/// The rooms, and what each may use.
pub(crate) const ARROWS: &str = "xtask/arrows.toml";
/// Workspace members that are not checked: developers use them, and nothing depends on them.
const OUTSIDE: [&str; 2] = ["tests", "xtask"];

/// All findings about rooms.
///
/// Errors: a manifest or the list that cannot be read.
pub(crate) fn check(root: &Path, sources: &[Source]) -> Result<Vec<String>, String> {
    let list = table(&root.join(ARROWS))?;
    let workspace = table(&root.join("Cargo.toml"))?;
    let members = names(workspace.get("workspace").and_then(|w| w.get("members")));
    let mut found = Vec::new();
    for room in members.iter().filter(|m| !OUTSIDE.contains(m)) {
        found.extend(arrows(
            room,
            &table(&root.join(room).join("Cargo.toml"))?,
            &list,
        ));
    }
    let pure = names(list.get("pure"));
    for source in sources {
        let room = source
            .path
            .iter()
            .next()
            .and_then(|f| f.to_str())
            .unwrap_or("");
        if pure.contains(&room) {
            found.extend(impure(room, source));
        }
        if !names(list.get("unsafe")).contains(&room) {
            found.extend(finding(source, "unsafe", "`unsafe` outside of its rooms"));
        }
    }
    found.extend(folders::check(&list, sources));
    Ok(found)
}

/// Dependencies of `room` that the list does not allow.
fn arrows(room: &str, manifest: &Table, list: &Table) -> Vec<String> {
    let Some(allowed) = reachable(room, list) else {
        return vec![format!("{room}: no such room in xtask/arrows.toml")];
    };
    let targets = manifest
        .get("target")
        .and_then(Value::as_table)
        .into_iter()
        .flat_map(|t| t.values().filter_map(Value::as_table));
    let tables = targets.chain([manifest]).flat_map(|t| {
        ["dependencies", "build-dependencies"].map(|k| t.get(k).and_then(Value::as_table))
    });
    let dependencies: Vec<&String> = tables.flatten().flat_map(Table::keys).collect();
    let pure = names(list.get("pure")).contains(&room);
    let crates = names(list.get("pure_crates"));
    let refused = dependencies
        .into_iter()
        .filter(|d| match d.strip_prefix(PREFIX) {
            Some(other) => !allowed.contains(other),
            None => pure && !crates.contains(&d.as_str()),
        });
    refused
        .map(|d| format!("{room}/Cargo.toml: no arrow from {room} to {d}"))
        .collect()
}

/// The rooms that `room` may use, directly or indirectly; `None` if it is not listed.
fn reachable<'a>(room: &str, list: &'a Table) -> Option<BTreeSet<&'a str>> {
    let arrows = list.get("arrows")?;
    let mut found = BTreeSet::new();
    let mut next = names(Some(arrows.get(room)?));
    while let Some(other) = next.pop() {
        if found.insert(other) {
            next.extend(names(arrows.get(other)));
        }
    }
    Some(found)
}

/// What makes a file of a pure room impure.
fn impure(room: &str, source: &Source) -> Vec<String> {
    let mut found = finding(source, "std", "`std` in a pure room");
    if source.path == Path::new(room).join("src/lib.rs") {
        for attribute in ["#![no_std]", "#![forbid(unsafe_code)]"] {
            if !source.code.contains(attribute) {
                found.push(format!(
                    "{}:1: a pure room says {attribute}",
                    source.path.display()
                ));
            }
        }
    }
    found
}

/// A finding for each line outside of tests that has `word`.
fn finding(source: &Source, word: &str, what: &str) -> Vec<String> {
    let lines = source
        .product_lines()
        .filter(|(_, code)| words(code, word).next().is_some());
    lines
        .map(|(line, _)| format!("{}:{line}: {what}", source.path.display()))
        .collect()
}

/// The strings of a TOML array; none without one.
pub(crate) fn names(value: Option<&Value>) -> Vec<&str> {
    let array = value.and_then(Value::as_array);
    array
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .collect()
}

/// Reads a TOML file.
///
/// Errors: its name and what is wrong.
pub(crate) fn table(path: &Path) -> Result<Table, String> {
    tree::read(path)?
        .parse()
        .map_err(|e| format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "pure = ['a', 'b']\npure_crates = ['map']\n\
        [arrows]\na = []\nb = ['a']\nc = ['b']\nd = ['a']\n";

    fn refused(room: &str, manifest: &str) -> Vec<String> {
        arrows(room, &manifest.parse().unwrap(), &LIST.parse().unwrap())
    }

    #[test]
    fn arrows_may_be_followed_further() {
        assert_eq!(
            refused(
                "c",
                "[dependencies]\nbofuss-a = '1'\nbofuss-b = '1'\nnet = '1'"
            ),
            [""; 0]
        );
    }

    #[test]
    fn other_arrows_are_refused() {
        let what = "b/Cargo.toml: no arrow from b to bofuss-c";
        assert_eq!(
            refused("b", "[dependencies]\nbofuss-c = { path = '../c' }"),
            [what]
        );
        assert_eq!(
            refused("d", "[target.'cfg(unix)'.dependencies]\nbofuss-b = '1'").len(),
            1
        );
        assert_eq!(refused("e", "").len(), 1);
    }

    // I1
    #[test]
    fn pure_rooms_use_listed_crates_only() {
        assert_eq!(refused("a", "[dependencies]\nmap = '1'"), [""; 0]);
        assert_eq!(refused("a", "[dependencies]\nnet = '1'").len(), 1);
        assert_eq!(refused("a", "[dev-dependencies]\nnet = '1'"), [""; 0]);
    }
}
