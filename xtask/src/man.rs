//! `cargo xtask man`: manual pages and shell completions, printed by the programs themselves.

use std::path::Path;
use std::process::Command;

use crate::ci;

/// Where each stands, which program prints it, and asked in which words.
const PAGES: &[(&str, &str, &[&str])] = &[
    ("man/man8/bofuss.8", "bofuss", &["generate", "man"]),
    (
        "man/man5/bofuss.toml.5",
        "bofuss",
        &["generate", "man-toml"],
    ),
    ("man/man8/dpctl.8", "dpctl", &["--generate", "man"]),
    (
        "man/man8/ofdatapath.8",
        "bofuss",
        &["generate", "man-ofdatapath"],
    ),
    (
        "man/man8/ofprotocol.8",
        "bofuss",
        &["generate", "man-ofprotocol"],
    ),
    ("completions/bash/bofuss", "bofuss", &["generate", "bash"]),
    ("completions/bash/dpctl", "dpctl", &["--generate", "bash"]),
    ("completions/zsh/_bofuss", "bofuss", &["generate", "zsh"]),
    ("completions/zsh/_dpctl", "dpctl", &["--generate", "zsh"]),
    (
        "completions/fish/bofuss.fish",
        "bofuss",
        &["generate", "fish"],
    ),
    (
        "completions/fish/dpctl.fish",
        "dpctl",
        &["--generate", "fish"],
    ),
];

/// Writes them below `folder`.
///
/// Errors: a program that does not build or run, or a file that cannot be written.
pub(crate) fn run(target: &Path, folder: &Path) -> Result<(), String> {
    let programs = "build --locked --release --package bofuss-switchd --package bofuss-dpctl";
    ci::cargo(programs, |_| {})?;
    print(&target.join("release"), folder)
}

/// Has the programs in a folder write them. Errors: as [`run`].
pub(crate) fn print(programs: &Path, folder: &Path) -> Result<(), String> {
    for (path, program, words) in PAGES {
        let text = ci::output(Command::new(programs.join(program)).args(*words))?;
        let path = folder.join(path);
        let parent = path.parent().expect("each page has a folder");
        let written = std::fs::create_dir_all(parent);
        let written = written.and_then(|()| std::fs::write(&path, text));
        written.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(())
}
