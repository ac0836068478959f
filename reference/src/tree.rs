//! Lists and reads the files of the tree, in whose top folder the program runs.

use std::fs;
use std::path::{Path, PathBuf};

/// Folders of the tree that have no tests of ours.
const PRODUCTS: [&str; 2] = ["target", ".git"];

/// The paths of all files of the tree but products and links, from its top folder.
///
/// Errors: a folder that cannot be read.
pub(crate) fn files() -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let failed = |error| format!("{}: {error}", folder.display());
        for entry in fs::read_dir(Path::new(".").join(&folder)).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            let name = entry.file_name();
            if kind.is_file() {
                found.push(folder.join(name));
            } else if kind.is_dir() && !PRODUCTS.iter().any(|product| name == *product) {
                folders.push(folder.join(name));
            }
        }
    }
    Ok(found)
}

/// The text of a file. Errors: its name and why it cannot be read.
pub(crate) fn read(file: &Path) -> Result<String, String> {
    fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))
}
