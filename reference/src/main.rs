//! Writes the pages of `docs/reference` and the header of names for ns-3 from the catalogues.
//!
//! `cargo xtask reference` calls it, in the top folder of the tree.
#![cfg_attr(
    not(test),
    warn(clippy::too_many_lines, clippy::wildcard_enum_match_arm)
)]
#![forbid(unsafe_code)]

mod evidence;
mod ns3_names;
mod pages;
mod tree;

use std::fs;
use std::path::Path;
use std::process::ExitCode;

/// Does to one file what the program was called for.
type PageAction = fn(file: &str, text: &str) -> Result<(), String>;

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let action: PageAction = match &words[..] {
        [word] if word == "write" => write,
        [word] if word == "compare" => compare,
        _ => {
            eprintln!("usage: bofuss-reference write | compare");
            return ExitCode::from(2);
        }
    };
    match run(action) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

/// Writes or compares all. Errors: a page that differs, or a file that cannot be read or written.
fn run(action: PageAction) -> Result<(), String> {
    for (name, text) in pages::all()? {
        action(&format!("docs/reference/{name}"), &text)?;
    }
    action(ns3_names::HEADER, &ns3_names::header())
}

fn write(file: &str, text: &str) -> Result<(), String> {
    fs::write(file, text).map_err(|error| format!("{file}: {error}"))
}

fn compare(file: &str, text: &str) -> Result<(), String> {
    if tree::read(Path::new(file))? == text {
        Ok(())
    } else {
        Err(format!(
            "{file} is not what the code says: run `cargo xtask reference`"
        ))
    }
}
