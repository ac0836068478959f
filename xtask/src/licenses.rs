//! The notice of the libraries that the programs contain, which their packages bring.

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

/// Each library with its license, then the text of each license, once.
///
/// Errors: cargo's, or a library of which no source is here.
pub(crate) fn notice(packages: &str, triple: &str) -> Result<String, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
    cargo.args([
        "tree",
        "--edges",
        "normal",
        "--prefix",
        "none",
        "--no-dedupe",
    ]);
    cargo
        .args(["--format", "{p}\t{l}", "--target", triple])
        .args(packages.split(' '));
    let lines = ci::output(&mut cargo)?;
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(Path::new(&std::env::var_os("HOME")?).join(".cargo")));
    let sources = home
        .ok_or("neither CARGO_HOME nor HOME is set")?
        .join("registry/src");
    let (mut text, mut licenses) = (HEAD.to_owned(), BTreeSet::new());
    for line in lines.lines().collect::<BTreeSet<_>>() {
        let (package, license) = line.split_once('\t').unwrap_or((line, ""));
        // What is ours has its folder behind it, and macros are no part of the programs.
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

/// The licenses in a library's folder, but for that which is ours, too.
fn texts(sources: &Path, name: &str) -> Result<Vec<String>, String> {
    let registries = fs::read_dir(sources).map_err(|e| format!("{}: {e}", sources.display()))?;
    let mut folders = registries
        .flatten()
        .map(|registry| registry.path().join(name));
    let folder = folders.find(|path| path.is_dir());
    let folder = folder.ok_or_else(|| format!("no source of {name} is here"))?;
    let files = tree::files(&folder)?.into_iter();
    let named = |file: &PathBuf| {
        let file = file.to_string_lossy().to_lowercase();
        !file.contains('/') && (file.starts_with("license") || file.starts_with("copying"))
    };
    let texts = files
        .filter(named)
        .map(|file| tree::read(&folder.join(file)));
    let ours = |text: &String| text.contains("Apache License") && text.contains("Version 2.0");
    texts
        .filter(|text| !text.as_ref().is_ok_and(ours))
        .collect()
}
