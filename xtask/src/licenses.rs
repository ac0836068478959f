//! Writes the notice of the libraries that the programs contain.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{command, tree};

const HEAD: &str = "bofuss: MIT OR Apache-2.0. Copyright the bofuss authors. The MIT license is\n\
    below; the Apache License, Version 2.0, is in /usr/share/common-licenses/Apache-2.0 and at\n\
    https://www.apache.org/licenses/LICENSE-2.0.\n\n\
    The programs contain these libraries, as they are:\n\n\
    Rust's standard library: MIT OR Apache-2.0. Copyright (C) The Rust Project Contributors.\n";
/// The library that programs built for musl contain in addition.
const MUSL: &str = "musl: MIT. Copyright (C) 2005-2020 Rich Felker, et al.\n";

/// Our own license, of the two that a user chooses from.
const OURS: &str = include_str!("../../LICENSE-MIT");

/// The notice: each library with its license, then the text of each license once.
///
/// Errors: cargo's, or a library whose source is not here.
pub(crate) fn notice(packages: &str, triple: &str) -> Result<String, String> {
    let mut cargo = command::cargo_command("tree --prefix none --no-dedupe --edges normal");
    cargo.args(packages.split(' ')).args(["--target", triple]);
    // One package per line, each with its license.
    cargo.args(["--format", "{p}\t{l}"]);
    let lines = command::output(&mut cargo)?;
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
