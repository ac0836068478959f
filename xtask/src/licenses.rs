//! The licenses of libraries: which may be used, and the notice of those that programs contain.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::{ci, tree};

const HEAD: &str = "bofuss: Copyright the bofuss authors. Apache License, Version 2.0, which is\n\
    in /usr/share/common-licenses/Apache-2.0 and at\n\
    https://www.apache.org/licenses/LICENSE-2.0.\n\n\
    The programs contain these libraries, as they are:\n\n\
    musl: MIT. Copyright (C) 2005-2020 Rich Felker, et al.\n\
    Rust's standard library: MIT OR Apache-2.0. Copyright (C) The Rust Project Contributors.\n";

/// The licenses that a library may have, by their names in SPDX.
const ALLOWED: [&str; 8] = [
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-3-Clause",
    "ISC",
    "MIT",
    "Unicode-3.0",
    "Unlicense",
    "Zlib",
];

/// Reports libraries whose license is not permitted.
///
/// Errors: cargo's.
pub(crate) fn check() -> Result<Vec<String>, String> {
    let mut cargo = tree_of("--workspace --locked");
    let mut found = BTreeSet::new();
    let listing = ci::output(&mut cargo)?;
    // An empty line is between the trees of two packages.
    for line in listing.lines().filter(|line| !line.is_empty()) {
        let (package, license) = line.split_once('\t').unwrap_or((line, ""));
        if !is_allowed(license) {
            found.insert(format!(
                "{package}: its license '{license}' is not in xtask/src/licenses.rs"
            ));
        }
    }
    Ok(found.into_iter().collect())
}

/// Whether a license, as SPDX writes one, leaves a choice that is allowed. To split it without
/// regard to parentheses refuses some that are allowed, and allows none that is not.
fn is_allowed(license: &str) -> bool {
    let license = license.replace('/', " OR ").replace(['(', ')'], "");
    license.split(" AND ").all(|part| {
        let mut choices = part.split(" OR ");
        choices.any(|choice| ALLOWED.contains(&choice))
    })
}

/// A listing of packages, one a line, each with its license.
fn tree_of(arguments: &str) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args(["tree", "--prefix", "none", "--format", "{p}\t{l}"]);
    cargo.arg("--no-dedupe").args(arguments.split(' '));
    cargo
}

/// Each library with its license, then the text of each license, once.
///
/// Errors: cargo's, or a library of which no source is here.
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
    let mut licenses = BTreeSet::new();
    for line in lines.lines().collect::<BTreeSet<_>>() {
        let (package, license) = line.split_once('\t').unwrap_or((line, ""));
        // Our own packages are followed by their folder; macros are no part of the programs.
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

/// The license files in a library's folder, except those equal to ours.
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
        for allowed in [
            "MIT",
            "GPL-2.0-only OR MIT",
            "(MIT OR X) AND ISC",
            "X/Apache-2.0",
        ] {
            assert!(is_allowed(allowed), "{allowed}");
        }
        for refused in ["", "GPL-3.0-only", "MIT AND X", "(MIT OR X) AND Y", "MITX"] {
            assert!(!is_allowed(refused), "{refused}");
        }
        assert_eq!(check(), Ok(Vec::new()));
    }
}
