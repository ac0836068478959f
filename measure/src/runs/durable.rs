//! Writes files that a power failure does not take: one may have the rules of a switch.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// Writes a file of a folder, which it replaces as a whole: what was there stays if the disk is
/// full. Returns its path.
///
/// Errors: the system's.
pub fn replace(folder: &Path, name: &str, text: &str) -> io::Result<PathBuf> {
    let path = folder.join(name);
    let fresh = folder.join(format!("{name}.new"));
    let written = write_through(&fresh, text).and_then(|()| fs::rename(&fresh, &path));
    if written.is_err() {
        let _ = fs::remove_file(fresh);
    }
    written?;
    // The name is kept, too, where the system can do that.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(path)
}

/// Writes a file, and waits until it is on the disk.
fn write_through(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
