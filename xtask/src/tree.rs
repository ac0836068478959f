//! Lists the files of the work tree, as paths relative to its root, and reads them.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

/// Files of a changed tree, with the texts that they have there.
pub(crate) type ChangedFiles = BTreeMap<PathBuf, String>;

/// Folders that never have sources.
const PRODUCTS: [&str; 3] = ["target", ".git", "__pycache__"];

/// The paths of all files under `root`, sorted; without those in [`PRODUCTS`], and without symbolic
/// links.
///
/// Errors: what could not be read.
pub(crate) fn files(root: &Path) -> Result<Vec<PathBuf>, String> {
    let mut found = Vec::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(folder) = folders.pop() {
        let path = root.join(&folder);
        let entries = fs::read_dir(&path).map_err(|e| failed(&path, e))?;
        for entry in entries.flatten() {
            let name = entry.file_name();
            let kind = entry.file_type().map_err(|e| failed(&path, e))?;
            if kind.is_file() {
                found.push(folder.join(name));
            } else if kind.is_dir() && !PRODUCTS.iter().any(|p| name == *p) {
                folders.push(folder.join(name));
            }
        }
    }
    found.sort();
    Ok(found)
}

/// The text of a file.
///
/// Errors: its name and why it could not be read.
pub(crate) fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|e| failed(path, e))
}

/// Writes a file; makes its folder if that is missing.
///
/// Errors: its name and why it could not be written.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    folder_at(path.parent().expect("each file is in a folder"))?;
    fs::write(path, bytes).map_err(|e| failed(path, e))
}

/// Copies a file, with its mode; makes the folder of the copy if that is missing.
///
/// Errors: the name of the file that could not be read or written, and why.
pub(crate) fn copy(from: &Path, to: &Path) -> Result<(), String> {
    folder_at(to.parent().expect("each file is in a folder"))?;
    fs::copy(from, to).map(drop).map_err(|e| failed(from, e))
}

/// Makes a folder, and those around it. Errors: its name and why it could not be made.
pub(crate) fn folder_at(path: &Path) -> Result<(), String> {
    fs::create_dir_all(path).map_err(|e| failed(path, e))
}

/// The names of the targets of one kind (`bin`, `test`) that a package's manifest lists.
///
/// Errors: the manifest cannot be read.
pub(crate) fn target_names(manifest: &Path, kind: &str) -> Result<Vec<String>, String> {
    let table: Table = read(manifest)?
        .parse()
        .map_err(|e| format!("{}: {e}", manifest.display()))?;
    let targets = table.get(kind).and_then(Value::as_array);
    let names = targets
        .into_iter()
        .flatten()
        .filter_map(|target| target.get("name")?.as_str());
    Ok(names.map(str::to_string).collect())
}

/// Returns true if a path has this extension.
pub(crate) fn is(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|e| e == extension)
}

fn failed(path: &Path, error: std::io::Error) -> String {
    format!("{}: {error}", path.display())
}

/// Makes `copy` equal to the tree, with the texts of `changed` instead of the tree's. Files that
/// are equal already are not written, so that cargo does not build them again.
///
/// Errors: what could not be read or written.
pub(crate) fn sync(root: &Path, copy: &Path, changed: &ChangedFiles) -> Result<(), String> {
    folder_at(copy)?;
    let mut wanted: BTreeSet<PathBuf> = files(root)?.into_iter().collect();
    wanted.extend(changed.keys().cloned());
    for path in files(copy)?.iter().filter(|p| !wanted.contains(*p)) {
        fs::remove_file(copy.join(path)).map_err(|e| failed(path, e))?;
    }
    for path in &wanted {
        let from = root.join(path);
        let to = copy.join(path);
        let bytes = match changed.get(path) {
            Some(text) => text.clone().into_bytes(),
            None => fs::read(&from).map_err(|e| failed(&from, e))?,
        };
        if fs::read(&to).is_ok_and(|old| old == bytes) {
            continue;
        }
        match changed.get(path) {
            Some(text) => write(&to, text.as_bytes())?,
            None => self::copy(&from, &to)?,
        }
    }
    Ok(())
}
