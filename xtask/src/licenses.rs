//! Checks the licenses and sources of libraries against `deny.toml`, and writes the notice of those
//! that the programs contain.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use toml::{Table, Value};

use crate::{ci, tree};

const HEAD: &str = "bofuss: MIT OR Apache-2.0. Copyright the bofuss authors. The MIT license is\n\
    below; the Apache License, Version 2.0, is in /usr/share/common-licenses/Apache-2.0 and at\n\
    https://www.apache.org/licenses/LICENSE-2.0.\n\n\
    The programs contain these libraries, as they are:\n\n\
    Rust's standard library: MIT OR Apache-2.0. Copyright (C) The Rust Project Contributors.\n";
/// What programs built for musl contain in addition.
const MUSL: &str = "musl: MIT. Copyright (C) 2005-2020 Rich Felker, et al.\n";

/// Our own license, of the two that a user chooses from.
const OURS: &str = include_str!("../../LICENSE-MIT");

/// The policy, which `cargo deny` reads as well.
const POLICY: &str = "deny.toml";
/// The lock files, one for each workspace.
const LOCKS: [&str; 2] = ["Cargo.lock", "fuzz/Cargo.lock"];

/// Reports libraries whose license or source is not permitted.
///
/// Errors: cargo's, or a file that is not as cargo or `cargo deny` expects it.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let policy = table(root, POLICY)?;
    let mut found = BTreeSet::new();
    let allowed = strings(&policy, "licenses", "allow");
    let listing = ci::output(&mut tree_of("--workspace --locked"))?;
    // An empty line is between the trees of two packages.
    for line in listing.lines().filter(|line| !line.is_empty()) {
        let (package, license) = line.split_once('\t').unwrap_or((line, ""));
        if !is_allowed(license, &allowed) {
            found.insert(format!(
                "{package}: its license '{license}' is not in {POLICY}"
            ));
        }
    }
    let registries = strings(&policy, "sources", "allow-registry");
    for lock in LOCKS {
        found.extend(foreign(lock, &table(root, lock)?, &registries));
    }
    Ok(found.into_iter().collect())
}

/// Errors: the file is not there, or is no TOML.
fn table(root: &Path, file: &str) -> Result<Table, String> {
    let text = tree::read(&root.join(file))?;
    text.parse().map_err(|error| format!("{file}: {error}"))
}

/// The strings of a list in a section; none if it is not there.
fn strings<'a>(table: &'a Table, section: &str, name: &str) -> Vec<&'a str> {
    let value = table.get(section).and_then(|section| section.get(name));
    let list = value.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(Value::as_str).collect()
}

fn text<'a>(package: &'a Value, name: &str) -> Option<&'a str> {
    package.get(name).and_then(Value::as_str)
}

/// The libraries of a lock file that do not come from these registries.
fn foreign(lock: &str, packages: &Table, registries: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    let packages = packages.get("package").and_then(Value::as_array);
    for package in packages.into_iter().flatten() {
        // Our own packages have no source.
        let Some(source) = text(package, "source") else {
            continue;
        };
        let registry = source.strip_prefix("registry+");
        if !registry.is_some_and(|registry| registries.contains(&registry)) {
            let name = text(package, "name").unwrap_or_default();
            found.push(format!(
                "{lock}: {name}: its source {source} is not in {POLICY}"
            ));
        }
    }
    found
}

/// Whether an SPDX license expression leaves a choice that is allowed. Parentheses are ignored,
/// which may refuse an expression that is allowed, but allows none that is not.
fn is_allowed(license: &str, allowed: &[&str]) -> bool {
    let license = license.replace('/', " OR ").replace(['(', ')'], "");
    license.split(" AND ").all(|part| {
        let mut choices = part.split(" OR ");
        choices.any(|choice| allowed.contains(&choice))
    })
}

/// The `cargo tree` that prints one package per line, each with its license.
fn tree_of(arguments: &str) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["tree", "--prefix", "none", "--format", "{p}\t{l}"]);
    cargo.arg("--no-dedupe").args(arguments.split(' '));
    cargo
}

/// The notice: each library with its license, then the text of each license once.
///
/// Errors: cargo's, or a library whose source is not here.
pub(crate) fn notice(packages: &str, triple: &str) -> Result<String, String> {
    let mut cargo = tree_of(packages);
    cargo.args(["--edges", "normal", "--target", triple]);
    let lines = ci::output(&mut cargo)?;
    let home = std::env::var_os("CARGO_HOME")
        .map(PathBuf::from)
        .or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cargo")));
    let sources = home
        .ok_or("neither CARGO_HOME nor HOME is set")?
        .join("registry/src");
    let mut text = HEAD.to_owned();
    if triple.ends_with("musl") {
        text += MUSL;
    }
    let mut licenses = BTreeSet::from([OURS.to_owned()]);
    for line in lines.lines().collect::<BTreeSet<_>>() {
        let (package, license) = line.split_once('\t').unwrap_or((line, ""));
        // cargo prints a folder after our own packages, and `(proc-macro)` after macros, which are
        // no part of the programs.
        let Some((name, version)) = package.split_once(" v").filter(|(_, v)| !v.contains(' '))
        else {
            continue;
        };
        text += &format!("{name} {version}: {license}\n");
        licenses.extend(texts(&sources, &format!("{name}-{version}"))?);
    }
    for license in licenses {
        text += &format!("\n{:-<79}\n\n{}\n", "", license.trim().replace('\r', ""));
    }
    Ok(text)
}

/// The texts of the license files in a library's folder, except the Apache License, to which the
/// notice refers.
fn texts(sources: &Path, name: &str) -> Result<Vec<String>, String> {
    let registries = fs::read_dir(sources).map_err(|e| format!("{}: {e}", sources.display()))?;
    let mut folders = registries
        .flatten()
        .map(|registry| registry.path().join(name));
    let folder = folders
        .find(|path| path.is_dir())
        .ok_or_else(|| format!("no source of {name} is here"))?;
    let files = tree::files(&folder)?.into_iter();
    let texts = files
        .filter(|file| {
            let file = file.to_string_lossy().to_lowercase();
            !file.contains('/') && (file.starts_with("license") || file.starts_with("copying"))
        })
        .map(|file| tree::read(&folder.join(file)));
    texts
        .filter(|text| {
            !text
                .as_ref()
                .is_ok_and(|text| text.contains("Apache License") && text.contains("Version 2.0"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_license_that_is_not_listed_is_refused() {
        let listed = ["MIT", "ISC", "Apache-2.0"];
        for allowed in [
            "MIT",
            "GPL-2.0-only OR MIT",
            "(MIT OR X) AND ISC",
            "X/Apache-2.0",
        ] {
            assert!(is_allowed(allowed, &listed), "{allowed}");
        }
        for refused in ["", "GPL-3.0-only", "MIT AND X", "(MIT OR X) AND Y", "MITX"] {
            assert!(!is_allowed(refused, &listed), "{refused}");
        }
    }

    #[test]
    fn a_library_from_elsewhere_is_refused() {
        let source = |source: &str| {
            let package = format!("[[package]]\nname = 'x'\nsource = '{source}'\n");
            let own = "[[package]]\nname = 'ours'\n";
            let packages = format!("{own}{package}").parse().expect("it is TOML");
            foreign("a.lock", &packages, &["https://one"])
        };
        assert_eq!(source("registry+https://one"), Vec::<String>::new());
        for other in ["registry+https://two", "git+https://one", "https://one"] {
            let told = format!("a.lock: x: its source {other} is not in deny.toml");
            assert_eq!(source(other), [told]);
        }
    }

    #[test]
    fn our_libraries_are_what_they_may_be() {
        let xtask = Path::new(env!("CARGO_MANIFEST_DIR"));
        let root = xtask.parent().expect("it is in the tree");
        assert_eq!(check(root), Ok(Vec::new()));
    }
}
