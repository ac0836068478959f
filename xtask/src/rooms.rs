//! Checks the rooms against `xtask/arrows.toml`: which may depend on which, which are pure, which
//! may use `unsafe`.

use std::collections::BTreeSet;
use std::path::Path;

use toml::{Table, Value};

use crate::source::Source;
use crate::tree;

/// The prefix of the names of our packages, which their folders do not have.
pub(crate) const PREFIX: &str = "bofuss-";
/// The rooms, and what each may use.
pub(crate) const ARROWS: &str = "xtask/arrows.toml";
/// Workspace members that are not checked: developers use them, and nothing depends on them.
const OUTSIDE: [&str; 3] = ["tests", "tests/core", "xtask"];

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
    for source in sources {
        found.extend(missing_attributes(source, &list));
    }
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

/// The attributes by which the compiler keeps a room within its limits, if a root lacks them.
fn missing_attributes(source: &Source, list: &Table) -> Vec<String> {
    let room = source.path.iter().next().and_then(|room| room.to_str());
    let room = room.unwrap_or_default();
    let roots = ["src/lib.rs", "src/main.rs"].map(|file| Path::new(room).join(file));
    if !roots.contains(&source.path) {
        return Vec::new();
    }
    let listed = |key: &str| names(list.get(key)).contains(&room);
    let wanted = [
        ("#![no_std]", listed("pure")),
        ("#![forbid(unsafe_code)]", !listed("unsafe")),
    ];
    let missing = wanted
        .iter()
        .filter(|(attribute, is_wanted)| *is_wanted && !source.code.contains(attribute));
    missing
        .map(|(attribute, _)| format!("{}:1: it lacks {attribute}", source.path.display()))
        .collect()
}

/// The arrows of the list in the language of Mermaid, by which viewers of Markdown draw them.
pub(crate) fn diagram(list: &Table) -> String {
    let arrows = list.get("arrows").and_then(Value::as_table);
    let mut text = String::from("flowchart TD\n");
    for (room, uses) in arrows.into_iter().flatten() {
        let uses = names(Some(uses)).join(" & ");
        if !uses.is_empty() {
            text += &format!("  {room} --> {uses}\n");
        }
    }
    let pure = names(list.get("pure")).join(",");
    text + &format!("  classDef pure fill:#dfd\n  class {pure} pure\n")
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

    #[test]
    fn a_root_says_what_its_room_may_not_do() {
        let list = "pure = ['a']\nunsafe = ['c']\n".parse().unwrap();
        let lacks = |path: &str, text: &str| {
            missing_attributes(&Source::new(path.into(), text.into()).0, &list).len()
        };
        assert_eq!(lacks("a/src/lib.rs", ""), 2);
        assert_eq!(
            lacks("a/src/lib.rs", "#![no_std]\n#![forbid(unsafe_code)]\n"),
            0
        );
        assert_eq!(lacks("b/src/main.rs", ""), 1);
        assert_eq!(lacks("b/src/other.rs", ""), 0);
        assert_eq!(lacks("c/src/lib.rs", ""), 0);
    }

    #[test]
    fn a_diagram_has_each_arrow_and_marks_pure_rooms() {
        let list = "pure = ['a', 'b']\n[arrows]\na = []\nb = ['a']\nc = ['a', 'b']\n";
        assert_eq!(
            diagram(&list.parse().unwrap()),
            "flowchart TD\n  b --> a\n  c --> a & b\n  classDef pure fill:#dfd\n  class a,b pure\n"
        );
    }
}
